//! The HTML report as text: one file, whole, safe whatever is in the run.

mod pages;

use ordain_report::{Run, html};
use pages::{HOSTILE, deadlock, hostile, long, output_difference, philosophers, race, run};

/// The run that a page carries, read back as a browser reads it.
fn carried(page: &str) -> Run {
    let start = page.find("id=\"run\">").expect("the data") + "id=\"run\">".len();
    let end = start + page[start..].find("</script>").expect("the end of the data");
    serde_json::from_str(&page[start..end]).expect("a run")
}

#[test]
fn every_run_survives_in_its_page() {
    let mut verified = run(Vec::new());
    verified.estimate = None;
    verified.exhausted = true;
    for run in [
        run(vec![deadlock(), race(), output_difference()]),
        run(Vec::new()),
        verified,
        run(vec![hostile()]),
        run(vec![philosophers(40), long(10_000)]),
    ] {
        assert!(carried(&html::render(&run)) == run, "{}", run.meaning);
    }
}

#[test]
fn hostile_text_is_never_markup() {
    let mut run = run(vec![hostile()]);
    for text in [&mut run.program, &mut run.meaning, &mut run.strategy] {
        *text = HOSTILE.to_owned();
    }
    run.notes = vec![HOSTILE.into()];
    run.path[0].taken = HOSTILE.to_owned();
    let page = html::render(&run);
    let harmless = html::render(&pages::run(Vec::new()));
    for tag in ["<script", "</script", "<img", "<!--", "onerror=\""] {
        assert_eq!(page.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
    }
    let title = &page[page.find("<title>").expect("a title")..page.find("</title>").expect("its end")];
    assert!(title.contains("&lt;/script&gt;") && !title.contains('\u{202e}') && !title.contains('\u{1b}'), "{title}");
}

#[test]
fn the_policy_allows_the_page_itself_and_nothing_else() {
    let page = html::render(&run(Vec::new()));
    let policy = page.find("Content-Security-Policy").expect("a policy");
    assert!(page[policy..].starts_with("Content-Security-Policy\" content=\"default-src 'none';"));
    assert!(policy < page.find("<style>").expect("a style"), "the policy comes before what it is about");
    assert!(!page.contains("unsafe-inline") && !page.contains("unsafe-eval"));
    for outside in [" src=", "@import", "url(http", "//cdn"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_page_is_the_same_each_time() {
    let run = run(vec![deadlock()]);
    assert_eq!(html::render(&run), html::render(&run));
}

#[test]
fn without_scripts_the_verdict_is_told() {
    let page = html::render(&run(vec![deadlock()]));
    let told = &page[page.find("<noscript>").expect("a text")..page.find("</noscript>").expect("its end")];
    assert!(told.contains("<h1>finding</h1>"));
    assert!(told.contains("<li>deadlock: main.1 and main.2 wait for each other&#39;s locks</li>"), "{told}");
}
