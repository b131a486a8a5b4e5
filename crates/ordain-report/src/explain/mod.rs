//! What each kind of finding means, why tests miss it, and what to do about it: for `ordain explain`, for the rules of
//! SARIF, and for the page `docs/findings.md`, which is made of it.

mod failed;
mod memory;
mod stuck;

use crate::kind::Kind;
use std::fmt::Write as _;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// How wide the lines of the page are.
const PAGE_WIDTH: usize = 110;

/// A kind of finding, explained. Paragraphs are separated by an empty line; words of code are in backticks.
#[derive(Debug)]
pub struct Explanation {
    /// What is explained.
    pub kind: Kind,
    /// Its name as a heading.
    pub title: &'static str,
    /// What happened, in one line.
    pub summary: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Why a usual test does not show it.
    pub missed: &'static str,
    /// Where it typically comes from, one thing each.
    pub causes: &'static [&'static str],
    /// How to read the report of it.
    pub reading: &'static str,
    /// How to fix it.
    pub fixes: &'static [&'static str],
    /// Fixes in code.
    pub examples: &'static [Example],
    /// Limits, and options that have to do with it, one thing each.
    pub notes: &'static [&'static str],
    /// Kinds that are like it.
    pub see_also: &'static [Kind],
}

/// Code that is wrong, and code that is right.
#[derive(Debug)]
pub struct Example {
    /// What it is written in, as Markdown calls it.
    pub language: &'static str,
    /// The code that leads to the finding.
    pub before: &'static str,
    /// The code that does not.
    pub after: &'static str,
}

/// Everything about a kind.
pub fn explain(kind: Kind) -> &'static Explanation {
    match kind {
        Kind::Deadlock => &stuck::DEADLOCK,
        Kind::Hang => &stuck::HANG,
        Kind::Livelock => &stuck::LIVELOCK,
        Kind::StepLimit => &stuck::STEP_LIMIT,
        Kind::LockHeldAtExit => &stuck::LOCK_HELD_AT_EXIT,
        Kind::Panic => &failed::PANIC,
        Kind::Assertion => &failed::ASSERTION,
        Kind::Crash => &failed::CRASH,
        Kind::Abort => &failed::ABORT,
        Kind::ExitStatus => &failed::EXIT_STATUS,
        Kind::Misuse => &failed::MISUSE,
        Kind::DataRace => &memory::DATA_RACE,
        Kind::Output => &memory::OUTPUT,
        Kind::Nondeterminism => &memory::NONDETERMINISM,
    }
}

/// The code of a kind, as SARIF has it: `ORDAIN-DATA-RACE`.
pub fn code(kind: Kind) -> String {
    format!("ORDAIN-{}", kind.name().to_ascii_uppercase())
}

/// The kind that a person means: its word, its title or its code, in upper or lower case, with `-`, `_` or spaces.
pub fn by_code(text: &str) -> Option<Kind> {
    let word = as_word(text);
    Kind::by_name(&word).or_else(|| Kind::by_name(word.strip_prefix("ordain-")?))
}

/// The text as the word of a kind would be written.
pub fn as_word(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == '-' || c == '_').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

impl Explanation {
    /// As text for a terminal, no line wider than `width` as far as words and code allow.
    pub fn wrapped(&self, width: usize) -> String {
        let mut text = format!("{} ({})\n\n", self.title, code(self.kind));
        paragraphs(&mut text, self.summary, width);
        for (title, parts) in self.sections() {
            let _ = write!(text, "\n{}\n", title.to_uppercase());
            for part in parts {
                match part {
                    Part::Text(part) => paragraphs(&mut text, part, width),
                    Part::Item(part) => item(&mut text, part, width),
                    Part::Code { caption, code, .. } => {
                        let _ = write!(text, "\n  {caption}:\n");
                        for line in code.lines() {
                            let _ = writeln!(text, "{}", format!("    {line}").trim_end());
                        }
                    }
                }
            }
        }
        if !self.see_also.is_empty() {
            let others: Vec<String> =
                self.see_also.iter().map(|kind| format!("ordain explain {}", kind.name())).collect();
            let _ = write!(text, "\nSEE ALSO\n");
            paragraphs(&mut text, &others.join(", "), width);
        }
        text
    }

    /// As text in which only paragraphs end lines.
    pub fn text(&self) -> String {
        self.wrapped(usize::MAX)
    }

