//! The schedule as a timeline: a column for each thread, time goes down, and beside each step where it is in the source.

use super::{ALARM, BOLD, FAINT, PLAIN, Page, clean, plural, thread_style};
use crate::story::{Place, RaceAccess, Step, Story, Switch};
use std::collections::BTreeSet;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A column narrower than this is of no use.
const NARROWEST: usize = 16;
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
    let last = ends(story);
    let mut threads: Vec<usize> = shown.iter().map(|s| s.thread).chain(last.iter().map(|l| l.0)).collect();
    threads.sort_unstable();
    threads.dedup();
    let digits = story.length.max(10).to_string().len();
    let gutter = digits + 6;
    let room = page.look.width.saturating_sub(gutter);
    // Rather shorter places than no columns.
    let narrowest = threads.len() * (NARROWEST + GAP);
    let place = shown.iter().filter_map(|s| Some(where_of(s.place.as_ref()?).width())).max().unwrap_or(0).min(PLACE);
    let widths = widths(story, &threads, &shown, &last, room.saturating_sub(place).max(narrowest.min(room)));
    let Some(widths) = widths else {
        return list(story, &shown, &last, digits, page);
    };
    let columns = Columns { threads: &threads, widths: &widths, digits };
    page.put(PLAIN, &" ".repeat(gutter));
    for (thread, width) in threads.iter().zip(&widths) {
        page.put(thread_style(*thread).effects(anstyle::Effects::BOLD), &fit(&name(story, *thread), *width));
        page.put(PLAIN, &" ".repeat(GAP));
    }
    page.end();
    let mut next = 0;
    for step in &shown {
        omitted(step.number.saturating_sub(next), digits, page);
        next = step.number.saturating_add(1);
        columns.row(&number(step, digits), step.switch, &[(step.thread, &step.text)], PLAIN, page);
        if let Some(place) = &step.place {
            let room = page.look.width.saturating_sub(gutter + columns.total());
            page.put(FAINT, &cut(&where_of(place), room));
        }
        page.end();
    }
    omitted(story.length.saturating_sub(next), digits, page);
    columns.ends(&last, page);
    legend(&shown, page);
}

/// The place of a step, with what is written there.
fn where_of(place: &Place) -> String {
    let text = place.text.as_deref().unwrap_or_default().trim_start();
    format!("{}  {}", place.short(), clean(text)).trim_end().to_owned()
}

/// What the reader must know about the marks.
fn legend(shown: &[&Step], page: &mut Page) {
    let preempted = shown.iter().any(|s| s.switch == Switch::Preemption);
    let free = shown.iter().any(|s| s.switch == Switch::Free);
    let mut text = Vec::new();
    if free {
        text.push("> another thread goes on");
    }
    if preempted {
        text.push(">> another thread goes on although the one before could have (a preemption)");
    }
    if !text.is_empty() {
        page.line(FAINT, &format!("  {}", text.join("; ")));
    }
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

fn name(story: &Story, thread: usize) -> String {
    match story.threads.get(thread) {
        Some(t) => t.given.as_ref().map_or(t.name.clone(), |given| format!("{} {given:?}", t.name)),
        None => "?".to_owned(),
    }
}

/// The width of each column, or nothing if there is no room for columns.
fn widths(
    story: &Story,
    threads: &[usize],
    shown: &[&Step],
    last: &[(usize, String)],
    room: usize,
) -> Option<Vec<usize>> {
    let wanted = |thread: usize| {
        let steps = shown.iter().filter(|s| s.thread == thread).map(|s| clean(&s.text).width());
        let ends = last.iter().filter(|l| l.0 == thread).map(|l| clean(&l.1).width());
        steps.chain(ends).chain([clean(&name(story, thread)).width()]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = threads.iter().map(|t| wanted(*t)).collect();
    let most = room / threads.len();
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

struct Columns<'a> {
    threads: &'a [usize],
    widths: &'a [usize],
    digits: usize,
}

impl Columns<'_> {
    fn total(&self) -> usize {
        self.widths.iter().map(|w| w + GAP).sum()
    }

    /// How threads end: in one row if there is room, else in a row for each, which may go on to the right.
    fn ends(&self, last: &[(usize, String)], page: &mut Page) {
        let width = |thread| self.threads.iter().position(|t| *t == thread).map_or(0, |i| self.widths[i]);
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
            let before: usize =
                self.threads.iter().zip(self.widths).take_while(|c| c.0 != thread).map(|c| c.1 + GAP).sum();
            let gutter = self.digits + 6;
            page.put(FAINT, &fit(&format!("  {:>width$}", "x", width = self.digits), gutter + before));
            page.line(ALARM, &cut(text, page.look.width.saturating_sub(gutter + before)));
        }
    }

    /// A row with something in the columns of some threads.
    fn row(&self, number: &str, switch: Switch, texts: &[(usize, &str)], style: anstyle::Style, page: &mut Page) {
        page.put(FAINT, &format!("  {number:>width$} ", width = self.digits));
        put_mark(switch, page);
        for (column, width) in self.threads.iter().zip(self.widths) {
            let style = if style == PLAIN { thread_style(*column) } else { style };
            let text = texts.iter().find(|t| t.0 == *column).map_or("", |t| t.1);
            page.put(if text.is_empty() { PLAIN } else { style }, &fit(text, *width));
            page.put(PLAIN, &" ".repeat(GAP));
        }
    }
}

fn put_mark(switch: Switch, page: &mut Page) {
    match switch {
        Switch::None => page.put(PLAIN, "   "),
        Switch::Free => page.put(PLAIN, ">  "),
        Switch::Preemption => page.put(BOLD, ">> "),
    }
}

fn number(step: &Step, digits: usize) -> String {
    format!("{:>digits$}", step.number)
}

fn omitted(count: usize, digits: usize, page: &mut Page) {
    if count > 0 {
        page.line(FAINT, &format!("  {:>digits$}    {}", "...", plural(count, "step")));
    }
}

/// One line for each step, with the thread's name: for narrow windows and many threads.
fn list(story: &Story, shown: &[&Step], last: &[(usize, String)], digits: usize, page: &mut Page) {
    let width = shown.iter().map(|s| clean(&name(story, s.thread)).width()).max().unwrap_or(0).min(24);
    let line = |number: &str, switch: Switch, thread: usize, text: &str, style, page: &mut Page| {
        page.put(FAINT, &format!("  {number:>digits$} "));
        put_mark(switch, page);
        page.put(thread_style(thread), &fit(&name(story, thread), width));
        page.put(PLAIN, "  ");
        page.put(style, &clean(text));
    };
    let mut next = 0;
    for step in shown {
        omitted(step.number.saturating_sub(next), digits, page);
        next = step.number.saturating_add(1);
        line(&number(step, digits), step.switch, step.thread, &step.text, PLAIN, page);
        if let Some(place) = &step.place {
            page.put(FAINT, &format!("  {}", place.short()));
        }
        page.end();
    }
    omitted(story.length.saturating_sub(next), digits, page);
    for (thread, text) in last {
        line("x", Switch::None, *thread, text, ALARM, page);
        page.end();
    }
    legend(shown, page);
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
