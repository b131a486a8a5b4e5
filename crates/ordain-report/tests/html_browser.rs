//! The HTML report in a real browser: what is shown, and what clicks and keys do.
//!
//! Needs Chromium, which `scripts/setup` installs. Pages and pictures stay in the temporary directory of the target
//! directory, for whoever wants to see what the tests saw.

#[path = "pages/browser.rs"]
mod browser;
mod pages;

use browser::Browser;
use ordain_report::{Excerpt, Run, html};
use pages::{deadlock, hostile, long, output_difference, philosophers, race, run};
use serde_json::json;
use std::path::{Path, PathBuf};

const WIDE: (u32, u32) = (1280, 900);
const NARROW: (u32, u32) = (360, 740);
const VIEW: &str = "document.querySelector('.view')";
const SELECTED: &str = "document.querySelector('.row[aria-selected=true] .what')?.textContent ?? 'none'";
const DETAIL: &str = "document.querySelector('.detail').innerText";
const CANVAS: &str = "document.querySelector('.view canvas').toDataURL()";
/// Boxes of the cycle that lie on each other.
const OVERLAPS: &str = "[...document.querySelectorAll('svg.cycle rect')].map((e) => e.getBoundingClientRect()).flatMap((a, k, all) => \
                        all.slice(k + 1).filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)\
                        .map((b) => [a.x, a.y, b.x, b.y]))";

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A browser that shows a run in a light window of this size.
fn shown(name: &str, run: &Run, (width, height): (u32, u32)) -> Browser {
    let file = kept(&format!("{name}.html"));
    std::fs::write(&file, html::render(run)).expect("a place for the page");
    let mut browser = Browser::start();
    browser.emulate("light", "");
    browser.open(&file, width, height);
    browser
}

/// Nothing was complained about, nothing was asked for besides the page, and the page is not wider than its window.
fn is_clean(mut browser: Browser) {
    let wide = browser.eval("[document.documentElement.scrollWidth, innerWidth]");
    assert_eq!(wide[0], wide[1], "the page scrolls sideways");
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
    let outside: Vec<_> =
        browser.requests.iter().filter(|url| !url.starts_with("file://") && !url.starts_with("data:")).collect();
    assert!(outside.is_empty() && browser.requests.len() == 1, "{:?}", browser.requests);
}

#[test]
fn the_summary_says_what_the_check_came_to() {
    let mut browser = shown("summary", &run(Vec::new()), WIDE);
    assert_eq!(browser.text("document.querySelector('h1').textContent"), "no finding");
    let summary = browser.text("document.getElementById('summary').innerText");
    for part in ["nothing was found", "./bank --accounts 2"] {
        assert!(summary.contains(part), "{part} in {summary}");
    }
    // The figures are at the end, and folded.
    assert_eq!(browser.text("document.querySelector('main > section:last-child').id"), "figures");
    assert_eq!(browser.eval("document.querySelector('#figures details').open"), json!(false));
    browser.click("#figures summary");
    let figures = browser.text("document.getElementById('figures').innerText");
    for part in ["48,211", "4,592 / s", "snapshot", "optimal", "61 steps"] {
        assert!(figures.contains(part), "{part} in {figures}");
    }
    assert!(summary.contains("About 6.43 % explored, of about 750,000 executions"), "{summary}");
    assert!(figures.contains("97 % busy, 153 fragments, 1 given to another worker"), "{figures}");
    let warnings = browser.eval("[...document.querySelectorAll('.notes .warning')].map((e) => e.textContent)");
    assert_eq!(warnings, json!(["Warning the program asks for the time of day, which no schedule decides"]));
    assert_eq!(browser.number("document.querySelectorAll('.notes li').length"), 2.0);

    // The tree: straight parts folded, what is left open; buttons open and close all.
    assert_eq!(
        browser.eval("[...document.querySelectorAll('.state[open] > summary code')].map((e) => e.textContent)"),
        json!(["main.1 lock bob.lock", "main.2 lock bob.lock"])
    );
    assert_eq!(browser.number("document.querySelectorAll('.tree li.left').length"), 3.0);
    assert_eq!(browser.number("document.querySelectorAll('.tree li.explored').length"), 2.0);
    browser.click("#exploration .buttons button:last-child");
    assert_eq!(browser.number("document.querySelectorAll('.state[open]').length"), 0.0);
    browser.click(".state.straight summary");
    browser.wait("document.querySelectorAll('.state.straight li').length === 2");

    // The curve, and the same as a table.
    for part in ["path.executions", "path.estimate", "path.interval", ".tick"] {
        assert!(
            browser.number(&format!("document.querySelectorAll('#progress svg.curve {part}').length")) > 0.0,
            "{part}"
        );
    }
    browser.click("#progress details summary");
    let table = browser.text("document.querySelector('#progress table').innerText");
    assert!(table.contains("9.75 s\t45,641\t0\t"), "{table}");
    browser.picture(&kept("summary.png"));
    is_clean(browser);
}

