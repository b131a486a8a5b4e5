//! One verdict, whoever explores: Rust code under test, programs, and both in suites say the same sentence of the same situation. The Rust
//! tests are the cases of this very file. Runs of clusters conclude from the same evidence: `ordain-cli/src/cluster/run.rs` has their table.

mod common;

use common::{compile_text, directory, json, ordain, write};
use ordain::{Check, Report, Strategy};
use ordain_model::Level;
use std::time::Duration;

/// Two threads that take two locks in turn, in the same order or each in its own.
mod cases {
    use ordain::sync::{Arc, Mutex};
    use ordain::thread;

    pub(super) fn locks(rounds: usize, inverted: bool) -> impl Fn() {
        move || {
            let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
            let others = locks.clone();
            let child = thread::spawn(move || {
                for _ in 0..rounds {
                    let _first = others[0].lock();
                    let _second = others[1].lock();
                }
            });
            for _ in 0..rounds {
                let _first = locks[usize::from(inverted)].lock();
                let _second = locks[usize::from(!inverted)].lock();
            }
            child.join().expect("it does not panic");
        }
    }

    pub(super) fn apart() {
        thread::spawn(|| ()).join().expect("it does not panic");
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn finding() {
        ordain::check(locks(1, true));
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn verified() {
        ordain::check(locks(1, false));
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn blind() {
        ordain::check(apart);
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn sampled() {
        super::sampled().run(locks(1, false)).expect_no_finding();
    }
}

fn quiet() -> Check {
    Check::new().schedule_directory(None)
}

fn sampled() -> Check {
    quiet().strategy(Strategy::Random).max_executions(7)
}

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int rounds;
static void take(int first) {
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&locks[first]);
        pthread_mutex_lock(&locks[!first]);
        pthread_mutex_unlock(&locks[!first]);
        pthread_mutex_unlock(&locks[first]);
    }
}
static void *run(void *argument) { take(0); return argument; }
int main(int count, char **arguments) {
    (void)count;
    rounds = atoi(arguments[1]);
    for (volatile long i = 0; rounds < 0 && i < 4000000000L; i++) {}
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    take(atoi(arguments[2]));
    pthread_join(thread, 0);
}
"#;

/// A situation, as each front end comes to it.
struct Situation {
    name: &'static str,
    rust: Report,
    /// Options of `ordain check`, arguments of the program, and the exit status.
    program: (&'static [&'static str], [&'static str; 2], i32),
    /// The sentence. Numbers of executions differ with what is visible, and so do level and assumption.
    sentence: &'static str,
}

fn situations() -> Vec<Situation> {
    let limit = quiet().strategy(Strategy::Optimal).max_executions(9);
    let bound = quiet().preemption_bound(0);
    vec![
        Situation {
            name: "finding",
            rust: quiet().run(cases::locks(1, true)),
            program: (&[], ["1", "1"], 1),
            sentence: "finding: deadlock (after # executions)",
        },
        Situation {
            name: "verified",
            rust: quiet().run(cases::locks(1, false)),
            program: (&[], ["1", "0"], 0),
            sentence: "verified at level LEVEL: holds if CONDITION",
        },
        Situation {
            name: "limit",
            rust: limit.run(cases::locks(4, false)),
            program: (&["--strategy", "optimal", "--max-executions", "9"], ["4", "0"], 0),
            sentence: "no finding at level LEVEL: nothing was found in # executions; about # of an estimated # classes explored",
        },
        Situation {
            name: "bound",
            rust: bound.run(cases::locks(1, false)),
            program: (&["--preemption-bound", "0"], ["1", "0"], 0),
            sentence: "no finding at level LEVEL: every class within the bound was explored, in # executions",
        },
        Situation {
            name: "sampled",
            rust: sampled().run(cases::locks(1, false)),
            program: (&["--strategy", "random", "--max-executions", "7"], ["1", "0"], 0),
            sentence: "no finding at level LEVEL: nothing was found in # executions; what is left was not explored",
        },
        Situation {
            name: "blind",
            rust: quiet().run(cases::apart),
            program: (&[], ["0", "0"], 3),
            sentence: "no finding at level LEVEL: there was almost nothing to explore: all that is visible is covered by # executions",
        },
        Situation {
            name: "nothing",
            rust: quiet().max_time(Duration::from_millis(1)).run(|| std::thread::sleep(Duration::from_millis(600))),
            program: (&["--max-time", "1ms"], ["-1", "0"], 2),
            sentence: "no verdict: not one execution was complete when the time was over",
        },
    ]
}

/// The sentence without what differs between levels: names, conditions, numbers.
fn plain(sentence: &str) -> String {
    let levels = [Level::Types, Level::Sync];
    let same = levels.iter().fold(sentence.to_owned(), |text, level| {
        text.replace(level.assumption(), "holds if CONDITION").replace(level.name(), "LEVEL")
    });
    let mut plain = String::new();
    for word in same.split(' ') {
        let number = word.chars().any(|c| c.is_ascii_digit()) || ["%", "%)", "×"].contains(&word);
        let shown = match word {
            word if !number => word.to_owned(),
            word if word.starts_with('(') && !word.contains('%') && !word.contains('–') => "(#)".to_owned(),
            _ => "#".to_owned(),
        };
        if !(shown == "#" && plain.ends_with('#')) {
            plain += if plain.is_empty() { "" } else { " " };
            plain += &shown;
        }
    }
    if plain.ends_with("# execution") { plain + "s" } else { plain }
}

/// The meaning, or the message that there is none.
fn meaning(object: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    if object["error"].is_null() { text(&object["meaning"]) } else { text(&object["error"]["message"]) }
}

fn has_warning(object: &serde_json::Value) -> bool {
    object["notes"].as_array().is_some_and(|notes| notes.iter().any(|note| note["severity"] == "warning"))
}

#[test]
fn rust_code_and_programs_come_to_the_same_sentence() {
    let directory = directory();
    compile_text(directory.path(), PROGRAM, "program");
    for Situation { name, rust, program: (options, arguments, status), sentence } in situations() {
        let text = rust.to_string();
        let told = text.split([';', '[']).next().unwrap_or_default();
        let told = if sentence.contains("; ") { text.split(" [").next().unwrap_or_default() } else { told };
        assert_eq!(plain(told.trim_end()), sentence, "{name}: {text}");
        assert_eq!(text.contains("; warning: "), name == "blind", "{name}: {text}");
        let mut check = ordain(directory.path());
        check.args(["check", "--quiet", "--format", "json"]).args(options).arg("./program").args(arguments);
        let object = json(&mut check, status);
        assert_eq!(plain(&meaning(&object)), sentence, "{name}");
        assert_eq!(has_warning(&object), name == "blind", "{name}: {}", object["notes"]);
    }
}

#[test]
fn suites_say_the_same_sentences() {
    let directory = directory();
    compile_text(directory.path(), PROGRAM, "program");
    let binary = std::env::current_exe().expect("this test runs");
    let mut suite = String::new();
    let mut expected = Vec::new();
    for Situation { name, program: (_, arguments, _), sentence, .. } in situations() {
        if !["finding", "verified", "sampled", "blind"].contains(&name) {
            continue;
        }
        let options = if name == "sampled" { "strategy = \"random\"\nmax-executions = 7\n" } else { "" };
        suite +=
            &format!("[[test]]\nname = \"program {name}\"\nprogram = \"./program\"\nargs = {arguments:?}\n{options}\n");
        suite += &format!("[[test]]\nname = \"rust {name}\"\nbinary = {binary:?}\ntest = \"cases::{name}\"\n\n");
        expected.extend([(format!("program {name}"), sentence), (format!("rust {name}"), sentence)]);
    }
    write(directory.path(), "ordain.toml", suite);
    let result = json(ordain(directory.path()).args(["suite", "--quiet", "--format", "json"]), 1);
    for (name, sentence) in expected {
        let row = result["tests"].as_array().and_then(|rows| rows.iter().find(|row| row["name"] == *name));
        let row = row.unwrap_or_else(|| panic!("there is no {name}: {result:#}"));
        assert_eq!(plain(&meaning(row)), sentence, "{name}");
        assert_eq!(has_warning(row), name.ends_with("blind"), "{name}: {}", row["notes"]);
    }
}
