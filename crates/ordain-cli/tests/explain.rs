//! `ordain explain`: the list, each kind, and what is none.

mod common;

use common::{directory, ordain, stderr, stdout};
use ordain_report::{Kind, explain};

#[test]
fn without_a_code_all_kinds_are_listed() {
    let directory = directory();
    insta::assert_snapshot!(stdout(ordain(directory.path()).arg("explain"), 0));
}

#[test]
fn a_kind_is_explained() {
    let directory = directory();
    insta::assert_snapshot!(stdout(ordain(directory.path()).args(["explain", "deadlock"]), 0));
    insta::assert_snapshot!(stdout(ordain(directory.path()).args(["explain", "data-race"]), 0));
}

#[test]
fn every_kind_is_explained_by_each_of_its_names() {
    let directory = directory();
    for kind in Kind::ALL {
        let expected = explain::explain(kind).wrapped(80);
        for name in [kind.name().to_owned(), kind.title().to_uppercase(), explain::code(kind)] {
            assert_eq!(stdout(ordain(directory.path()).args(["explain", &name]), 0), expected, "{name}");
        }
    }
    let words = stdout(ordain(directory.path()).args(["explain", "lock", "held", "at", "exit"]), 0);
    assert_eq!(words, explain::explain(Kind::LockHeldAtExit).wrapped(80));
}

#[test]
fn what_is_no_kind_is_told_with_the_nearest_one() {
    let directory = directory();
    let text = stderr(ordain(directory.path()).args(["explain", "dead lok"]), 2);
    assert!(text.contains("there is no kind of finding called `dead lok`"), "{text}");
    assert!(text.contains("did you mean `deadlock`? the kinds are deadlock, data-race, panic, "), "{text}");
    let text = stderr(ordain(directory.path()).args(["explain", "\u{1b}[2Jqqqq"]), 2);
    assert!(text.contains("called `\u{fffd}[2Jqqqq`") && !text.contains("did you mean"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}
