//! The schedule as a timeline: a column for each thread, time goes down, and beside each step where it is in the source.

use super::{ALARM, BOLD, FAINT, Look, PLAIN, Page, clean, plural, thread_style};
use crate::story::{Place, RaceAccess, Step, Story, Switch, Thread};
use std::collections::BTreeSet;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A column narrower than this is of no use.
const NARROWEST: usize = 16;
/// What is beside the number of a step: space and the mark.
const MARGIN: usize = 6;
/// Space between columns.
const GAP: usize = 2;
/// What is left for places and the text of the source if columns need the rest.
const PLACE: usize = 30;

/// Draws the steps that matter.
pub(super) fn draw(story: &Story, page: &mut Page) {
    let shown: Vec<&Step> = story.steps.iter().filter(|s| s.matters).collect();
    if shown.is_empty() {
        page.line(FAINT, "  no step was made");
        return;
    }
    let mut timeline = Timeline::of_story(story, false, page.look);
    page.text.push_str(&timeline.header());
    for step in shown {
        let name = story.threads.get(step.thread).map_or("?", |t| t.name.as_str());
        page.text.push_str(&timeline.step(name, step));
    }
    page.text.push_str(&timeline.end(story));
}

/// A timeline that grows: its columns are known before, its steps come one by one.
pub struct Timeline {
    /// Names of threads by birth, and how they are shown.
    names: Vec<(String, String)>,
    /// Threads that have a column, by their place in the names, and the width of each; none in narrow windows.
    columns: Vec<(usize, usize)>,
    /// The widest name, for lines without columns.
    widest: usize,
    digits: usize,
    look: Look,
    /// The number of the step that comes next.
    next: usize,
    /// Marks that were shown: another thread goes on, a preemption.
    marks: [bool; 2],
}

impl Timeline {
    /// With room for the steps of a story: all, or those that matter.
    pub fn of_story(story: &Story, all: bool, look: Look) -> Self {
        let shown = story.threads.iter().map(|t| (t.name.clone(), name(t))).collect();
        let steps: Vec<&Step> = story.steps.iter().filter(|s| all || s.matters).collect();
        Self::new(shown, &steps, &ends(story), story.length, look)
    }

