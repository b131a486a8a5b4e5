//! What people see at a terminal, as it is; and that nothing of the program's can spoil it.

mod common;

use ordain_report::terminal::{Look, Next, finding};
use ordain_report::{Shrunk, Size, Story};

fn next() -> Next {
    let commands = [("replay", "ordain replay finding-1.ordain"), ("explain", "ordain explain deadlock")];
    Next { commands: commands.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec(), trouble: None }
}

fn plain(story: &Story, width: usize) -> String {
    finding(story, Look { width, colour: false }, &next())
}

#[test]
fn a_deadlock() {
    let mut story = common::deadlock();
    let from = Size { preemptions: 5, steps: 31, switches: 9 };
    story.shrunk = Some(Shrunk { from, executions: 40, fewest: true, stopped: false });
    insta::assert_snapshot!(plain(&story, 100));
}

#[test]
fn a_data_race() {
    insta::assert_snapshot!(plain(&common::race(), 100));
}

#[test]
fn output_that_depends_on_the_schedule() {
    insta::assert_snapshot!(plain(&common::output(), 100));
}

#[test]
fn a_narrow_window_gets_a_list() {
    insta::assert_snapshot!(plain(&common::deadlock(), 44));
}

#[test]
fn no_line_of_the_timeline_is_wider_than_the_window() {
    for width in [60, 80, 100, 140] {
        let text = plain(&common::deadlock(), width);
        let timeline = text.lines().skip_while(|l| !l.starts_with("how it happens")).skip(1);
        for line in timeline.take_while(|l| !l.is_empty() && !l.contains("another thread goes on")) {
            assert!(line.chars().count() <= width, "{width}: {line:?}");
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    let story = common::deadlock();
    let colourful = finding(&story, Look { width: 100, colour: true }, &next());
    assert!(colourful.contains("\u{1b}["));
    let mut without = String::new();
    let mut rest = colourful.as_str();
    while let Some(start) = rest.find("\u{1b}[") {
        without.push_str(&rest[..start]);
        rest = &rest[start..];
        rest = &rest[rest.find('m').map_or(rest.len(), |end| end + 1)..];
    }
    without.push_str(rest);
    let trimmed = |text: &str| text.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&without), trimmed(&plain(&story, 100)));
}

#[test]
fn control_characters_of_a_program_do_not_reach_the_terminal() {
    for story in &common::hostile().findings {
        for width in [0, 1, 40, 200] {
            let text = plain(story, width);
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        }
    }
}
