//! A finding for a person at a terminal: one screen, from what happened to how to see it again.
//!
//! Colour only repeats what words, marks and columns say already, and its hues can be told apart by colour-blind readers (the
//! palette of Okabe and Ito). Everything that comes from the program is cleaned of control characters.

mod timeline;

pub use timeline::Timeline;

use crate::function::short_function;
use crate::source::is_own;
use crate::story::{Frame, Place, Shrunk, Story, Thread};
use anstyle::{Ansi256Color, Effects, Style};
use ordain_model::Size;
use std::fmt::Write as _;

/// Threads whose stacks are shown.
const MOST_THREADS: usize = 12;
/// Frames shown of a stack.
const MOST_FRAMES: usize = 16;
/// Bytes shown of what the program wrote.
const MOST_OUTPUT: usize = 2000;

/// How it shall look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Whether to use colour.
    pub colour: bool,
}

impl Look {
    /// For logs and files, where lines may be as long as they are: nothing is cut.
    pub const PLAIN: Self = Self { width: usize::MAX, colour: false };

    /// Whether lines end where a window does.
    pub(crate) fn is_narrow(&self) -> bool {
        self.width < usize::MAX
    }
}

/// What the reader can do next, as commands; shown below a finding.
#[derive(Clone, Debug, Default)]
pub struct Next {
    /// Name and command, in order.
    pub commands: Vec<(String, String)>,
    /// Something to know before: the schedule could not be written.
    pub trouble: Option<String>,
}

pub(crate) const BOLD: Style = Style::new().effects(Effects::BOLD);
pub(crate) const FAINT: Style = Style::new().effects(Effects::DIMMED);
/// Vermillion, bold.
pub(crate) const ALARM: Style =
    Style::new().fg_color(Some(anstyle::Color::Ansi256(Ansi256Color(202)))).effects(Effects::BOLD);
pub(crate) const PLAIN: Style = Style::new();

/// The colour of a thread.
pub(crate) fn thread_style(thread: usize) -> Style {
    // Sky blue, orange, bluish green, yellow, reddish purple, blue.
    const HUES: [u8; 6] = [75, 214, 36, 227, 175, 32];
    Style::new().fg_color(Some(Ansi256Color(HUES[thread % HUES.len()]).into()))
}

/// Text that grows, in colour or not, without control characters of others.
pub(crate) struct Page {
    text: String,
    look: Look,
}

impl Page {
    fn new(look: Look) -> Self {
        Self { text: String::new(), look }
    }

    /// Adds text in a style.
    pub(crate) fn put(&mut self, style: Style, text: &str) {
        let text = clean(text);
        let _ = if self.look.colour && style != PLAIN {
            write!(self.text, "{style}{text}{style:#}")
        } else {
            write!(self.text, "{text}")
        };
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) {
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        self.text.push('\n');
    }

    /// Adds a line in a style.
    pub(crate) fn line(&mut self, style: Style, text: &str) {
        self.put(style, text);
        self.end();
    }
}

