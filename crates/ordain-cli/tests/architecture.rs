//! The pages on how Ordain is built are true: the map of crates, the files and pages that they lead to, and the words that Ordain uses.

use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The page with the map and the words.
const PAGE: &str = "docs/architecture.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files and directories of the repository, as paths from its root; those of directories end with `/`.
fn files() -> Vec<String> {
    fn add(directory: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).expect("the directory can be read") {
            let path = entry.expect("the directory can be read").path();
            let name = path.strip_prefix(root).expect("it is in the repository").display().to_string();
            // What Cargo builds has that file in it.
            if path.join("CACHEDIR.TAG").exists() || path.ends_with(".git") {
                continue;
            }
            found.push(if path.is_dir() { name + "/" } else { name });
            if path.is_dir() {
                add(&path, root, found);
            }
        }
    }
    let mut found = Vec::new();
    add(&root(), &root(), &mut found);
    found.sort();
    found
}

/// A crate: what its manifest says of it, and which crates of Ordain it uses.
struct Package {
    description: String,
    uses: Vec<String>,
}

/// The crates of Ordain. The runtime is a workspace of its own; what is not in `crates/` only measures.
fn packages() -> BTreeMap<String, Package> {
    let mut packages = BTreeMap::new();
    for workspace in ["Cargo.toml", "crates/ordain-preload/Cargo.toml"] {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--offline", "--no-deps", "--format-version=1", "--manifest-path"]);
        let output = cargo.arg(root().join(workspace)).output().expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        for package in metadata["packages"].as_array().expect("packages") {
            if !Path::new(&text(&package["manifest_path"])).starts_with(root().join("crates")) {
                continue;
            }
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let used = dependencies.iter().filter(|d| d["kind"].is_null() && d["path"].is_string());
            let uses = used.map(|d| text(&d["name"])).collect();
            packages.insert(text(&package["name"]), Package { description: text(&package["description"]), uses });
        }
    }
    packages
}

/// How many crates are below one on the longest way down.
fn layer(name: &str, packages: &BTreeMap<String, Package>) -> usize {
    packages[name].uses.iter().map(|used| 1 + layer(used, packages)).max().unwrap_or(0)
}

/// The map of crates: each above all that it uses.
fn map() -> String {
    let packages = packages();
    let height = |name: &String| (Reverse(layer(name, &packages)), name.clone());
    let mut order: Vec<&String> = packages.keys().collect();
    order.sort_by_key(|name| height(name));
    let width = order.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut map = String::from("```text\n");
    for name in order {
        let Package { description, uses } = &packages[name];
        let _ = writeln!(map, "{name:width$}  {description}");
        let mut uses = uses.clone();
        uses.sort_by_key(height);
        if !uses.is_empty() {
            let _ = writeln!(map, "{:width$}  uses {}", "", uses.join(", "));
        }
    }
    map + "```\n"
}

#[test]
fn the_map_shows_the_crates() {
    const BEGIN: &str = "<!-- map: begin -->\n";
    const END: &str = "<!-- map: end -->\n";
    let page = read(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect("the page has a map");
    let (shown, after) = rest.split_once(END).expect("the map ends");
    let map = map();
    if std::env::var_os("ORDAIN_UPDATE_DOCS").is_some() {
        fs::write(root().join(PAGE), format!("{before}{BEGIN}{map}{END}{after}")).expect("the page can be written");
        return;
    }
    assert_eq!(shown, map, "if that is right, ORDAIN_UPDATE_DOCS=1 writes it into {PAGE}");
}

#[test]
fn the_model_and_the_search_know_no_clock_file_thread_or_process() {
    // The last one is an import of several at once.
    const IMPURE: [&str; 9] = ["time", "fs", "thread", "process", "net", "env", "io", "os", ""];
    let mut wrong = String::new();
    for file in files().iter().filter(|file| file.ends_with(".rs")) {
        if !["crates/ordain-model/src/", "crates/ordain-explore/src/"].iter().any(|pure| file.starts_with(pure)) {
            continue;
        }
        let source = read(file);
        let product = source.split("#[cfg(test)]").next().unwrap_or(&source);
        for (number, line) in product.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let after = line.split("std::").skip(1).map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_'));
            let used: Vec<&str> = after.filter_map(|mut path| path.next()).collect();
            if used.iter().any(|module| IMPURE.contains(module)) {
                let _ = writeln!(wrong, "{file}:{}: {}", number + 1, line.trim());
            }
        }
    }
    assert!(wrong.is_empty(), "these must know nothing of the system:\n{wrong}");
}

