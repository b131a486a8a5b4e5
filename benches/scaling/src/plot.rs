//! The plot of the document, as SVG that reads well on light and on dark pages.

use crate::simulate::Simulated;
use ordain_report::terminal::large;
use std::fmt::Write as _;

/// Colours by role; the second set is for dark pages.
const STYLE: &str = "<style>
:root { --page: #ffffff; --ink: #1f2430; --dim: #667085; --grid: #e4e7ec; --a: #1d6fd8; --b: #d9480f; --c: #2b8a3e; --d: #862e9c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0d1117; --ink: #e6edf3; --dim: #9aa4b2; --grid: #2a313c; --a: #58a6ff; --b: #ff922b; --c: #69db7c; --d: #da77f2; }
}
text { font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: var(--ink); }
.dim { fill: var(--dim); } .title { font-weight: 600; font-size: 14px; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: var(--grid); stroke-width: 1; } .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
</style>";

/// Efficiency by workers, one line for each workload.
pub(crate) fn efficiency(all: &[Simulated]) -> String {
    let (left, right, top, bottom) = (60.0, 600.0, 72.0, 300.0);
    let x = |workers: usize| left + (right - left) * (workers as f64).ln() / 10_000f64.ln();
    let y = |value: f64| bottom - (bottom - top) * value.min(1.0);
    let title = "Efficiency by number of simulated workers";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 350\" width=\"640\" height=\"350\" role=\"img\">\n\
         <title>{title}</title>\n{STYLE}\n<rect width=\"640\" height=\"350\" fill=\"var(--page)\"/>\n\
         <text x=\"16\" y=\"24\" class=\"title\">{title}</text>\n"
    );
    for tenth in [0.0, 0.25, 0.5, 0.75, 0.9, 1.0] {
        let y = y(tenth);
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" class=\"dim end\">{tenth}</text>", left - 8.0, y + 4.0);
    }
    let mut ticks: Vec<usize> = all.iter().map(|s| s.workers).collect();
    ticks.sort_unstable();
    ticks.dedup();
    for workers in ticks {
        let x = x(workers);
        let label = large(workers as u64);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{}\" class=\"dim middle\">{label}</text>", bottom + 18.0);
    }
    let _ = writeln!(svg, "<text x=\"330\" y=\"{}\" class=\"dim middle\">workers</text>", bottom + 38.0);
    let mut families: Vec<String> = Vec::new();
    for family in all.iter().map(|s| s.workload.family()) {
        if !families.contains(&family) {
            families.push(family);
        }
    }
    for (number, (family, colour)) in families.iter().zip(["a", "b", "c", "d"]).enumerate() {
        let at = 22.0 + 154.0 * number as f64;
        let _ = writeln!(svg, "<circle cx=\"{at}\" cy=\"46\" r=\"4\" fill=\"var(--{colour})\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"50\">{family}</text>", at + 10.0);
        let points: Vec<(f64, f64)> =
            all.iter().filter(|s| s.workload.family() == *family).map(|s| (x(s.workers), y(s.efficiency))).collect();
        let joined: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(svg, "<polyline class=\"line\" stroke=\"var(--{colour})\" points=\"{}\"/>", joined.join(" "));
        for (x, y) in points {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"var(--{colour})\"/>");
        }
    }
    svg += "</svg>\n";
    svg
}