#[test]
fn a_deadlock_is_told_as_cycle_table_and_timeline() {
    let mut browser = shown("deadlock", &run(vec![deadlock(), race(), output_difference()]), WIDE);
    assert_eq!(
        browser.eval(
            "[...document.querySelectorAll('svg.cycle g.thread, svg.cycle g.lock')].map((e) => e.lastChild.textContent)"
        ),
        json!(["main.1 “payer”", "B  bob.lock", "main.2 “refund”", "A  alice.lock"])
    );
    assert_eq!(browser.number("document.querySelectorAll('svg.cycle .edge.waits').length"), 2.0);
    assert_eq!(browser.number("document.querySelectorAll('svg.cycle .edge.holds').length"), 2.0);
    assert_eq!(browser.number("document.querySelectorAll('.waiting tbody tr').length"), 3.0);
    assert_eq!(
        browser.text("document.querySelector('.replay code').textContent"),
        "ordain replay /home/user/bank/.ordain/finding-1.schedule"
    );
    let size = browser.text("document.querySelector('.size').innerText");
    assert!(size.contains("Preemptions\t7\t1") && size.contains("No schedule with fewer preemptions"), "{size}");
    browser.click(".replay button");
    browser.wait("document.querySelector('.replay button').textContent !== 'Copy'");
    browser.picture(&kept("deadlock-light.png"));

    // Only what matters at first: four steps, two gaps, three waits; then all.
    assert_eq!(browser.text(&format!("{VIEW}.dataset.rows")), "9");
    assert!(browser.text("document.querySelector('.rows').innerText").contains("1 preemption among them"));
    browser.click("[data-focused=false]");
    assert_eq!(browser.text(&format!("{VIEW}.dataset.rows")), "15");
    assert!(browser.text("document.querySelector('.rows').innerText").contains("preempts payer"));

    // A click selects a step; its details, its source line and what came before it are told.
    browser.click("#event-9");
    assert_eq!(browser.text(SELECTED), "refund lock log ");
    let detail = browser.text(DETAIL);
    assert!(detail.contains("Step 9 (12 in all)") && detail.contains("6 main.1 “payer”: unlock log"), "{detail}");
    assert_eq!(
        browser.text("document.querySelector('.source .current').textContent"),
        "12    pthread_mutex_lock(&log);"
    );
    browser.click(".detail button.link");
    assert_eq!(browser.text(SELECTED), "payer unlock log ");

    // Dark, by the system and by the button.
    let light = browser.text("getComputedStyle(document.body).backgroundColor");
    let drawn = browser.text(CANVAS);
    browser.emulate("dark", "");
    assert_ne!(browser.text("getComputedStyle(document.body).backgroundColor"), light);
    browser.wait(&format!("{CANVAS} !== {}", json!(drawn)));
    browser.picture(&kept("deadlock-dark.png"));
    browser.click(".theme");
    assert_eq!(browser.text("document.querySelector('.theme').textContent"), "Colours: light");
    assert_eq!(browser.text("getComputedStyle(document.body).backgroundColor"), light);
    browser.emulate("light", "");
    browser.click(".theme");
    assert_ne!(browser.text("getComputedStyle(document.body).backgroundColor"), light);
    is_clean(browser);
}