/// The text without what a terminal would obey.
pub fn clean(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| {
            if c == '\t' {
                ' '
            } else if obeyed(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// The whole finding.
pub fn finding(story: &Story, look: Look, next: &Next) -> String {
    tell(story, look, next, true)
}

/// The finding for a reader who has seen its timeline.
pub fn finding_without_timeline(story: &Story, look: Look, next: &Next) -> String {
    tell(story, look, next, false)
}

/// How large the schedule of a finding is, as the title of its timeline.
pub fn title(story: &Story, look: Look) -> String {
    let mut page = Page::new(look);
    page.line(BOLD, &format!("{}:", size(story)));
    page.text
}

/// Text in the style of titles.
pub fn bold(text: &str, look: Look) -> String {
    let mut page = Page::new(look);
    page.put(BOLD, text);
    page.text
}

fn tell(story: &Story, look: Look, next: &Next, with_timeline: bool) -> String {
    let mut page = Page::new(look);
    page.put(ALARM, "ordain found: ");
    page.line(ALARM, story.kind.title());
    let here = std::env::current_dir().map(|d| format!(" at {}/", d.display())).unwrap_or_default();
    let near = |line: &str| if here.is_empty() { line.to_owned() } else { line.replace(&here, " at ") };
    page.line(BOLD, &format!("  {}", near(&story.headline)));
    for line in &story.details {
        page.line(PLAIN, &format!("  {}", near(line)));
    }
    stacks(story, &mut page);
    if with_timeline {
        page.end();
        page.text.push_str(&title(story, look));
        timeline::draw(story, &mut page);
    }
    outputs(story, &mut page);
    if let Some(trouble) = &next.trouble {
        page.end();
        page.line(PLAIN, trouble);
    }
    if !next.commands.is_empty() {
        page.end();
        let width = next.commands.iter().map(|c| c.0.len()).max().unwrap_or(0);
        for (name, command) in &next.commands {
            page.put(FAINT, &format!("{name:<width$}  "));
            page.line(PLAIN, command);
        }
    }
    page.text
}

/// `1 preemption`, `2 preemptions`.
pub fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// `a crash`, `an assertion`.
pub fn with_article(thing: &str) -> String {
    let article = if thing.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {thing}")
}

/// `1,234,567`.
pub fn large(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How large the schedule is, and was.
fn size(story: &Story) -> String {
    let of = |s: &Size| format!("{} and {}", plural(s.steps, "step"), plural(s.preemptions, "preemption"));
    let mut text = format!("how it happens, in {}", of(&story.size));
    if let Some(Shrunk { from, fewest, stopped, .. }) = story.shrunk {
        let mut known = Vec::new();
        if (from.preemptions, from.steps) != (story.size.preemptions, story.size.steps) {
            known.push(format!("found with {}", of(&from)));
        }
        if fewest && story.size.preemptions > 0 {
            known.push("no schedule with fewer preemptions shows it".to_owned());
        }
        if stopped {
            known.push("shrinking was stopped".to_owned());
        }
        if !known.is_empty() {
            let _ = write!(text, " ({})", known.join("; "));
        }
    }
    text
}

/// Where threads are, as far as that is known: those that have to do with it first.
fn stacks(story: &Story, page: &mut Page) {
    let involved = |i: usize, thread: &Thread| {
        let waits = story.waiting.as_ref().is_some_and(|w| w.cycle.is_empty() || w.cycle.contains(&i));
        thread.culprit || waits
    };
    let with_frames = story.threads.iter().enumerate().filter(|(_, t)| !t.frames.is_empty());
    let (mut shown, others): (Vec<_>, Vec<_>) = with_frames.partition(|(i, t)| involved(*i, t));
    if shown.is_empty() {
        shown.extend(&others);
    }
    let hidden = shown.len().saturating_sub(MOST_THREADS) + if shown.len() == others.len() { 0 } else { others.len() };
    for (i, thread) in shown.into_iter().take(MOST_THREADS) {
        page.end();
        page.put(thread_style(i), &thread.name);
        let given = thread.given.as_ref().map_or_else(String::new, |g| format!(" ({g:?})"));
        let doing = thread.doing.as_ref().map_or_else(String::new, |d| format!(", about to {d}"));
        page.line(PLAIN, &format!("{given}{}{doing}:", if thread.culprit { " (here)" } else { "" }));
        show_frames(&thread.frames, page);
    }
    if hidden > 0 {
        page.end();
        page.line(FAINT, &format!("({} more with a stack in the report)", plural(hidden, "thread")));
    }
}

/// A stack: where the thread is, and what the user's own functions did on the way there. Calls within libraries are folded.
fn show_frames(frames: &[Frame], page: &mut Page) {
    let is_own = |frame: &Frame| frame.place.as_ref().is_some_and(|place| is_own(&place.file));
    let folds = frames.iter().any(is_own);
    let (mut at, mut shown) = (0, 0);
    while at < frames.len() && shown < MOST_FRAMES {
        let foreign = frames[at..].iter().take_while(|frame| !is_own(frame)).count();
        if folds && at > 0 && foreign > 1 {
            page.line(FAINT, &format!("    ... {} of libraries", plural(foreign, "frame")));
            at += foreign;
        } else {
            show_frame(&frames[at], page);
            at += 1;
        }
        shown += 1;
    }
    if at < frames.len() {
        page.line(FAINT, &format!("    ... {} more", plural(frames.len() - at, "frame")));
    }
}

fn show_frame(frame: &Frame, page: &mut Page) {
    let function = frame.function.as_deref().map_or_else(|| "?".to_owned(), short_function);
    match &frame.place {
        Some(place) => {
            page.put(PLAIN, &format!("    {function} at {}", near(place)));
            if let Some(text) = &place.text {
                page.put(FAINT, &format!("    {}", text.trim_start()));
            }
            page.end();
        }
        None => page.line(PLAIN, &format!("    {function} in {}+{:#x}", frame.module, frame.offset)),
    }
}

/// The place as seen from the current directory.
fn near(place: &Place) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let file =
        std::path::Path::new(&place.file).strip_prefix(&here).map_or(place.file.clone(), |p| p.display().to_string());
    Place { file, ..place.clone() }.to_string()
}

fn outputs(story: &Story, page: &mut Page) {
    let mut show = |title: &str, text: &str| {
        if text.is_empty() {
            return;
        }
        page.end();
        page.line(BOLD, title);
        let end = (0..=text.len().min(MOST_OUTPUT)).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        for line in text[..end].lines() {
            page.line(PLAIN, &format!("  {line}"));
        }
        if end < text.len() {
            page.line(FAINT, &format!("  ... {} bytes more", text.len() - end));
        }
    };
    for (which, name) in ["standard output", "standard error"].into_iter().enumerate() {
        match &story.usual_outputs {
            Some(usual) if usual[which] != story.outputs[which] => {
                show(&format!("{name}, usually:"), &usual[which]);
                show(&format!("{name}, under this schedule:"), &story.outputs[which]);
            }
            _ => show(&format!("{name}:"), &story.outputs[which]),
        }
    }
}
