//! `ordain suite`, with programs and Rust tests mixed. The Rust tests are the cases of this very file: its binary is one that
//! cargo has built.

mod common;

use common::{compile, compile_text, directory, json, ordain, people, source, write};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Tests of suites. They are ignored when this file is tested: some of them fail on purpose.
mod cases {
    use ordain::sync::{Arc, Mutex};
    use ordain::thread;

    /// Two threads that take a lock in turn, so many times each.
    fn counter(rounds: usize) -> impl Fn() {
        move || {
            let count = Arc::new(Mutex::new(0));
            let other = count.clone();
            let child = thread::spawn(move || (0..rounds).for_each(|_| *other.lock().expect("held by nobody") += 1));
            (0..rounds).for_each(|_| *count.lock().expect("held by nobody") += 1);
            child.join().expect("it does not panic");
        }
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn verified() {
        ordain::check(counter(2));
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn endless() {
        ordain::check(counter(20));
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn deadlock() {
        ordain::check(|| {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
            let (c, d) = (a.clone(), b.clone());
            let child = thread::spawn(move || {
                let _first = c.lock();
                let _second = d.lock();
            });
            {
                let _first = b.lock();
                let _second = a.lock();
            }
            child.join().expect("it does not panic");
        });
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn crashes_in_a_check() {
        ordain::check(|| std::process::abort());
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn crashes_after_a_check() {
        ordain::check(counter(1));
        std::process::abort();
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn panics_before_a_check() {
        panic!("no luck today");
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn makes_no_check() {}

    #[test]
    #[ignore = "a case of a suite"]
    fn hangs() {
        loop {
            std::thread::park();
        }
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn talks_nonsense() {
        use std::io::Write as _;
        let path = std::env::var_os("ORDAIN_CONDUCT").expect("it runs in a suite");
        let mut stream = std::os::unix::net::UnixStream::connect(path).expect("somebody listens");
        stream.write_all(b"{\"slice\":{\"executions\":-1}}\n").expect("somebody listens");
        std::io::copy(&mut stream, &mut std::io::sink()).expect("the connection is closed");
    }

    /// Rewrites the file of its suite before it begins.
    #[test]
    #[ignore = "a case of a suite"]
    fn edits_the_suite() {
        let file = std::env::var_os("SUITE").expect("it is told the file");
        let text = std::fs::read_to_string(&file).expect("it is text");
        std::fs::write(&file, text.replace("shortest-first", "even-coverage")).expect("it can be written");
        ordain::check(counter(20));
    }

    /// Sends its suite what Ctrl-C sends.
    #[test]
    #[ignore = "a case of a suite"]
    fn interrupts_the_suite() {
        let suite = std::os::unix::process::parent_id().to_string();
        let sent = std::process::Command::new("kill").args(["-INT", &suite]).status().expect("kill runs");
        assert!(sent.success());
        ordain::check(counter(20));
    }
}

/// A Rust test of this file, as a test of a suite.
fn case(name: &str) -> String {
    format!("[[test]]\nname = \"{name}\"\nbinary = \"./cases\"\ntest = \"cases::{name}\"\n")
}

fn program(name: &str, program: &str, more: &str) -> String {
    format!("[[test]]\nname = \"{name}\"\nprogram = \"{program}\"\n{more}\n")
}

fn suite(directory: &Path, head: &str, tests: &[String]) {
    let binary = std::env::current_exe().expect("this is a binary");
    let cases = directory.join("cases");
    if !cases.exists() {
        std::os::unix::fs::symlink(binary, cases).expect("the directory is ours");
    }
    write(directory, "ordain.toml", format!("[suite]\n{head}\n{}", tests.join("\n")));
}

/// The row of a test.
fn row<'a>(result: &'a Value, name: &str) -> &'a Value {
    let rows = result["tests"].as_array().expect("there are rows");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row for {name}: {result:#}"))
}

fn validate(value: &Value) {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/suite.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).expect("the schema is there")).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
}

/// Text for people, without what differs from run to run.
fn told(directory: &Path, arguments: &[&str], status: i32) -> String {
    let text = people(ordain(directory).arg("suite").arg("--quiet").args(arguments), status);
    let root = directory.canonicalize().expect("the directory exists").display().to_string();
    let text = text.replace(env!("CARGO_BIN_EXE_ordain"), "ordain").replace(&root, "[DIRECTORY]");
    text.lines().map(|line| without_times(line) + "\n").collect()
}

/// Times become `T s`, wherever they are and however wide.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_time =
        |i: usize| words.get(i + 1).is_some_and(|next| next.trim_end_matches(';') == "s" && words[i].contains('.'));
    let changed = words.iter().enumerate().map(|(i, word)| if is_time(i) { "T" } else { word });
    changed.collect::<Vec<_>>().join(" ").replace("  T s", " T s").replace("  T s", " T s").replace("  T s", " T s")
}

/// The same without estimates, and without the widths of columns.
fn loosely(text: &str) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let share = words.windows(4).position(|w| w[1..] == ["%", "of", "about"]);
        let estimated = |i: usize| share.is_some_and(|at| i == at || i == at + 4);
        let words = words.iter().enumerate().map(|(i, word)| if estimated(i) { "N" } else { word });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    text.lines().map(line).collect()
}

#[test]
fn programs_and_rust_tests_share_a_suite() {
    let directory = directory();
    let at = directory.path();
    compile(at, &source("bugs/abba.c"), "abba", &[]);
    compile(at, &source("fixed/abba.c"), "fixed", &[]);
    let tests = [program("abba", "./abba", ""), program("fixed", "./fixed", ""), case("verified"), case("deadlock")];
    suite(at, "", &tests);
    let result = json(ordain(at).args(["suite", "--quiet", "--format", "json", "--junit", "junit.xml"]), 1);
    validate(&result);
    for (name, state) in [("abba", "finding"), ("fixed", "verified"), ("verified", "verified"), ("deadlock", "finding")]
    {
        let row = row(&result, name);
        assert_eq!((&row["state"], &row["done"]), (&state.into(), &true.into()), "{row:#}");
        assert!(row["slices"].as_u64() > Some(0) && row["executions"].as_u64() > Some(0), "{row:#}");
        assert!(at.join(".ordain/suite").join(name).join("run.json").exists(), "{name}");
    }
    assert_eq!((&result["finished"], &result["findings"]), (&true.into(), &2.into()));
    assert_eq!(row(&result, "verified")["share"], 1.0);
    // The file is what was printed.
    let file: Value =
        serde_json::from_slice(&fs::read(at.join(".ordain/suite/suite.json")).expect("written")).expect("JSON");
    validate(&file);
    assert_eq!(file["tests"], result["tests"]);
    let junit = fs::read_to_string(at.join("junit.xml")).expect("it is written");
    assert!(junit.contains("<testsuite name=\"abba\"") && junit.contains("<testcase name=\"deadlock\""), "{junit}");
    assert!(junit.contains("tests=\"4\" failures=\"2\" errors=\"0\""), "{junit}");

    // Both findings replay with the commands that are told.
    let schedule = row(&result, "abba")["findings"][0]["schedule"].as_str().expect("there is one").to_owned();
    ordain(at).args(["replay", &schedule]).assert().code(1);
    let replay = row(&result, "deadlock")["findings"][0]["replay"].as_str().expect("there is one").to_owned();
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &format!("{replay} 2>&1")]).current_dir(at).output().expect("sh runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("deadlock"), "{replay}: {text}");
}

#[test]
fn whatever_a_test_does_is_one_row_with_its_reason() {
    let directory = directory();
    let at = directory.path();
    compile(at, &source("fixed/abba.c"), "fixed", &[]);
    compile_text(at, "int main(void) { return 3; }", "fails");
    write(at, "text", "not a program\n");
    let cases = [
        "crashes_in_a_check",
        "crashes_after_a_check",
        "panics_before_a_check",
        "makes_no_check",
        "talks_nonsense",
        "is_missing",
    ];
    let mut tests = vec![program("missing", "./missing", ""), program("text", "./text", "")];
    tests.push(program("fails", "./fails", ""));
    tests.extend(cases.map(case));
    tests.push("[[test]]\nname = \"no binary\"\nbinary = \"./missing\"\ntest = \"a\"\n".into());
    tests.push(program("fixed", "./fixed", ""));
    tests.push(case("verified"));
    suite(at, "", &tests);
    let text = told(at, &["--junit", "junit.xml"], 1);
    insta::assert_snapshot!(text);
    let junit = fs::read_to_string(at.join("junit.xml")).expect("it is written");
    assert!(junit.contains("failures=\"1\" errors=\"9\""), "{junit}");
    // Without the finding, the status is that of tests that cannot be checked.
    told(at, &["missing", "fixed"], 2);
}

#[test]
fn a_test_that_hangs_does_not_hold_up_the_others() {
    let directory = directory();
    let at = directory.path();
    compile(at, &source("fixed/abba.c"), "fixed", &[]);
    suite(at, "patience = \"200ms\"\nworkers = 1", &[case("hangs"), program("fixed", "./fixed", "")]);
    let result = json(ordain(at).args(["suite", "--quiet", "--format", "json"]), 2);
    assert_eq!(row(&result, "hangs")["trouble"]["message"], "it hangs: it said nothing for 0.2 seconds");
    assert_eq!(row(&result, "fixed")["state"], "verified");
}

#[test]
fn a_budget_of_executions_is_kept() {
    let directory = directory();
    let at = directory.path();
    compile(at, &source("counts/mutex_counter.c"), "counter", &[]);
    let tests = [case("endless"), program("counter", "./counter", "args = [\"5\", \"5\"]")];
    suite(at, "slice = \"7 executions\"", &tests);
    for policy in ["round-robin", "weighted", "shortest-first", "even-coverage", "findings"] {
        for workers in ["1", "2"] {
            let options = ["--budget", "100 executions", "--policy", policy, "--workers", workers, "--format", "json"];
            let result = json(ordain(at).args(["suite", "--quiet"]).args(options), 0);
            assert_eq!((&result["executions"], &result["policy"]), (&100.into(), &policy.into()), "{result:#}");
            assert_eq!((&result["budget_spent"], &result["finished"]), (&true.into(), &false.into()));
            for test in ["endless", "counter"] {
                let row = row(&result, test);
                // Others than these choose by what is known; and a second worker may use up the budget while the first
                // still starts its test.
                let turns = workers == "1" && ["round-robin", "weighted"].contains(&policy);
                let least = if turns { 13 } else { 0 };
                assert!(
                    row["state"] == "unfinished" && row["executions"].as_u64() > Some(least),
                    "{policy}: {result:#}"
                );
            }
        }
    }
}

#[test]
fn limits_of_tests_are_kept() {
    let directory = directory();
    let at = directory.path();
    compile(at, &source("counts/mutex_counter.c"), "counter", &[]);
    let tests = [
        case("endless") + "max-executions = 20\n",
        program("counter", "./counter", "args = [\"5\", \"5\"]\nmax-executions = 30"),
    ];
    suite(at, "", &tests);
    let result = json(ordain(at).args(["suite", "--quiet", "--format", "json"]), 0);
    let of = |name: &str| (row(&result, name)["state"].clone(), row(&result, name)["executions"].clone());
    assert_eq!(of("endless"), ("no finding".into(), 20.into()));
    assert_eq!(of("counter"), ("no finding".into(), 30.into()));
    assert_eq!(result["finished"], true);
}

#[test]
fn a_new_policy_in_the_file_is_followed() {
    let directory = directory();
    let at = directory.path();
    let file = at.join("ordain.toml");
    let edits = case("edits_the_suite") + &format!("env = {{ SUITE = {file:?} }}\n");
    suite(
        at,
        "policy = \"shortest-first\"\nworkers = 1\nslice = \"5 executions\"\nexecutions = 100",
        &[edits, case("endless")],
    );
    let output = ordain(at).args(["suite", "--format", "json"]).assert().code(0).get_output().clone();
    let (result, text) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("the policy was shortest-first and is now even-coverage: the file has changed"), "{text}");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!((&result["policy"], &result["executions"]), (&"even-coverage".into(), &100.into()));
}

#[test]
fn a_suite_is_resumed() {
    let directory = directory();
    let at = directory.path();
    compile(at, &source("fixed/abba.c"), "fixed", &[]);
    let tests = [program("fixed", "./fixed", ""), case("deadlock"), case("endless")];
    suite(at, "workers = 1\nslice = \"50 executions\"", &tests);
    let resume = |status| {
        json(
            ordain(at).args([
                "suite",
                "-q",
                "--resume",
                ".ordain/suite",
                "--budget",
                "60 executions",
                "--format",
                "json",
            ]),
            status,
        )
    };
    let first = json(ordain(at).args(["suite", "-q", "--budget", "100 executions", "--format", "json"]), 1);
    assert_eq!(row(&first, "endless")["state"], "unfinished");
    let text = told(at, &["--resume", ".ordain/suite", "--budget", "10 executions"], 1);
    insta::assert_snapshot!(loosely(&text));
    let second = resume(1);
    validate(&second);
    for name in ["fixed", "deadlock"] {
        assert_eq!(row(&second, name), row(&first, name), "it is kept as it is");
    }
    let before = row(&first, "endless")["executions"].as_u64().expect("a number");
    assert_eq!(row(&second, "endless")["executions"], before + 10 + 60, "it goes on where it was");
    // A program that is another one is checked again.
    compile(at, &source("bugs/abba.c"), "fixed", &[]);
    assert_eq!(row(&resume(1), "fixed")["state"], "finding");
    // So is a test of which the file says something else, and one that has no record any more.
    fs::remove_dir_all(at.join(".ordain/suite/deadlock")).expect("it is there");
    assert_eq!(row(&resume(1), "deadlock")["state"], "finding");
    assert!(at.join(".ordain/suite/deadlock/run.json").exists());
}

#[test]
fn an_interrupt_ends_a_suite_in_order() {
    let directory = directory();
    let at = directory.path();
    let tests = [case("verified"), case("interrupts_the_suite"), case("endless")];
    suite(at, "workers = 1\nslice = \"1h\"", &tests);
    let output = ordain(at).args(["suite", "--format", "json"]).assert().code(130).get_output().clone();
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    validate(&result);
    assert_eq!((&result["interrupted"], &result["finished"]), (&true.into(), &false.into()));
    let states: Vec<&str> =
        result["tests"].as_array().expect("rows").iter().filter_map(|r| r["state"].as_str()).collect();
    assert_eq!(states, ["verified", "unfinished", "not started"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("The suite was stopped.") && text.contains("suite --resume .ordain/suite"), "{text}");
}

#[test]
fn packages_are_built_once_and_before_the_clock_runs() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = directory();
    let at = directory.path();
    let binary = std::env::current_exe().expect("this is a binary");
    let message = format!(
        r#"{{"reason":"compiler-artifact","manifest_path":"{}/Cargo.toml","profile":{{"test":true}},"executable":"{}"}}"#,
        at.display(),
        binary.display()
    );
    let cargo = write(at, "cargo", format!("#!/bin/sh\necho \"$@\" >> calls\nprintf '%s\\n' '{{}}' '{message}'\n"));
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let test = |name: &str| {
        format!(
            "[[test]]\nname = \"{name}\"\npackage = \"bank\"\ncargo-args = [\"--release\"]\ntest = \"cases::{name}\"\n"
        )
    };
    let broken = "[[test]]\nname = \"broken\"\npackage = \"bank\"\ntest = \"verified\"\n".to_owned();
    suite(at, "", &[test("verified"), test("deadlock"), broken]);
    let output =
        ordain(at).args(["suite", "--format", "json"]).env("CARGO", &cargo).assert().code(1).get_output().clone();
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(row(&result, "verified")["state"], "verified");
    let replay = row(&result, "deadlock")["findings"][0]["replay"].as_str().unwrap_or_default().to_owned();
    assert!(replay.starts_with("ordain replay ") && replay.ends_with(" -- -p bank --release"), "{replay}");
    let trouble = &row(&result, "broken")["trouble"];
    assert_eq!(trouble["message"], "there is no test called `verified` in package bank");
    assert!(trouble["help"].as_str().is_some_and(|help| help.contains("did you mean `cases::verified`")), "{trouble}");
    let calls = fs::read_to_string(at.join("calls")).expect("it was called");
    assert_eq!(calls.lines().count(), 2, "{calls}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.matches("building the tests of package bank").count(), 2, "{text}");
}

#[test]
fn a_suite_says_which_tests_have_not_reached_what_is_required() {
    let directory = directory();
    let at = directory.path();
    compile(at, &source("fixed/abba.c"), "fixed", &[]);
    let endless = case("endless") + "max-executions = 20\n";
    let free =
        format!("{}require = \"share=0.000000000001%\"\n", case("endless").replace("\"endless\"\nb", "\"free\"\nb"));
    let budget = "workers = 1\nslice = \"10 executions\"\nexecutions = 200";
    for (require, status) in [("", 0), ("\nrequire = \"verified\"", 3)] {
        suite(at, &format!("{budget}{require}"), &[program("fixed", "./fixed", ""), endless.clone()]);
        let text = told(at, &["--junit", "junit.xml"], status);
        assert_eq!(text.contains("`verified` was required, but the verdict is `no finding`"), status == 3, "{text}");
        assert_eq!(text.contains("1 has not reached what was required"), status == 3, "{text}");
        let junit = fs::read_to_string(at.join("junit.xml")).expect("it is written");
        assert_eq!(junit.contains("failures=\"1\""), status == 3, "{junit}");
    }
    told(at, &["--require", "share=0.000000000001%"], 0);
    // What a test says itself holds for it.
    suite(at, &format!("{budget}\nrequire = \"verified\""), &[free + "max-executions = 20\n"]);
    told(at, &[], 0);
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    let directory = directory();
    let at = directory.path();
    let wrong = |text: &str| {
        write(at, "ordain.toml", text);
        told(at, &[], 2)
    };
    insta::assert_snapshot!(
        "a_wrong_key",
        wrong("[suite]\nbudget = \"5m\"\n\n[[test]]\nname = \"a\"\nprogramm = \"./a\"\n")
    );
    insta::assert_snapshot!(
        "a_wrong_policy",
        wrong("[suite]\npolicy = \"fastest\"\n\n[[test]]\nname = \"a\"\nprogram = \"./a\"\n")
    );
    insta::assert_snapshot!("a_wrong_time", wrong("[suite]\nbudget = \"5 days\"\n"));
    insta::assert_snapshot!(
        "two_tests_of_a_name",
        wrong("[[test]]\nname = \"a\"\nprogram = \"./a\"\n\n[[test]]\nname = \"a\"\nprogram = \"./b\"\n")
    );
    insta::assert_snapshot!("no_toml", wrong("[[test]\n"));
    let result = json(ordain(at).args(["suite", "--format", "json"]), 2);
    validate(&result);
}

#[test]
fn a_file_to_begin_with_is_written_and_never_overwritten() {
    let directory = directory();
    let at = directory.path();
    insta::assert_snapshot!("no_file", told(at, &[], 2));
    told(at, &["--init"], 0);
    let starter = fs::read_to_string(at.join("ordain.toml")).expect("it is written");
    assert!(starter.contains("[[test]]"), "{starter}");
    write(at, "ordain.toml", "mine");
    assert!(told(at, &["--init"], 2).contains("ordain.toml exists, and is left as it is"));
    assert_eq!(fs::read_to_string(at.join("ordain.toml")).ok().as_deref(), Some("mine"));
    let text = told(at, &["--resume", "nowhere"], 2);
    assert!(text.contains("there is no suite to resume in nowhere"), "{text}");
    write(at, "other.toml", program("queue", "./queue", ""));
    let text = told(at, &["other.toml", "bank"], 2);
    assert!(text.contains("its tests are queue"), "{text}");
}
