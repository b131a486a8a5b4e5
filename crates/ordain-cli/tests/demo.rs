//! `ordain demo`: every program, every option, and replay of what it finds.

mod common;

use common::{directory, ordain, stderr, stdout};
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;

#[test]
fn the_default_program_shows_a_lost_wake_up() {
    let directory = directory();
    let text = stdout(ordain(directory.path()).arg("demo"), 1);
    assert!(text.starts_with("waiter (lost wake-up: "), "{text}");
    assert!(text.contains("   7  pub(super) fn program() {"), "{text}");
    assert!(
        text.contains("\nordain found: deadlock\n  no thread can go on\n  main waits for main.1 to end at "),
        "{text}"
    );
    assert!(text.contains("main.1 waits to be woken from "), "{text}");
    assert!(text.contains("-> woke 0"), "{text}");
    assert!(text.contains(" replay .ordain/ordain-demo-waiter/finding-1.ordain\n"), "{text}");
    assert!(!text.contains("cargo test"), "{text}");
    assert!(text.contains("; strategy: optimal; "), "{text}");
}

#[test]
fn every_program_shows_what_it_stands_for() {
    let shows = [
        ("waiter", "ordain found: deadlock", 1),
        ("transfer", "cycle: main -> main.1 -> main", 1),
        ("counter", "a count was lost", 1),
        ("publish", "ordain found: data race", 1),
        ("spin", "ordain found: livelock", 1),
        (
            "ordered",
            "\nverified at level ordain types: holds if threads share data only by types of Ordain [all 2 classes of schedules, in 2 executions; ",
            0,
        ),
    ];
    let directory = directory();
    for (name, text, status) in shows {
        ordain(directory.path()).args(["demo", name]).assert().code(status).stdout(contains(text));
    }
}

#[test]
fn programs_are_listed() {
    let directory = directory();
    insta::assert_snapshot!(stdout(ordain(directory.path()).args(["demo", "--list"]), 0), @r"
    waiter    lost wake-up: the flag is looked at before the lock is taken
    transfer  deadlock: two transfers lock two accounts the other way round
    counter   lost update: load and store instead of one atomic addition
    publish   data race: a relaxed flag publishes nothing
    spin      livelock: two polite threads let each other go first, for ever
    ordered   verified: transfers that lock the accounts in one order
    ");
    assert!(!directory.path().join(".ordain").exists());
}

#[test]
fn every_strategy_finds_the_lost_update() {
    let directory = directory();
    for strategy in ["dfs", "dpor", "source", "optimal", "random", "urw", "pct", "pos", "portfolio"] {
        let mut command = ordain(directory.path());
        command.args(["demo", "counter", "--strategy", strategy, "--seed", "3"]);
        command.assert().code(1).stdout(contains(format!("; strategy: {strategy}; ")));
    }
}

#[test]
fn limits_are_kept() {
    let directory = directory();
    let mut command = ordain(directory.path());
    command.args(["demo", "transfer", "--strategy", "optimal", "--max-executions", "1"]);
    command.assert().code(0).stdout(
        contains("no finding at level ordain types: nothing was found in 1 execution; ")
            .and(contains(" classes explored")),
    );
}

#[test]
fn all_executions_that_misbehave_are_counted() {
    let directory = directory();
    let mut command = ordain(directory.path());
    command.args(["demo", "counter", "--keep-going"]);
    command.assert().code(1).stdout(contains("(after 4 executions) [4 executions; 2 misbehaved; "));
}

#[test]
fn findings_replay() {
    let directory = directory();
    for name in ["waiter", "transfer", "counter", "publish", "spin"] {
        ordain(directory.path()).args(["demo", name]).assert().code(1);
        let file = format!(".ordain/ordain-demo-{name}/finding-1.ordain");
        let mut replay = ordain(directory.path());
        replay.args(["replay", &file]).assert().code(1).stdout(contains("ordain found: ").and(contains("replay of ")));
        ordain(directory.path()).args(["show", &file]).assert().code(0).stdout(contains(format!("ordain demo {name}")));
    }
}

#[test]
fn a_schedule_can_be_given_inline() {
    let directory = directory();
    // A file where the directory would be, so that no schedule can be written.
    common::write(directory.path(), ".ordain", "");
    let text = stdout(ordain(directory.path()).args(["demo", "transfer"]), 1);
    let line = text
        .lines()
        .find_map(|l| l.split_once("ORDAIN_REPLAY='").map(|parts| parts.1))
        .expect("a line that replays it");
    let value = line.split('\'').next().expect("a quoted value");
    let mut replay = ordain(directory.path());
    replay.args(["demo", "transfer"]).env("ORDAIN_REPLAY", value);
    replay.assert().code(1).stdout(contains("ordain found: deadlock").and(contains("replay of ")));
    replay.env("ORDAIN_REPLAY", "inline:nonsense");
    let text = stderr(&mut replay, 2);
    assert!(text.contains("cannot replay the schedule given inline: expected `inline:NAME;STEPS`"), "{text}");
}

#[test]
fn a_schedule_that_cannot_be_read_is_a_problem() {
    let directory = directory();
    let text = stderr(ordain(directory.path()).arg("demo").env("ORDAIN_REPLAY", "nowhere.ordain"), 2);
    assert!(text.contains("cannot replay nowhere.ordain"), "{text}");
    assert!(text.contains("is ORDAIN_REPLAY set"), "{text}");
}

#[test]
fn unknown_programs_and_strategies_are_wrong_use() {
    let directory = directory();
    let text = stderr(ordain(directory.path()).args(["demo", "waitr"]), 2);
    assert!(text.contains("invalid value 'waitr'") && text.contains("'waiter'"), "{text}");
    assert!(text.contains("[possible values: waiter, transfer, counter, publish, spin, ordered]"), "{text}");
    let text = stderr(ordain(directory.path()).args(["demo", "--strategy", "optimum"]), 2);
    assert!(text.contains("'optimal'"), "{text}");
}

#[test]
fn numbers_are_checked() {
    let directory = directory();
    let wrong = [
        ["--seed", "99999999999999999999999999"],
        ["--seed", "-1"],
        ["--seed", "seven"],
        ["--max-executions", "0"],
        ["--max-executions", "1e9"],
    ];
    for [option, value] in wrong {
        let text = stderr(ordain(directory.path()).args(["demo", option, value]), 2);
        assert!(text.contains(option) || text.contains("unexpected argument"), "{text}");
    }
    ordain(directory.path()).args(["demo", "--list", "--seed", "1"]).assert().code(2);
    assert!(fs::read_dir(directory.path()).expect("readable").next().is_none());
}
