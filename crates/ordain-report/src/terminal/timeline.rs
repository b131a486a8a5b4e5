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
/// What is left for places if columns need the rest; the text of the source behind them gives way first.
const PLACE: usize = 30;
/// Without a window, columns that take more than this are lines with names instead.
const WIDEST: usize = 160;
/// What stands between an operation and its outcome.
const OUTCOME: &str = " -> ";

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
        let place = shown.iter().filter_map(|s| Some(clean(&s.place.as_ref()?.short()).width())).max();
        let place = place.unwrap_or(0).min(PLACE);
        let room = room.saturating_sub(place).max(narrowest.min(room));
        let columns = widths(&names, &threads, shown, last, room);
        let columns =
            columns.filter(|c| look.is_narrow() || c.iter().map(|width| width + GAP).sum::<usize>() <= WIDEST);
        let columns = columns.map(|widths| threads.into_iter().zip(widths).collect());
        let widest = names.iter().map(|n| clean(&n.1).width()).max().unwrap_or(0);
        let widest = if look.is_narrow() { widest.min(24) } else { widest };
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
        if let Some((_, width)) = self.columns.iter().find(|c| c.0 == thread) {
            let text = cut_before_outcome(step, *width);
            self.row(&step.number.to_string(), step.switch, &[(thread, &text)], PLAIN, &mut page);
            if let Some(place) = &step.place {
                let room = self.look.width.saturating_sub(self.digits + MARGIN + self.total());
                page.put(FAINT, &cut_after_place(place, room));
            }
        } else {
            self.line(&step.number.to_string(), step.switch, thread, &step.text, PLAIN, &mut page);
            if let Some(place) = &step.place {
                let place = if self.look.is_narrow() { place.short() } else { where_of(place) };
                page.put(FAINT, &format!("  {place}"));
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

/// The place, with as much of what is written there as there is room for; a few letters say nothing.
fn cut_after_place(place: &Place, width: usize) -> String {
    const FEW: usize = 8;
    let (short, whole) = (clean(&place.short()), where_of(place));
    if whole.width() > width && short.width() + FEW > width { cut(&short, width) } else { cut(&whole, width) }
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
    // Outcomes must have room in any case.
    let least = |thread: usize| {
        let outcomes = shown.iter().filter(|s| s.thread == thread).filter_map(|s| s.outcome.as_ref());
        outcomes.map(|o| clean(o).width() + OUTCOME.len() + 1).max().unwrap_or(1)
    };
    let least: Vec<usize> = threads.iter().map(|t| least(*t)).collect();
    // Narrow columns leave their room to wide ones.
    while widths.iter().map(|w| w + GAP).sum::<usize>() > room {
        let wide = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
        *wide.max_by_key(|(width, _)| **width)?.0 -= 1;
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

/// What a step did, cut to a width: its outcome stays whole.
fn cut_before_outcome(step: &Step, width: usize) -> String {
    let outcome = step.outcome.as_ref().map(|outcome| clean(&format!("{OUTCOME}{outcome}")));
    let text = clean(&step.text);
    match outcome.as_ref().and_then(|outcome| Some((text.strip_suffix(outcome.as_str())?, outcome))) {
        Some((done, outcome)) => cut(done, width.saturating_sub(outcome.width())) + outcome,
        None => cut(&text, width),
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

    #[test]
    fn places_are_cut_only_if_there_is_no_room_for_them_alone() {
        let place = Place { file: "src/a.c".into(), line: 12, column: 0, text: Some("  lock(&some->mutex);".into()) };
        let cuts = [40, 16, 14, 13, 6, 5].map(|width| cut_after_place(&place, width));
        assert_eq!(
            cuts,
            [
                "a.c:12  lock(&some->mutex);",
                "a.c:12  lock(&s\u{2026}",
                "a.c:12  lock(\u{2026}",
                "a.c:12",
                "a.c:12",
                "a.c:\u{2026}"
            ]
        );
    }

    #[test]
    fn outcomes_stay_whole() {
        let step = |text: &str, outcome: &str| Step {
            text: text.to_owned(),
            outcome: Some(outcome.to_owned()),
            ..Step::default()
        };
        let waking = step("notify-one queue->not_empty -> woke 0", "woke 0");
        assert_eq!(cut_before_outcome(&waking, 40), "notify-one queue->not_empty -> woke 0");
        assert_eq!(cut_before_outcome(&waking, 22), "notify-one \u{2026} -> woke 0");
        assert_eq!(cut_before_outcome(&waking, 11), "\u{2026} -> woke 0");
        assert_eq!(cut_before_outcome(&step("choose below 3", "2"), 8), "choose \u{2026}");
        let threads: Vec<usize> = (0..4).collect();
        let names: Vec<(String, String)> = threads.iter().map(|t| (t.to_string(), t.to_string())).collect();
        let steps: Vec<Step> = threads
            .iter()
            .map(|t| Step { thread: *t, ..step("lock a -> a signal came first", "a signal came first") })
            .collect();
        let shown: Vec<&Step> = steps.iter().collect();
        assert_eq!(widths(&names, &threads, &shown, &[], 4 * (24 + GAP)), Some(vec![24; 4]));
        assert_eq!(widths(&names, &threads, &shown, &[], 4 * (24 + GAP) - 1), None);
    }
}
