//! Paths as text. What formats text on the heap needs what unwinding needs, which is not here; so digits are made by hand.

use alloc::vec::Vec;
use core::ffi::c_int;

/// A path of a directory and a name.
pub(super) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = directory.to_vec();
    if !name.is_empty() {
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name);
    }
    path
}

/// The directory and the name of a path without anything odd in it.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|c| *c == b'/') {
        Some(0) => (&path[..1], &path[1..]),
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// The path of a descriptor in /proc, and zeroes.
pub fn descriptor_path(fd: c_int) -> [u8; 32] {
    with_number(b"/proc/self/fd/", fd)
}

/// The path of what the kernel tells about a descriptor, and zeroes.
pub fn descriptor_info_path(fd: c_int) -> [u8; 32] {
    with_number(b"/proc/self/fdinfo/", fd)
}

/// A text with a number behind it, and zeroes. There is room for text of up to 21 bytes.
fn with_number(text: &[u8], number: c_int) -> [u8; 32] {
    let mut path = [0u8; 32];
    path[..text.len()].copy_from_slice(text);
    let mut rest = number.max(0);
    let digits = rest.checked_ilog10().unwrap_or(0) as usize + 1;
    for at in path[text.len()..][..digits].iter_mut().rev() {
        (*at, rest) = (b'0' + (rest % 10) as u8, rest / 10);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::CStr;

    #[test]
    fn names_are_joined_to_directories() {
        assert_eq!(join(b"/a", b"b"), b"/a/b");
        assert_eq!(join(b"/", b"b"), b"/b");
        assert_eq!(join(b"/a/", b"b"), b"/a/b");
        assert_eq!(join(b"/a", b""), b"/a");
        assert_eq!(join(b"", b"b"), b"/b");
    }

    #[test]
    fn paths_are_split_at_the_last_slash() {
        assert_eq!(split(b"/a/b/c"), (&b"/a/b"[..], &b"c"[..]));
        assert_eq!(split(b"/a"), (&b"/"[..], &b"a"[..]));
        assert_eq!(split(b"/"), (&b"/"[..], &b""[..]));
        assert_eq!(split(b"a"), (&b""[..], &b"a"[..]));
        assert_eq!(split(b"a/"), (&b"a"[..], &b""[..]));
    }

    #[test]
    fn what_was_split_is_joined_again() {
        for path in [&b"/a/b/c"[..], b"/a", b"/a b/c"] {
            let (directory, name) = split(path);
            assert_eq!(join(directory, name), path);
        }
    }

    #[test]
    fn descriptors_have_paths() {
        for number in [0, 1, 9, 10, 99, 100, 1000, 65_535, c_int::MAX] {
            let text = |path: [u8; 32]| CStr::from_bytes_until_nul(&path).map(|p| p.to_string_lossy().into_owned());
            assert_eq!(text(descriptor_path(number)), Ok(format!("/proc/self/fd/{number}")));
            assert_eq!(text(descriptor_info_path(number)), Ok(format!("/proc/self/fdinfo/{number}")));
        }
        assert_eq!(descriptor_path(-1), descriptor_path(0));
    }
}
