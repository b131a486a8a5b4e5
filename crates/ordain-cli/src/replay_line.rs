//! The command that replays a finding, as the reader can type it.

use std::path::Path;

/// What introduces the line in the text of a finding.
const INTRODUCTION: &str = "\nreplay it with:";

/// The text of a finding without the line that replays it, if it has one.
pub(crate) fn without(text: &str) -> &str {
    text[..text.rfind(INTRODUCTION).unwrap_or(text.len())].trim_end()
}

/// Whether the text of a finding has a line that replays it.
pub(crate) fn is_in(text: &str) -> bool {
    text.contains(INTRODUCTION)
}

/// `ordain replay FILE`, with the name by which this command was called.
pub(crate) fn for_file(file: &Path) -> String {
    format!("{} replay {}", own_name(), quote(&near(file).display().to_string()))
}

/// The name by which this command was called.
pub(crate) fn own_name() -> String {
    quote(&std::env::args_os().next().map_or_else(|| "ordain".into(), |a| a.to_string_lossy().into_owned()))
}

/// The text as a word of the shell.
pub(crate) fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The path as seen from the current directory, where that is shorter.
fn near(path: &Path) -> &Path {
    let here = std::env::current_dir().ok().and_then(|d| d.canonicalize().ok());
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}