    /// With room for steps that are expected: the thread's name and what it does.
    pub fn expecting(steps: &[(String, String)], look: Look) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut told = Vec::new();
        for (name, text) in steps {
            let thread = names.iter().position(|n| n == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            });
            told.push(Step { thread, text: text.clone(), ..Step::default() });
        }
        // As threads are born: main.2 before main.10.
        let birth = |name: &str| name.split('.').map(|part| part.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>();
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|i| birth(&names[*i]));
        for step in &mut told {
            step.thread = order.iter().position(|i| *i == step.thread).unwrap_or(0);
        }
        let names = order.iter().map(|i| (names[*i].clone(), names[*i].clone())).collect();
        Self::new(names, &told.iter().collect::<Vec<_>>(), &[], told.len(), look)
    }

    fn new(names: Vec<(String, String)>, shown: &[&Step], last: &[(usize, String)], length: usize, look: Look) -> Self {
        let mut threads: Vec<usize> = shown.iter().map(|s| s.thread).chain(last.iter().map(|l| l.0)).collect();
        threads.sort_unstable();
        threads.dedup();
        let digits = length.max(10).to_string().len();
        let room = look.width.saturating_sub(digits + MARGIN);
        // Rather shorter places than no columns.
        let narrowest = threads.len() * (NARROWEST + GAP);
        let place =
            shown.iter().filter_map(|s| Some(where_of(s.place.as_ref()?).width())).max().unwrap_or(0).min(PLACE);
        let room = room.saturating_sub(place).max(narrowest.min(room));
        let columns =
            widths(&names, &threads, shown, last, room).map(|widths| threads.into_iter().zip(widths).collect());
        let widest = names.iter().map(|n| clean(&n.1).width()).max().unwrap_or(0).min(24);
        Self { names, columns: columns.unwrap_or_default(), widest, digits, look, next: 0, marks: [false; 2] }
    }

    /// The names of the threads, above their columns.
    pub fn header(&self) -> String {
        let mut page = Page::new(self.look);
        if self.columns.is_empty() {
            return String::new();
        }
        page.put(PLAIN, &" ".repeat(self.digits + MARGIN));
        for (thread, width) in &self.columns {
            let style = thread_style(*thread).effects(anstyle::Effects::BOLD);
            page.put(style, &fit(self.names.get(*thread).map_or("?", |n| n.1.as_str()), *width));
            page.put(PLAIN, &" ".repeat(GAP));
        }
        page.end();
        page.text
    }

    /// A step of the thread of that name; steps before it that were not shown are counted.
    pub fn step(&mut self, thread: &str, step: &Step) -> String {
        let mut page = Page::new(self.look);
        self.omitted(step.number, &mut page);
        self.next = step.number.saturating_add(1);
        self.mark(step.switch);
        let thread = self.names.iter().position(|n| n.0 == thread).unwrap_or_else(|| {
            self.names.push((thread.to_owned(), thread.to_owned()));
            self.names.len() - 1
        });
        if self.columns.iter().any(|c| c.0 == thread) {
            self.row(&step.number.to_string(), step.switch, &[(thread, &step.text)], PLAIN, &mut page);
            if let Some(place) = &step.place {
                let room = self.look.width.saturating_sub(self.digits + MARGIN + self.total());
                page.put(FAINT, &cut(&where_of(place), room));
            }
        } else {
            self.line(&step.number.to_string(), step.switch, thread, &step.text, PLAIN, &mut page);
            if let Some(place) = &step.place {
                page.put(FAINT, &format!("  {}", place.short()));
            }
        }
        page.end();
        page.text
    }

    /// How it ends, and what the marks mean.
    pub fn end(&mut self, story: &Story) -> String {
        let mut page = Page::new(self.look);
        self.omitted(story.length, &mut page);
        let at = |thread: usize| {
            let name = story.threads.get(thread).map(|t| t.name.as_str()).unwrap_or_default();
            self.names.iter().position(|n| n.0 == name).unwrap_or(usize::MAX)
        };
        let last: Vec<(usize, String)> = ends(story).into_iter().map(|(thread, text)| (at(thread), text)).collect();
        let (columns, others): (Vec<_>, Vec<_>) =
            last.into_iter().partition(|l| self.columns.iter().any(|c| c.0 == l.0));
        self.ends(&columns, &mut page);
        for (thread, text) in &others {
            self.line("x", Switch::None, *thread, text, ALARM, &mut page);
            page.end();
        }
        page.text + &self.legend()
    }

    /// Goes back: the step of that number comes next.
    pub fn rewind(&mut self, to: usize) {
        self.next = to;
    }

    /// What the marks mean that were shown.
    pub fn legend(&self) -> String {
        let meanings =
            ["> another thread goes on", ">> another thread goes on although the one before could have (a preemption)"];
        let shown: Vec<&str> = meanings.iter().zip(self.marks).filter(|m| m.1).map(|m| *m.0).collect();
        let mut page = Page::new(self.look);
        if !shown.is_empty() {
            page.line(FAINT, &format!("  {}", shown.join("; ")));
        }
        page.text
    }

    fn mark(&mut self, switch: Switch) {
        match switch {
            Switch::None => {}
            Switch::Free => self.marks[0] = true,
            Switch::Preemption => self.marks[1] = true,
        }
    }

    fn omitted(&self, to: usize, page: &mut Page) {
        let count = to.saturating_sub(self.next);
        if count > 0 {
            page.line(FAINT, &format!("  {:>width$}    {}", "...", plural(count, "step"), width = self.digits));
        }
    }

    fn total(&self) -> usize {
        self.columns.iter().map(|c| c.1 + GAP).sum()
    }

    /// How threads end: in one row if there is room, else in a row for each, which may go on to the right.
    fn ends(&self, last: &[(usize, String)], page: &mut Page) {
        let width = |thread| self.columns.iter().find(|c| c.0 == thread).map_or(0, |c| c.1);
        let threads: BTreeSet<usize> = last.iter().map(|l| l.0).collect();
        if threads.len() == last.len() && last.iter().all(|(thread, text)| clean(text).width() <= width(*thread)) {
            let ends: Vec<(usize, &str)> = last.iter().map(|l| (l.0, l.1.as_str())).collect();
            if !ends.is_empty() {
                self.row("x", Switch::None, &ends, ALARM, page);
                page.end();
            }
            return;
        }
        for (thread, text) in last {
            let before: usize = self.columns.iter().take_while(|c| c.0 != *thread).map(|c| c.1 + GAP).sum();
            let gutter = self.digits + MARGIN;
            page.put(FAINT, &fit(&format!("  {:>width$}", "x", width = self.digits), gutter + before));
            page.line(ALARM, &cut(text, self.look.width.saturating_sub(gutter + before)));
        }
    }

    /// A row with something in the columns of some threads.
    fn row(&self, number: &str, switch: Switch, texts: &[(usize, &str)], style: anstyle::Style, page: &mut Page) {
        page.put(FAINT, &format!("  {number:>width$} ", width = self.digits));
        put_mark(switch, page);
        for (column, width) in &self.columns {
            let style = if style == PLAIN { thread_style(*column) } else { style };
            let text = texts.iter().find(|t| t.0 == *column).map_or("", |t| t.1);
            page.put(if text.is_empty() { PLAIN } else { style }, &fit(text, *width));
            page.put(PLAIN, &" ".repeat(GAP));
        }
    }

    /// A line with the thread's name: for narrow windows and many threads.
    fn line(&self, number: &str, switch: Switch, thread: usize, text: &str, style: anstyle::Style, page: &mut Page) {
        page.put(FAINT, &format!("  {number:>width$} ", width = self.digits));
        put_mark(switch, page);
        let name = self.names.get(thread).map_or("?", |n| n.1.as_str());
        page.put(thread_style(thread), &fit(name, self.widest));
        page.put(PLAIN, "  ");
        page.put(style, &clean(text));
    }
}

