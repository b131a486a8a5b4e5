//! Paths by which the kernel shows a process itself: `/proc/self`, `/dev/fd` and the like.

use alloc::vec::Vec;
use core::ffi::c_int;

/// What a path below `/proc`, `/sys` or `/dev` is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OwnPath {
    /// The working directory, and a path from there.
    Directory(Vec<u8>),
    /// The root, and a path from there.
    Root(Vec<u8>),
    /// An open descriptor, and a path from there.
    Descriptor(c_int, Vec<u8>),
    /// State that threads of the program may change.
    State,
    /// Nothing that threads change and that is followed.
    Nothing,
}

/// Files of a process that tell nothing about what its threads do to each other but by memory.
const HARMLESS: [&[u8]; 14] = [
    b"exe",
    b"cmdline",
    b"environ",
    b"auxv",
    b"maps",
    b"smaps",
    b"smaps_rollup",
    b"mem",
    b"pagemap",
    b"statm",
    b"mounts",
    b"mountinfo",
    b"cgroup",
    b"ns",
];

fn number(text: &[u8]) -> Option<c_int> {
    core::str::from_utf8(text).ok()?.parse().ok().filter(|n| *n >= 0)
}

/// What is behind the first so many parts.
fn rest(parts: &[&[u8]], behind: usize) -> Vec<u8> {
    parts.get(behind..).unwrap_or_default().join(&b'/')
}

/// What a path is about, if the kernel shows something there; else nothing. `is_own` tells the process's own numbers from others.
pub(super) fn of(path: &[u8], is_own: &dyn Fn(c_int) -> bool) -> Option<OwnPath> {
    let parts: Vec<&[u8]> = path.split(|c| *c == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    match parts.first().copied()? {
        b"sys" => Some(OwnPath::Nothing),
        b"dev" => of_devices(&parts),
        b"proc" => Some(of_processes(&parts, is_own)),
        _ => None,
    }
}

fn of_devices(parts: &[&[u8]]) -> Option<OwnPath> {
    let standard = |fd: c_int| OwnPath::Descriptor(fd, rest(parts, 2));
    Some(match parts.get(1).copied() {
        Some(b"shm") => return None,
        Some(b"fd") => of_descriptors(parts, 2),
        Some(b"stdin") => standard(0),
        Some(b"stdout") => standard(1),
        Some(b"stderr") => standard(2),
        Some(b"mqueue") => OwnPath::State,
        _ => OwnPath::Nothing,
    })
}

/// A list of descriptors, or one of them.
fn of_descriptors(parts: &[&[u8]], at: usize) -> OwnPath {
    match parts.get(at).map(|text| number(text)) {
        Some(Some(fd)) => OwnPath::Descriptor(fd, rest(parts, at + 1)),
        _ => OwnPath::State,
    }
}

fn of_processes(parts: &[&[u8]], is_own: &dyn Fn(c_int) -> bool) -> OwnPath {
    match parts.get(1).copied() {
        Some(b"self" | b"thread-self") => of_process(parts, 2),
        Some(b"locks" | b"sysvipc" | b"net") => OwnPath::State,
        Some(text) => match number(text) {
            Some(process) if is_own(process) => of_process(parts, 2),
            Some(_) => OwnPath::State,
            None => OwnPath::Nothing,
        },
        None => OwnPath::Nothing,
    }
}

fn of_process(parts: &[&[u8]], at: usize) -> OwnPath {
    match parts.get(at).copied() {
        None => OwnPath::Nothing,
        Some(b"task") if parts.len() > at + 2 && at == 2 => of_process(parts, at + 2),
        Some(b"cwd") => OwnPath::Directory(rest(parts, at + 1)),
        Some(b"root") => OwnPath::Root(rest(parts, at + 1)),
        Some(b"fd") => of_descriptors(parts, at + 1),
        Some(name) if HARMLESS.contains(&name) => OwnPath::Nothing,
        Some(_) => OwnPath::State,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a path is about in process 77.
    fn about(path: &str) -> Option<OwnPath> {
        of(path.as_bytes(), &|process| process == 77)
    }

    fn descriptor(fd: c_int, rest: &str) -> Option<OwnPath> {
        Some(OwnPath::Descriptor(fd, rest.into()))
    }

    #[test]
    fn other_paths_are_about_nothing_of_this() {
        for path in ["", "/", "/home/proc/self/fd/3", "/procs", "/device", "/dev/shm/thing", "relative"] {
            assert_eq!(about(path), None, "{path}");
        }
    }

    #[test]
    fn descriptors_have_many_names() {
        for path in ["/proc/self/fd/3", "/proc/77/fd/3", "/proc/thread-self/fd/3", "/dev/fd/3", "//proc/./self//fd/3/"]
        {
            assert_eq!(about(path), descriptor(3, ""), "{path}");
        }
        assert_eq!(about("/proc/self/task/99/fd/12"), descriptor(12, ""));
        assert_eq!(about("/dev/stdin"), descriptor(0, ""));
        assert_eq!(about("/dev/stderr"), descriptor(2, ""));
        assert_eq!(about("/proc/self/fd/3/below/it"), descriptor(3, "below/it"));
        // The list of all of them.
        for path in ["/proc/self/fd", "/dev/fd", "/proc/self/fd/x", "/proc/self/fd/-1", "/proc/self/fd/99999999999"] {
            assert_eq!(about(path), Some(OwnPath::State), "{path}");
        }
    }

    #[test]
    fn directories_lead_on() {
        assert_eq!(about("/proc/self/cwd"), Some(OwnPath::Directory(Vec::new())));
        assert_eq!(about("/proc/self/cwd/a/b"), Some(OwnPath::Directory("a/b".into())));
        assert_eq!(about("/proc/77/root/etc"), Some(OwnPath::Root("etc".into())));
    }

    #[test]
    fn what_threads_cannot_change_is_nothing() {
        for path in [
            "/sys/kernel",
            "/dev/null",
            "/dev",
            "/proc",
            "/proc/cpuinfo",
            "/proc/self",
            "/proc/self/maps",
            "/proc/77/exe",
        ] {
            assert_eq!(about(path), Some(OwnPath::Nothing), "{path}");
        }
    }

    #[test]
    fn what_threads_can_change_is_state() {
        for path in [
            "/proc/self/status",
            "/proc/locks",
            "/proc/net/tcp",
            "/proc/78/cmdline",
            "/dev/mqueue/q",
            "/proc/self/task",
        ] {
            assert_eq!(about(path), Some(OwnPath::State), "{path}");
        }
    }
}
