//! Paths of source files as URIs: relative to the root of the sources where they are below it, so that the same report is
//! made on every machine.

use std::path::{Component, Path, PathBuf};

/// A file as a URI.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Uri {
    /// Relative to the root of the sources.
    Relative(String),
    /// From everywhere.
    Absolute(String),
}

/// The URI of a file as a compiler recorded it: relative files are meant to be below the root.
pub(crate) fn of_file(file: &str, root: Option<&Path>) -> Uri {
    let path = match root.filter(|root| root.is_absolute()) {
        Some(root) => normal(&root.join(file)),
        None => normal(Path::new(file)),
    };
    let below =
        root.and_then(|root| path.strip_prefix(normal(root)).ok()).filter(|below| !below.as_os_str().is_empty());
    match below {
        Some(below) => Uri::Relative(encode(below)),
        None if path.is_absolute() => Uri::Absolute(format!("file://{}", encode(&path))),
        None => Uri::Relative(encode(&path)),
    }
}

/// The path without `.` and with `..` resolved as far as the path itself tells.
fn normal(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match result.components().next_back() {
                Some(Component::Normal(_)) => {
                    result.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                // Above where a relative path begins nothing is known.
                Some(Component::ParentDir | Component::CurDir) | None => result.push(".."),
            },
            other => result.push(other),
        }
    }
    result
}

/// The path with everything encoded that has a meaning in URIs, `:` included: `a:b` would be the scheme `a`.
fn encode(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Uri, of_file};
    use std::path::Path;

    #[test]
    fn files_below_the_root_are_relative_to_it() {
        let relative = |text: &str| Uri::Relative(text.to_owned());
        let absolute = |text: &str| Uri::Absolute(text.to_owned());
        let root = Some(Path::new("/home/me/bank"));
        for (file, root, expected) in [
            ("/home/me/bank/src/a.c", root, relative("src/a.c")),
            ("/home/me/bank/./src/../b.c", root, relative("b.c")),
            ("/home/me/banking/a.c", root, absolute("file:///home/me/banking/a.c")),
            ("src/lib.rs", root, relative("src/lib.rs")),
            ("../other/lib.rs", root, absolute("file:///home/me/other/lib.rs")),
            ("src/lib.rs", None, relative("src/lib.rs")),
            ("../lib.rs", None, relative("../lib.rs")),
            ("/usr/include/c++/12/mutex", root, absolute("file:///usr/include/c%2B%2B/12/mutex")),
            ("/a b/%41:é?#.c", None, absolute("file:///a%20b/%2541%3A%C3%A9%3F%23.c")),
            ("/../a.c", None, absolute("file:///a.c")),
        ] {
            assert_eq!(of_file(file, root), expected, "{file}");
        }
    }
}