/// The place of a step, with what is written there.
fn where_of(place: &Place) -> String {
    let text = place.text.as_deref().unwrap_or_default().trim_start();
    format!("{}  {}", place.short(), clean(text)).trim_end().to_owned()
}

/// How threads end: what those that wait wait for, and where the culprit was.
fn ends(story: &Story) -> Vec<(usize, String)> {
    if let Some(waiting) = &story.waiting {
        return waiting.waiters.iter().map(|w| (w.thread, format!("waits: {}", w.doing))).collect();
    }
    if let Some(race) = &story.race {
        let object = story.objects.get(race.object).map_or("memory", |o| o.name.as_str());
        let access = |a: &RaceAccess| (a.thread, format!("{} {object}", if a.write { "writes" } else { "reads" }));
        return race.accesses.iter().map(access).collect();
    }
    let culprits = story.threads.iter().enumerate().filter(|(_, t)| t.culprit);
    culprits.map(|(i, _)| (i, story.kind.title().to_owned())).collect()
}

/// How a thread is called above its column.
fn name(thread: &Thread) -> String {
    thread.given.as_ref().map_or(thread.name.clone(), |given| format!("{} {given:?}", thread.name))
}

/// The width of each column, or nothing if there is no room for columns.
fn widths(
    names: &[(String, String)],
    threads: &[usize],
    shown: &[&Step],
    last: &[(usize, String)],
    room: usize,
) -> Option<Vec<usize>> {
    let wanted = |thread: usize| {
        let steps = shown.iter().filter(|s| s.thread == thread).map(|s| clean(&s.text).width());
        let ends = last.iter().filter(|l| l.0 == thread).map(|l| clean(&l.1).width());
        let name = names.get(thread).map_or(0, |n| clean(&n.1).width());
        steps.chain(ends).chain([name]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = threads.iter().map(|t| wanted(*t)).collect();
    let most = room.checked_div(threads.len())?;
    if most < NARROWEST + GAP {
        return None;
    }
    // Narrow columns leave their room to wide ones.
    while widths.iter().map(|w| w + GAP).sum::<usize>() > room {
        let widest = widths.iter_mut().max()?;
        *widest = (*widest - 1).max(1);
    }
    Some(widths)
}

fn put_mark(switch: Switch, page: &mut Page) {
    match switch {
        Switch::None => page.put(PLAIN, "   "),
        Switch::Free => page.put(PLAIN, ">  "),
        Switch::Preemption => page.put(BOLD, ">> "),
    }
}

/// The text, cut or filled up to a width.
fn fit(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let missing = width.saturating_sub(text.width());
    text + &" ".repeat(missing)
}

/// The text, cut to a width.
fn cut(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.width() <= width {
        return text;
    }
    let mut used = 0;
    let mut short = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        short.push(c);
    }
    if width > 0 {
        short.push('\u{2026}');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_what_it_takes_on_the_screen() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc\u{2026}");
        assert_eq!(cut("\u{6f22}\u{5b57}\u{6f22}\u{5b57}", 5), "\u{6f22}\u{5b57}\u{2026}");
        assert_eq!(fit("ab", 4), "ab  ");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut("a\u{1b}[31m", 10), "a\u{fffd}[31m");
    }
}
