//! The README and the tutorial are true: their commands are run, and show what the pages say.
#![cfg(target_os = "linux")]

mod common;
mod console;

use console::{Page, root};
use std::fs;

#[test]
fn the_readme_shows_what_happens() {
    let mut page = Page::read("README.md");
    page.check("A bug that tests miss");
    let program = fs::read_to_string(root().join("examples/native/transfer.c")).expect("the example can be read");
    for block in page.blocks("c") {
        assert!(program.contains(&block), "not in transfer.c:\n{block}");
    }
}

/// In one test: with `ORDAIN_UPDATE_DOCS`, sections are written into the same page.
#[test]
fn the_tutorial_shows_what_happens() {
    let mut page = Page::read("docs/tutorial.md");
    for heading in ["C: a logger that does not close", "C++: a seat sold twice", "Rust: a letter that is not there yet"]
    {
        page.check(heading);
    }
    for (kind, file) in [("c", "logger.c"), ("cpp", "tickets.cpp"), ("rust", "mailbox/src/lib.rs")] {
        let program = fs::read_to_string(root().join("examples/tutorial").join(file)).expect("the example can be read");
        for block in page.blocks(kind) {
            assert!(program.contains(&block), "not in {file}:\n{block}");
        }
    }
}

#[test]
fn the_finding_in_the_guide_is_a_real_one() {
    let [shown] = &Page::read("docs/writing-checks.md").blocks("text")[..] else { panic!("one finding is shown") };
    let directory = common::directory();
    let told = common::stdout(common::ordain(directory.path()).args(["demo", "transfer"]), 1);
    assert!(told.contains(shown), "{told}");
}
