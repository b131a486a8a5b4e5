//! The plots of the document, as SVG that reads well on light and on dark pages.

use crate::report::{Mean, Row};
use crate::{Foreseen, Measured, SHARES};
use ordain_report::terminal::large;
use std::fmt::Write as _;

/// Colours by role; the second set is for dark pages.
const STYLE: &str = "<style>
:root { --page: #ffffff; --ink: #1f2430; --dim: #667085; --grid: #e4e7ec; --a: #1d6fd8; --b: #d9480f; --c: #2b8a3e; --d: #9c36b5; --e: #c2a000; --f: #868e96; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0d1117; --ink: #e6edf3; --dim: #9aa4b2; --grid: #2a313c; --a: #58a6ff; --b: #ff922b; --c: #69db7c; --d: #da77f2; --e: #ffd43b; --f: #8b949e; }
}
text { font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: var(--ink); }
.dim { fill: var(--dim); } .title { font-weight: 600; font-size: 14px; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: var(--grid); stroke-width: 1; } .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
</style>";

/// Text of a picture, one element after the other.
struct Picture(String);

impl Picture {
    fn new(width: usize, height: usize, title: &str) -> Self {
        let mut picture = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\">\n<title>{title}</title>\n{STYLE}\n<rect width=\"{width}\" height=\"{height}\" fill=\"var(--page)\"/>\n"
        ));
        picture.text(16.0, 24.0, "title", title);
        picture
    }

    fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let _ = writeln!(self.0, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{text}</text>");
    }

    fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        let ((x, y), (u, v)) = (from, to);
        let _ = writeln!(self.0, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{u:.1}\" y2=\"{v:.1}\"/>");
    }

    fn line(&mut self, points: &[(f64, f64)], colour: char, dashed: bool) {
        let dash = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let points = join(points);
        let _ = writeln!(self.0, "<polyline class=\"line\" stroke=\"var(--{colour})\"{dash} points=\"{points}\"/>");
    }

    fn area(&mut self, points: &[(f64, f64)], colour: char) {
        let points = join(points);
        let _ = writeln!(self.0, "<polygon fill=\"var(--{colour})\" fill-opacity=\"0.2\" points=\"{points}\"/>");
    }

    fn dot(&mut self, x: f64, y: f64, colour: char, hollow: bool) {
        let fill = if hollow { "var(--page)".into() } else { format!("var(--{colour})") };
        let _ = writeln!(
            self.0,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"var(--{colour})\" stroke-width=\"2\"/>"
        );
    }

    fn finish(mut self) -> String {
        self.0 += "</svg>\n";
        self.0
    }
}