    /// As Markdown, without its title.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        paragraphs(&mut text, self.summary, PAGE_WIDTH);
        for (title, parts) in self.sections() {
            let _ = write!(text, "\n**{title}**\n\n");
            let mut items = false;
            for part in parts {
                match part {
                    Part::Text(part) => paragraphs(&mut text, part, PAGE_WIDTH),
                    Part::Item(part) => {
                        items = true;
                        item(&mut text, part, PAGE_WIDTH);
                    }
                    Part::Code { caption, language, code } => {
                        if items || !text.ends_with("\n\n") {
                            text.push('\n');
                        }
                        items = false;
                        let _ = write!(text, "{caption}:\n\n```{language}\n{}\n```\n", code.trim_end());
                    }
                }
            }
        }
        if !self.see_also.is_empty() {
            let links: Vec<String> =
                self.see_also.iter().map(|kind| format!("[{}](#{})", kind.title(), kind.name())).collect();
            let _ = write!(text, "\nSee also: {}.\n", links.join(", "));
        }
        text
    }

    fn sections(&self) -> Vec<(&'static str, Vec<Part>)> {
        let items = |list: &'static [&'static str]| list.iter().map(|text| Part::Item(text)).collect::<Vec<_>>();
        let mut fixes = items(self.fixes);
        for example in self.examples {
            let name = if example.language == "rust" { "Rust" } else { "C" };
            for (when, code) in [("before", example.before), ("after", example.after)] {
                let caption = format!("{name}, {when}");
                fixes.push(Part::Code { caption, language: example.language, code });
            }
        }
        vec![
            ("What it means", vec![Part::Text(self.meaning)]),
            ("Why tests miss it", vec![Part::Text(self.missed)]),
            ("Typical causes", items(self.causes)),
            ("How to read the report", vec![Part::Text(self.reading)]),
            ("How to fix it", fixes),
            ("Limits and options", items(self.notes)),
        ]
    }
}

enum Part {
    Text(&'static str),
    Item(&'static str),
    Code { caption: String, language: &'static str, code: &'static str },
}

/// Lines that do not depend on which features of the wrapping crate others have turned on.
fn options<'a>(width: usize) -> Options<'a> {
    Options::new(width)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false)
}

fn paragraphs(out: &mut String, text: &str, width: usize) {
    for (index, paragraph) in text.split("\n\n").enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&textwrap::fill(paragraph, options(width)));
        out.push('\n');
    }
}

fn item(out: &mut String, text: &str, width: usize) {
    out.push_str(&textwrap::fill(text, options(width).initial_indent("- ").subsequent_indent("  ")));
    out.push('\n');
}

/// The page of all kinds.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Findings\n\n\
         What each kind of finding means, why tests miss it, how to read Ordain's report of it and how to fix it. `ordain\n\
         explain KIND` prints the same in the terminal. This page is made from the text in `crates/ordain-report`; change it\n\
         there.\n\n\
         | finding | code | what happened |\n|---|---|---|\n",
    );
    for kind in Kind::ALL {
        let _ =
            writeln!(page, "| [{}](#{}) | `{}` | {} |", kind.title(), kind.name(), code(kind), explain(kind).summary);
    }
    for kind in Kind::ALL {
        let _ = write!(page, "\n## {}\n\n{}", explain(kind).title, explain(kind).markdown());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_all_parts() {
        for kind in Kind::ALL {
            let it = explain(kind);
            assert_eq!(it.kind, kind);
            for text in [it.title, it.summary, it.meaning, it.missed, it.reading] {
                assert!(!text.trim().is_empty() && text.trim() == text, "{kind}: {text:?}");
            }
            for list in [it.causes, it.fixes, it.notes] {
                assert!(!list.is_empty(), "{kind}");
                assert!(list.iter().all(|text| !text.is_empty() && text.trim() == *text), "{kind}: {list:?}");
            }
            assert!(!it.see_also.is_empty() && !it.see_also.contains(&kind), "{kind}");
            assert!(!it.summary.contains('\n') && it.summary.len() <= 100, "{kind}: {}", it.summary);
            for example in it.examples {
                assert!(["c", "rust"].contains(&example.language), "{kind}");
                assert!(!example.before.is_empty() && !example.after.is_empty() && example.before != example.after);
            }
        }
    }

    #[test]
    fn anchors_are_the_words() {
        for kind in Kind::ALL {
            assert_eq!(as_word(explain(kind).title), kind.name());
        }
    }

    #[test]
    fn backticks_come_in_pairs() {
        for kind in Kind::ALL {
            let it = explain(kind);
            let lists = it.causes.iter().chain(it.fixes).chain(it.notes).copied();
            for text in [it.summary, it.meaning, it.missed, it.reading].into_iter().chain(lists) {
                assert_eq!(text.matches('`').count() % 2, 0, "{kind}: {text}");
            }
        }
    }

    #[test]
    fn kinds_are_found_however_they_are_written() {
        for kind in Kind::ALL {
            for text in [code(kind), code(kind).to_lowercase(), kind.name().to_uppercase(), kind.title().to_owned()] {
                assert_eq!(by_code(&text), Some(kind), "{text}");
                assert_eq!(by_code(&format!("  {} ", text.replace('-', " "))), Some(kind), "{text}");
                assert_eq!(by_code(&text.replace('-', "_")), Some(kind), "{text}");
            }
        }
        for text in ["", "ordain", "ordain-", "race", "ordain-ordain-hang"] {
            assert_eq!(by_code(text), None, "{text}");
        }
    }

    #[test]
    fn lines_are_no_wider_than_asked() {
        for kind in Kind::ALL {
            for line in explain(kind).wrapped(72).lines() {
                // Code is not wrapped.
                assert!(line.starts_with("    ") || line.chars().count() <= 72, "{kind}: {line}");
            }
        }
    }
}
