//! Help, version, and wrong use.

mod common;

use common::{directory, ordain, stderr, stdout};

#[test]
fn help_lists_the_commands_and_the_exit_status() {
    let directory = directory();
    let text = stdout(ordain(directory.path()).arg("--help"), 0);
    for word in [
        "check",
        "demo",
        "show",
        "replay",
        "report",
        "explain",
        "doctor",
        "Exit status:\n  0    what was asked for was reached",
        "\n  130  stopped by Ctrl-C",
    ] {
        assert!(text.contains(word), "{text}");
    }
    for command in ["check", "demo", "show", "replay", "report", "explain", "doctor"] {
        let text = stdout(ordain(directory.path()).args([command, "--help"]), 0);
        assert!(text.contains(&format!("Usage: ordain {command}")), "{text}");
    }
}

#[test]
fn the_version_is_told() {
    let directory = directory();
    let text = stdout(ordain(directory.path()).arg("--version"), 0);
    assert_eq!(text, format!("ordain {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_and_pages_have_every_command_and_option() {
    let directory = directory();
    let commands =
        ["check", "suite", "demo", "show", "replay", "report", "doctor", "estimate", "worker", "cluster", "explain"];
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(ordain(directory.path()).args(["completions", shell]), 0);
        for word in commands.iter().chain(&["max-executions", "portfolio", "completions", "man"]) {
            assert!(text.contains(word), "{shell}: {word}");
        }
        assert!(!text.contains("kind-time"), "{shell} offers what is hidden");
    }
    // Bash itself completes with it.
    let script = stdout(ordain(directory.path()).args(["completions", "bash"]), 0);
    let complete = |words: &str, at: usize| {
        let line = format!("{script}\nCOMP_WORDS=({words}); COMP_CWORD={at}; _ordain; echo \"${{COMPREPLY[@]}}\"");
        let output = std::process::Command::new("bash").args(["-c", &line]).output().expect("there is bash");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(complete("ordain che", 1), "check\n");
    assert_eq!(complete("ordain check --strategy p", 3), "pct pos portfolio\n");
    assert_eq!(complete("ordain check --exploration", 2), "--exploration-trace\n");
    let page = stdout(ordain(directory.path()).arg("man"), 0);
    assert!(page.starts_with(".TH ORDAIN 1 ") && page.contains("Exit status:\n"), "{page}");
    let told = stderr(ordain(directory.path()).args(["man", "pages"]), 0);
    assert!(told.ends_with(" pages are in pages\n"), "{told}");
    for command in commands {
        let page = std::fs::read_to_string(directory.path().join(format!("pages/ordain-{command}.1"))).expect("a page");
        assert!(page.starts_with(&format!(".TH ORDAIN-{} 1 ", command.to_uppercase())), "{page}");
        assert!(page.contains(".SH NAME\n") && page.contains(".SH SYNOPSIS\n"), "{page}");
    }
}

#[test]
fn wrong_use_has_status_2() {
    let directory = directory();
    let wrong: [&[&str]; 7] =
        [&[], &["shwo"], &["show"], &["replay"], &["show", "a", "b"], &["--demo"], &["replay", "a", "-p", "b"]];
    for arguments in wrong {
        let text = stderr(ordain(directory.path()).args(arguments), 2);
        assert!(text.contains("Usage: ordain"), "{arguments:?}: {text}");
    }
    let text = stderr(ordain(directory.path()).arg("shwo"), 2);
    assert!(text.contains("'show'"), "{text}");
}

#[test]
fn recipes_for_ci_use_options_that_there_are() {
    let page = include_str!("../../../docs/ci.md");
    let directory = directory();
    let mut commands = 0;
    for line in page.lines().filter_map(|line| {
        line.split_once("ordain ")
            .filter(|(before, _)| before.trim_start_matches(['-', ' ']).is_empty() || before.ends_with("run: "))
    }) {
        let words: Vec<&str> = line.1.split_whitespace().collect();
        let help = stdout(ordain(directory.path()).args([words[0], "--help"]), 0);
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{}: {option}", line.1);
        }
        commands += 1;
    }
    assert!(commands >= 4, "{commands}");
    for status in ["| 0 |", "| 1 |", "| 2 |", "| 3 |", "| 130, 143, 129 |"] {
        assert!(page.contains(status), "{status}");
    }
}