/// The lines of a page that are no code, with their numbers.
fn prose(page: &str) -> Vec<(usize, &str)> {
    let mut code = false;
    let lines = page.lines().enumerate().filter(|(_, line)| {
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence
    });
    lines.map(|(number, line)| (number + 1, line)).collect()
}

/// Whether what is in backticks is meant as a file or a directory of the repository.
fn is_path(text: &str) -> bool {
    let ends = |ends: &[&str]| ends.iter().any(|end| text.ends_with(end));
    let is_one = ends(&[".rs", ".md", ".c", ".html", ".css", ".py"])
        || text.contains('/') && ends(&["/", ".toml", ".json"])
        || ["scripts/", ".ci/", "benches/"].iter().any(|start| text.starts_with(start));
    is_one && !text.contains([' ', '<', '*'])
}

/// A path may begin anywhere: `arbiter.rs` and `ordain-model/src/arbiter.rs` are both in `crates/`.
#[test]
fn files_that_pages_name_exist() {
    let files = files();
    let pages = files.iter().filter(|f| *f == PAGE || *f == "CONTRIBUTING.md" || f.starts_with("docs/design/"));
    let mut missing = String::new();
    for page in pages.filter(|page| page.ends_with(".md")) {
        for (number, line) in prose(&read(page)) {
            for named in line.split('`').skip(1).step_by(2).filter(|text| is_path(text)) {
                if !files.iter().any(|file| file == named || file.ends_with(&format!("/{named}"))) {
                    let _ = writeln!(missing, "{page}:{number}: there is no {named}");
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing}");
}

/// The fragment of a link to a heading.
fn fragment(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let files = files();
    let pages = files.iter().filter(|f| f.ends_with(".md") && (f.starts_with("docs/") || !f.contains('/')));
    let mut wrong = String::new();
    for page in pages {
        for (number, line) in prose(&read(page)) {
            let links = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
            for link in links.filter(|link| !link.starts_with("http")) {
                let (path, wanted) = link.split_once('#').unwrap_or((link, ""));
                let here = root().join(page);
                let to = if path.is_empty() { here } else { here.with_file_name("").join(path) };
                let has = |text: &String| prose(text).iter().any(|(_, l)| l.starts_with('#') && fragment(l) == wanted);
                if !(to.exists() && (wanted.is_empty() || fs::read_to_string(&to).is_ok_and(|text| has(&text)))) {
                    let _ = writeln!(wrong, "{page}:{number}: {link}");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "these links lead nowhere:\n{wrong}");
}

/// How long the token at the beginning of Rust source is, and whether users read it: a string, or a comment that becomes documentation.
fn token(source: &str, in_name: bool) -> (usize, bool) {
    let raw = source.strip_prefix('r').filter(|_| !in_name).map(|after| (after, after.trim_start_matches('#')));
    if source.starts_with("//") {
        let documents = ["///", "//!"].iter().any(|begin| source.starts_with(begin));
        (source.find('\n').unwrap_or(source.len()), documents)
    } else if let Some((after, quote)) = raw.filter(|(_, quote)| quote.starts_with('"')) {
        let end = format!("\"{}", "#".repeat(after.len() - quote.len()));
        let begin = source.len() - quote.len() + 1;
        (begin + source[begin..].find(&end).expect("the string ends") + end.len(), true)
    } else if let Some(inside) = source.strip_prefix('"') {
        let mut escaped = false;
        let end = inside.find(|c: char| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        (end.expect("the string ends") + 2, true)
    } else if let Some(inside) = source.strip_prefix("'\\") {
        (inside[1..].find('\'').expect("the character ends") + 4, false)
    } else {
        let mut characters = source.chars();
        match (characters.next(), characters.next(), characters.next()) {
            (Some('\''), Some(quoted), Some('\'')) => (2 + quoted.len_utf8(), false),
            (first, ..) => (first.map_or(0, char::len_utf8), false),
        }
    }
}

/// What users read of a source file. The rest is blank.
fn product_text(source: &str) -> String {
    let (mut text, mut rest, mut in_name) = (String::new(), source, false);
    while let Some(first) = rest.chars().next() {
        let (length, shown) = token(rest, in_name);
        match first {
            _ if shown => text.push_str(&rest[..length].trim_start_matches('r').replace("\\n", "  ")),
            '\n' => text.push('\n'),
            _ => text.push(' '),
        }
        in_name = first.is_alphanumeric() || first == '_';
        rest = &rest[length..];
    }
    text
}

/// The words of a text, in lower case, with the numbers of their lines.
fn words(text: &str) -> Vec<(usize, String)> {
    let words = |line: &str| {
        let words = line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
        words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect::<Vec<_>>()
    };
    text.lines()
        .enumerate()
        .flat_map(|(number, line)| words(line).into_iter().map(move |word| (number + 1, word)))
        .collect()
}

/// Whether words begin with a phrase; its last word may be in the plural.
fn begin_with(words: &[(usize, String)], phrase: &[&str]) -> bool {
    let Some((last, before)) = phrase.split_last() else { return false };
    words.len() >= phrase.len()
        && before.iter().zip(words).all(|(wanted, (_, word))| wanted == word)
        && words[before.len()].1.strip_prefix(last).is_some_and(|rest| matches!(rest, "" | "s" | "es"))
}

#[test]
fn words_that_are_not_used_are_not_used() {
    let page = read(PAGE);
    let (before, rest) = page.split_once("## Words\n").expect("the page has words");
    let (table, after) = rest.split_once("\n## ").expect("another section follows");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(2).map(|last| (line, last)));
    let banned: Vec<(&str, &str)> =
        rows.flat_map(|(line, last)| last.split('`').skip(1).step_by(2).map(move |phrase| (line, phrase))).collect();
    assert!(banned.len() > 10, "the table has words that are not used");
    let lines = "\n".repeat(table.lines().count() + 1);
    let mut wrong = String::new();
    for file in files() {
        let page_of_docs = file.ends_with(".md") && (file.starts_with("docs/") || !file.contains('/'));
        let source = file.ends_with(".rs") && file.starts_with("crates/") && file.split('/').nth(2) == Some("src");
        let text = if file == PAGE {
            format!("{before}{lines}{after}")
        } else if page_of_docs && file != "CHANGELOG.md" {
            read(&file)
        } else if source {
            product_text(&read(&file))
        } else {
            continue;
        };
        let words = words(&text);
        for (row, phrase) in &banned {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            for at in (0..words.len()).filter(|at| begin_with(&words[*at..], &phrase)) {
                let word = row.split(" | ").next().unwrap_or(row).trim_start_matches("| ");
                let _ = writeln!(wrong, "{file}:{}: `{}`; the word is {word}", words[at].0, phrase.join(" "));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn only_texts_and_documentation_are_looked_at() {
    let source =
        "/// One\nfn two<'a>(x: &'a str) { // three\n  f('\"', \"four \\\" five\", r#\"six \" seven\"#, '\\'');\n}\n";
    let seen: Vec<String> = words(&product_text(source)).into_iter().map(|(_, word)| word).collect();
    assert_eq!(seen, ["one", "four", "five", "six", "seven"]);
}
