//! The report for people who want to look around: one HTML file with everything in it.
//!
//! The page is a fixed text, style and script; the run is data inside it. Names, source lines and outputs come from the
//! program under test and may be made to harm, so they never become markup: the run is JSON in a block that no browser
//! executes, the script puts it into the page as text only, and a policy with the hashes of the style and the script lets
//! the browser run and load nothing else.

use crate::explain::explain;
use crate::run::Run;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

const STYLE: &str = include_str!("html/report.css");

/// In the order in which they need each other; the last one begins to work.
const SCRIPTS: [&str; 11] = [
    include_str!("html/dom.js"),
    include_str!("html/summary.js"),
    include_str!("html/timeline-model.js"),
    include_str!("html/timeline-draw.js"),
    include_str!("html/source.js"),
    include_str!("html/timeline.js"),
    include_str!("html/waiting.js"),
    include_str!("html/findings.js"),
    include_str!("html/tree.js"),
    include_str!("html/progress.js"),
    include_str!("html/report.js"),
];

/// Two threads that cross.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath \
                    d='M4 1v3c0 4 8 4 8 8v3M12 1v3c0 4-8 4-8 8v3' fill='none' stroke='%230072b2' \
                    stroke-width='2.5'/%3E%3C/svg%3E";

/// The run as an HTML page that needs nothing but itself.
pub fn render(run: &Run) -> String {
    // Browsers hash what is left after they have made all line ends one.
    let style = STYLE.replace('\r', "");
    let script = format!("\"use strict\";\n{{\n{}}}\n", SCRIPTS.concat().replace('\r', ""));
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        source_hash(&style),
        source_hash(&script),
    );
    let findings: String =
        run.findings.iter().map(|story| format!("<li>{}: {}</li>", story.kind, markup(&story.headline))).collect();
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{verdict}: {program} – Ordain</title>
<link rel="icon" href="{ICON}">
<style>{style}</style>
</head>
<body>
<noscript><h1>{verdict}</h1><p>{meaning}</p><p>{program}</p><ul>{findings}</ul><p>The whole report needs JavaScript; it
loads nothing from anywhere.</p></noscript>
<script type="application/json" id="run">{data}</script>
<script type="application/json" id="kinds">{kinds}</script>
<script>{script}</script>
</body>
</html>
"#,
        verdict = run.verdict.name(),
        meaning = markup(&run.meaning),
        program = markup(&run.program),
        data = json(run),
        kinds =
            json(&run.findings.iter().map(|s| (s.kind.name(), explain(s.kind).summary)).collect::<BTreeMap<_, _>>()),
    )
}

/// The run, or what goes with it, as JSON that can stand inside a script element: nothing in it ends the element or begins a comment.
fn json<T: Serialize>(run: &T) -> String {
    // A record of numbers, strings and lists cannot fail to be written; the page says so if it does all the same.
    let text = serde_json::to_string(run).unwrap_or_else(|_| "null".to_owned());
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Text as markup that shows it: nothing in it is an element, and nothing in it is unseen or turns its neighbours around.
fn markup(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {
                shown.push('\u{fffd}');
            }
            other if other.is_control() && other != '\n' && other != '\t' => shown.push('\u{fffd}'),
            other => shown.push(other),
        }
    }
    shown
}

/// What a policy calls a text that it allows.
fn source_hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_style_or_the_script_early() {
        assert!(!STYLE.contains("</"));
        let script = SCRIPTS.concat();
        assert!(!script.to_lowercase().contains("</script") && !script.contains("<!--"));
    }

    #[test]
    fn the_script_has_no_way_to_make_markup_or_code_of_text() {
        let script = SCRIPTS.concat();
        for forbidden in
            ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "srcdoc", "href:"]
        {
            let uses = script.matches(forbidden).count();
            let allowed = if forbidden == "href:" { 2 } else { 0 };
            assert_eq!(uses, allowed, "{forbidden}");
        }
    }

    #[test]
    fn markup_shows_what_would_be_elements_or_unseen() {
        assert_eq!(markup("<b a=\"'\">&\u{202e}\u{1b}"), "&lt;b a=&quot;&#39;&quot;&gt;&amp;\u{fffd}\u{fffd}");
    }

    #[test]
    fn hashes_are_what_browsers_compute() {
        assert_eq!(source_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