#[test]
fn a_finding_begins_with_its_story() {
    let mut story = deadlock();
    let lines =
        ["void transfer(void)", "{", "    if (ready)", "\tpthread_mutex_lock(&log);", "}"].map(str::to_owned).to_vec();
    let file = story.steps.iter().find_map(|step| Some(step.place.as_ref()?.file.clone())).expect("a place");
    story.sources = vec![Excerpt { file, line: 9, lines }];
    let mut browser = shown("story", &run(vec![story]), WIDE);
    let parts =
        "[...document.querySelectorAll('article.finding > *')].map((e) => e.classList[0] ?? e.tagName.toLowerCase())";
    assert_eq!(browser.eval(parts), json!(["header", "details", "waiting", "timeline", "replay", "columns"]));
    assert!(browser.text("document.querySelector('.explanation').textContent").contains("none of them can go on"));

    // The timeline is where the bug begins: at the first step that is shown from the first preemption on.
    let begins = browser.text(SELECTED);
    browser.click("[data-focused=false]");
    browser.eval(&format!("{VIEW}.focus()"));
    browser.press("Home");
    browser.press("p");
    assert_eq!(browser.text(SELECTED), "refund start preempts payer");
    assert!(begins.starts_with("refund "), "{begins}");

    // The source has its indentation, and lines that are no places of steps.
    let shown = browser.eval("[...document.querySelectorAll('.source .l')].map((e) => e.textContent)");
    let shown: Vec<&str> = shown.as_array().expect("lines").iter().filter_map(|line| line.as_str()).collect();
    for line in ["9void transfer(void)", "11    if (ready)", "12\tpthread_mutex_lock(&log);"] {
        assert!(shown.contains(&line), "{line} in {shown:?}");
    }
    is_clean(browser);
}

#[test]
fn heads_of_narrow_columns_are_read_without_turning_ones_own() {
    let mut browser = shown("heads", &run(vec![deadlock()]), NARROW);
    let modes =
        "[...new Set([...document.querySelectorAll('.heads span')].map((e) => getComputedStyle(e).writingMode))]";
    assert_eq!(browser.eval(modes), json!(["horizontal-tb"]));
    let cut = "[...document.querySelectorAll('.heads span')].filter((e) => e.scrollWidth > e.clientWidth).length";
    assert_eq!(browser.number(cut), 0.0);
    browser.picture(&kept("heads.png"));
    is_clean(browser);
}

#[test]
fn keys_lead_through_the_timeline() {
    let mut browser = shown("keys", &run(vec![deadlock()]), WIDE);
    browser.click("[data-focused=false]");
    browser.eval(&format!("{VIEW}.focus()"));
    browser.press("Home");
    assert_eq!(browser.text(SELECTED), "main spawn main.1 ");
    for (key, expected) in [
        ("j", "main spawn main.2 "),
        ("ArrowDown", "main lock log "),
        ("k", "main spawn main.2 "),
        ("p", "refund start preempts payer"),
        ("ArrowRight", "refund lock log "),
        ("ArrowLeft", "refund start preempts payer"),
        ("End", "refund lock alice.lock waits for ever"),
        ("ArrowUp", "payer lock bob.lock waits for ever"),
        ("P", "refund start preempts payer"),
    ] {
        browser.press(key);
        assert_eq!(browser.text(SELECTED), expected, "after {key}");
        assert_eq!(
            browser
                .text(&format!("document.getElementById({VIEW}.getAttribute('aria-activedescendant')).ariaSelected")),
            "true"
        );
    }
    let row = format!("Number({VIEW}.dataset.row)");
    let usual = browser.number(&row);
    browser.press("+");
    let larger = browser.number(&row);
    assert!(larger > usual);
    browser.press("-");
    browser.press("-");
    assert!(browser.number(&row) < usual);
    browser.press("0");
    browser.press("Home");
    browser.press("Enter");
    assert_eq!(
        browser.text("document.activeElement.textContent"),
        "41    pthread_create(&t[i], NULL, transfer, &jobs[i]);"
    );
    browser.press("Escape");
    assert_eq!(browser.text("document.activeElement.className"), "view");

    // With the Tab key alone every control of the timeline is reached, and one sees where one is.
    browser.eval("document.querySelector('.toolbar button:not(:disabled)').focus()");
    let mut reached = Vec::new();
    for _ in 0..16 {
        browser.press("Tab");
        reached.push(browser.text(
            "(document.activeElement.ariaLabel ?? document.activeElement.innerText) + '|' + getComputedStyle(document.activeElement).outlineStyle",
        ));
    }
    for control in ["Zoom in|solid", "Show everything|solid", "Steps in order|solid"] {
        assert!(reached.iter().any(|name| name == control), "{control} in {reached:?}");
    }
    is_clean(browser);
}