fn join(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

/// One of the two means.
type Value = fn(&Mean) -> f64;

fn plain(name: &str) -> String {
    name.replace('*', "")
}

/// Mean accuracy by how much is explored: Ordain's estimator, and the best combinations of the literature.
pub fn by_share(rows: &[Row]) -> String {
    let mut picture = Picture::new(760, 430, "Mean accuracy by how much has been explored");
    let online = rows.iter().skip(2).filter(|r| r.online).take(3);
    let offline = rows.iter().filter(|r| !r.online).take(1);
    let shown: Vec<(&Row, char)> = rows.iter().take(2).chain(online).chain(offline).zip("adbcef".chars()).collect();
    for (number, (row, colour)) in shown.iter().enumerate() {
        let (x, y) = (22.0 + 245.0 * (number % 3) as f64, 46.0 + 20.0 * (number / 3) as f64);
        picture.dot(x, y, *colour, false);
        let note = if row.online { "" } else { " (offline)" };
        picture.text(x + 10.0, y + 4.0, "", &format!("{}{note}", plain(&row.name)));
    }
    let values: [(&str, Value); 2] =
        [("Harmonic mean: one bad estimate spoils it", |m| m.harmonic), ("Arithmetic mean", |m| m.arithmetic)];
    for (panel, (name, value)) in values.into_iter().enumerate() {
        let left = 52.0 + 370.0 * panel as f64;
        let (right, top, bottom) = (left + 310.0, 112.0, 370.0);
        let y = |value: f64| bottom - (bottom - top) * value / 100.0;
        picture.text(left, top - 14.0, "", name);
        for value in [0.0, 25.0, 50.0, 75.0, 100.0] {
            picture.grid((left, y(value)), (right, y(value)));
            picture.text(left - 8.0, y(value) + 4.0, "dim end", &format!("{value:.0} %"));
        }
        let x = |at: usize| left + 25.0 + (right - left - 50.0) * at as f64 / (SHARES.len() - 1) as f64;
        for (at, share) in SHARES.iter().enumerate() {
            picture.text(x(at), bottom + 20.0, "dim middle", &format!("{:.0} %", 100.0 * share));
        }
        picture.text((left + right) / 2.0, bottom + 40.0, "dim middle", "explored");
        // Ordain's own on top.
        for (row, colour) in shown.iter().rev() {
            let points: Vec<_> = row.means.iter().enumerate().map(|(at, mean)| (x(at), y(value(mean)))).collect();
            picture.line(&points, *colour, !row.online);
            for (x, y) in points {
                picture.dot(x, y, *colour, false);
            }
        }
    }
    picture.finish()
}

/// A number that is easy to read: 20,000 is 20k.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{:.0}G", v / 1e9),
        v if v >= 1e6 => format!("{:.0}M", v / 1e6),
        v if v >= 1e3 => format!("{:.0}k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

/// Accuracy of each workload when a hundredth is explored: Ordain's estimator and the best combination that needs no oracle.
pub fn by_workload(measured: &[Measured], rows: &[Row]) -> String {
    let value = |row: &Row, number: usize| row.accuracies[0][number];
    let mut order: Vec<usize> = (0..measured.len()).collect();
    order.sort_by(|a, b| value(&rows[0], *b).unwrap_or(-1.0).total_cmp(&value(&rows[0], *a).unwrap_or(-1.0)));
    let height = 92 + 17 * order.len();
    let mut picture = Picture::new(760, height, "Accuracy when 1 % has been explored");
    picture.dot(22.0, 44.0, 'a', false);
    picture.text(32.0, 48.0, "", "foresight");
    picture.dot(122.0, 44.0, 'b', true);
    picture.text(132.0, 48.0, "", &format!("{}, the best online combination overall", rows[2].name));
    let (left, right, top) = (260.0, 730.0, 70.0);
    let bottom = top + 17.0 * order.len() as f64;
    let x = |value: f64| left + (right - left) * value / 100.0;
    for value in [0.0, 25.0, 50.0, 75.0, 100.0] {
        picture.grid((x(value), top), (x(value), bottom));
        picture.text(x(value), bottom + 16.0, "dim middle", &format!("{value:.0} %"));
    }
    for (place, number) in order.iter().enumerate() {
        let y = top + 9.0 + 17.0 * place as f64;
        let m = &measured[*number];
        let kind = m.workload.kind.name();
        let how = if kind == "optimal" { m.workload.home() } else { kind };
        let name = if how == "library" { m.workload.name.clone() } else { format!("{} ({how})", m.workload.name) };
        picture.text(left - 78.0, y + 4.0, "end", &name);
        picture.text(left - 14.0, y + 4.0, "dim end", &large(m.executions));
        let (own, other) = (value(&rows[0], *number), value(&rows[2], *number));
        if let (Some(own), Some(other)) = (own, other) {
            picture.grid((x(own), y), (x(other), y));
        }
        if let Some(other) = other {
            picture.dot(x(other), y, 'b', true);
        }
        match own {
            Some(own) => picture.dot(x(own), y, 'a', false),
            None => picture.text(left + 6.0, y + 4.0, "dim", "no estimate"),
        }
    }
    picture.finish()
}

/// How estimates of two workloads went on, with their intervals.
pub fn curves(all: &[(String, u64, Vec<Foreseen>)]) -> String {
    let mut picture = Picture::new(760, 350, "Estimates and their intervals while a search goes on");
    picture.dot(22.0, 44.0, 'a', false);
    picture.text(32.0, 48.0, "", "estimate, with its interval of 90 %");
    picture.line(&[(250.0, 44.0), (278.0, 44.0)], 'b', true);
    picture.text(286.0, 48.0, "", "true number");
    for (panel, (name, truth, seen)) in all.iter().enumerate() {
        let (left, top, bottom) = (60.0 + 370.0 * panel as f64, 92.0, 290.0);
        let right = left + 290.0;
        let truth = *truth as f64;
        let ends = seen.iter().filter_map(|f| f.estimate).map(|e| (e.low.exp(), e.high.exp()));
        let (low, high) = ends.fold((truth, truth), |(low, high), (l, h)| (low.min(l), high.max(h)));
        // A decade around at least, a thousandfold at most: an early interval may be wider than is of interest.
        let (low, high) =
            ((low.min(truth / 3.0).max(truth / 1000.0)).log10(), (high.max(truth * 3.0).min(truth * 1000.0)).log10());
        let y = |value: f64| bottom - (bottom - top) * ((value.log10() - low) / (high - low)).clamp(0.0, 1.0);
        let x = |done: u64| left + (right - left) * (done as f64).ln() / truth.ln();
        picture.text(left, top - 12.0, "", name);
        for power in 0..=truth.log10() as i32 {
            let at = 10f64.powi(power);
            picture.grid((x(at as u64), top), (x(at as u64), bottom));
            picture.text(x(at as u64), bottom + 18.0, "dim middle", &short(at));
        }
        for power in low.ceil() as i32..=high.floor() as i32 {
            let at = 10f64.powi(power);
            picture.grid((left, y(at)), (right, y(at)));
            picture.text(left - 6.0, y(at) + 4.0, "dim end", &short(at));
        }
        picture.text((left + right) / 2.0, bottom + 40.0, "dim middle", "executions so far");
        let known: Vec<_> = seen.iter().filter_map(|f| Some((x(f.done), f.estimate?))).collect();
        let upper = known.iter().map(|(x, e)| (*x, y(e.high.exp())));
        let lower = known.iter().rev().map(|(x, e)| (*x, y(e.low.exp())));
        picture.area(&upper.chain(lower).collect::<Vec<_>>(), 'a');
        picture.line(&[(left, y(truth)), (right, y(truth))], 'b', true);
        let points: Vec<_> = known.iter().map(|(x, e)| (*x, y(e.ln.exp()))).collect();
        picture.line(&points, 'a', false);
        for (x, y) in points {
            picture.dot(x, y, 'a', false);
        }
    }
    picture.finish()
}
