//! Commands that show more of a finding, as the reader can type them.

use ordain_report::Kind;
pub(crate) use ordain_report::quote;
use std::path::Path;

/// `ordain replay FILE`, with the name by which this command was called.
pub(crate) fn for_file(file: &Path) -> String {
    format!("{} replay {}", own_name(), quote(&near(file).display().to_string()))
}

/// `ordain report DIRECTORY`.
pub(crate) fn report(directory: &Path) -> String {
    format!("{} report {}", own_name(), quote(&near(directory).display().to_string()))
}

/// A path as it can be typed.
pub(crate) fn path(path: &Path) -> String {
    quote(&near(path).display().to_string())
}

/// `ordain explain KIND`.
pub(crate) fn explain(kind: Kind) -> String {
    format!("{} explain {}", own_name(), kind.name())
}

/// The name by which this command was called.
pub(crate) fn own_name() -> String {
    quote(&std::env::args_os().next().map_or_else(|| "ordain".into(), |a| a.to_string_lossy().into_owned()))
}

/// The path as seen from the current directory, where that is shorter.
pub(crate) fn near(path: &Path) -> &Path {
    let here = std::env::current_dir().ok().and_then(|d| d.canonicalize().ok());
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}