#[test]
fn filters_show_threads_and_objects() {
    let mut browser = shown("filters", &run(vec![deadlock()]), WIDE);
    browser.click("[data-focused=false]");
    let before = browser.text(CANVAS);
    browser.click(".chips .chip[data-object='2']");
    assert_eq!(
        browser.text("document.querySelector('.status').textContent"),
        "12 of 12 steps shown · log: 6 steps, held 3 times"
    );
    let bright = browser.eval("[...document.querySelectorAll('.row:not(.dim) .num')].map((e) => e.textContent).sort()");
    assert_eq!(bright, json!(["10", "2", "3", "5", "6", "9"]));
    assert_ne!(browser.text(CANVAS), before, "the drawing shows it too");
    browser.eval(&format!("{VIEW}.focus()"));
    browser.press("Home");
    browser.press("n");
    assert_eq!(browser.text(SELECTED), "main lock log ");
    browser.click(".chips .chip[data-object='2']");
    assert_eq!(browser.number("document.querySelectorAll('.row.dim').length"), 0.0);

    browser.click(".chip[data-thread='2']");
    assert_eq!(browser.text("document.querySelector('.chip[data-thread=\"2\"]').ariaPressed"), "true");
    assert_eq!(browser.text(&format!("{VIEW}.dataset.rows")), "5");
    assert_eq!(
        browser.eval("[...new Set([...document.querySelectorAll('.row .who')].map((e) => e.textContent))]"),
        json!(["refund"])
    );
    browser.click(".chip[data-thread='1']");
    assert_eq!(browser.text(&format!("{VIEW}.dataset.rows")), "10");

    // What is asked for by name is shown whatever the filters say.
    browser.click("#event-5");
    browser.click(".detail button.link");
    assert_eq!(browser.text(SELECTED), "main unlock log ");
    assert_eq!(browser.text(&format!("{VIEW}.dataset.rows")), "15");

    let arrows = browser.text(CANVAS);
    browser.click(".toolbar input");
    assert_ne!(browser.text(CANVAS), arrows, "without arrows");
    is_clean(browser);
}

#[test]
fn findings_are_switched_between() {
    let mut browser = shown("switch", &run(vec![deadlock(), race(), output_difference()]), WIDE);
    browser.click("nav.findings li:nth-child(2) button");
    assert_eq!(browser.text("document.querySelector('article').dataset.finding"), "1");
    assert_eq!(browser.text("document.querySelector('nav.findings [aria-current]').innerText.split('\\n')[0]"), "2");
    assert_eq!(browser.number("document.querySelectorAll('.race .card').length"), 2.0);
    let cards = browser.text("document.querySelector('.race').innerText");
    for part in ["main writes", "main.1 reads", "counter.set(counter.get() + 1);", "after 3 steps"] {
        assert!(cards.contains(part), "{part} in {cards}");
    }
    browser.click(".race .card:first-child .small");
    assert_eq!(browser.text(SELECTED), "main write counter races");
    assert!(browser.text("document.querySelector('.source .current').textContent").starts_with("16 "));
    browser.picture(&kept("race.png"));

    browser.click("nav.findings li:nth-child(3) button");
    assert_eq!(
        browser.eval("[...document.querySelectorAll('.output .first mark')].map((e) => e.textContent)"),
        json!(["20", "35"])
    );
    assert!(browser.text("document.querySelector('.outputs').innerText").contains("first differs in line 2"));
    assert_eq!(browser.number("document.querySelectorAll('.replay').length"), 0.0);
    browser.picture(&kept("output.png"));
    is_clean(browser);
}

#[test]
fn ten_thousand_steps_are_drawn_as_far_as_they_are_seen() {
    let mut browser = shown("long", &run(vec![long(10_000)]), WIDE);
    browser.click("[data-focused=false]");
    assert_eq!(browser.text(&format!("{VIEW}.dataset.rows")), "10000");
    assert!(browser.number("document.querySelectorAll('.row').length") < 40.0);
    browser.eval(&format!("{VIEW}.focus()"));
    browser.press("End");
    assert_eq!(browser.text(SELECTED), "main.5 unlock shard[1].lock ");
    browser.press("Home");
    assert_eq!(browser.number(&format!("{VIEW}.scrollTop")), 0.0);
    browser.press("PageDown");
    assert_eq!(browser.text("document.querySelector('.row[aria-selected=true] .num').textContent"), "18");
    let row = format!("Number({VIEW}.dataset.row)");
    browser.wheel_with_control(".view", 300.0);
    browser.wait(&format!("{row} < 20"));
    browser.click("[aria-label='Show everything']");
    assert!(browser.number(&row) < 0.1, "all of it in one window");
    assert_eq!(browser.number("document.querySelectorAll('.row').length"), 1.0);
    browser.picture(&kept("long.png"));
    browser.click(".view");
    let chosen: f64 = browser.number("Number(document.querySelector('.row[aria-selected=true] .num').textContent)");
    assert!((4_000.0..6_000.0).contains(&chosen), "a click in the middle chose {chosen}");
    for _ in 0..30 {
        browser.press("+");
    }
    assert_eq!(browser.number("Number(document.querySelector('.row[aria-selected=true] .num').textContent)"), chosen);
    assert!(browser.number("document.querySelectorAll('.row').length") < 40.0);
    is_clean(browser);
}

#[test]
fn hostile_text_is_shown_and_does_nothing() {
    let mut run = run(vec![hostile()]);
    run.program = pages::HOSTILE.to_owned();
    run.meaning = pages::HOSTILE.to_owned();
    run.path[0].taken = pages::HOSTILE.to_owned();
    run.estimate =
        Some(ordain_report::Estimate { log10: f64::NAN, low: f64::NEG_INFINITY, high: f64::INFINITY, done: 0 });
    let mut browser = shown("hostile", &run, WIDE);
    for (name, (width, height)) in [("wide", WIDE), ("narrow", NARROW)] {
        browser.resize(width, height);
        browser.click("[data-focused=false]");
        browser.eval(&format!("{VIEW}.focus()"));
        for key in ["Home", "j", "j", "End", "k", "Enter"] {
            browser.press(key);
        }
        assert!(browser.text("document.title").ends_with("– Ordain"));
        assert_eq!(browser.number("document.querySelectorAll('img, main script, iframe').length"), 0.0);
        let text = browser.text("document.querySelector('main').textContent");
        assert!(text.contains("</script><script>document.title=") && text.contains("‹U+202E›evil␛[31m␀"), "{text}");
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'));
        let command = browser.text("document.querySelector('.replay code').textContent");
        assert!(
            command.starts_with("ordain replay $'./-rf \\'$(reboot)\\' ") && command.contains("\\x1b[31m\\x00'"),
            "{command}"
        );
        assert_eq!(browser.number("document.documentElement.scrollWidth"), f64::from(width));
        browser.picture(&kept(&format!("hostile-{name}.png")));
    }
    is_clean(browser);
}

#[test]
fn narrow_windows_and_paper_show_everything_too() {
    let mut browser = shown(
        "narrow",
        &run(vec![deadlock(), race(), output_difference(), philosophers(1), philosophers(7), philosophers(40)]),
        NARROW,
    );
    for number in 1..=6 {
        browser.click(&format!("nav.findings li:nth-child({number}) button"));
        assert_eq!(browser.text("document.documentElement.scrollWidth"), "360", "finding {number}");
        assert_eq!(browser.eval(OVERLAPS), json!([]), "boxes of finding {number}");
    }
    assert!(browser.text("document.querySelector('.waiting').innerText").contains("40 threads wait for each other"));
    browser.click("nav.findings li:nth-child(1) button");
    browser.click("[data-focused=false]");
    browser.click("#event-11");
    assert!(browser.text(SELECTED).contains("lock bob.lock"));
    assert!(browser.text(DETAIL).contains("Step 11"));
    browser.click(".chip[data-object='0']");
    browser.click("[aria-label='Zoom in']");
    assert!(browser.number(&format!("Number({VIEW}.dataset.row)")) > 30.0);
    browser.picture(&kept("narrow.png"));

    browser.resize(WIDE.0, WIDE.1);
    browser.wait("document.querySelector('svg.cycle').clientWidth > 400");
    browser.emulate("light", "print");
    browser.eval("window.dispatchEvent(new Event('beforeprint'))");
    let paper = browser.text("document.querySelector('.print-only').innerText");
    assert!(
        paper.contains("refund”: start (preemption)") && paper.contains("lock alice.lock (waits for ever)"),
        "{paper}"
    );
    assert_eq!(browser.text("getComputedStyle(document.querySelector('.board')).display"), "none");
    browser.picture(&kept("paper.png"));
    browser.emulate("light", "");
    browser.eval("window.dispatchEvent(new Event('afterprint'))");
    assert!(browser.text(SELECTED).contains("lock bob.lock"), "after printing the timeline is as it was");
    is_clean(browser);
}
