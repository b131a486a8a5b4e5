//! What a path leads to: the name at its end, in the directory that the kernel says it is in, and the names on the way that may change.

use super::files;
use super::own::{self, OwnPath};
use super::path_text::{descriptor_path, join, split};
use crate::handles;
use crate::sys::{self, call};
use crate::unmodelled::{self, Unmodelled};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};

/// Longest path.
const PATH: usize = 4096;
/// More symbolic links in a row are an error.
const MOST_LINKS: usize = 16;

/// Where a path leads.
pub(super) struct Place {
    /// The directory, as the kernel calls it.
    pub(super) directory: Vec<u8>,
    /// The name in it; empty for the directory itself.
    pub(super) name: Vec<u8>,
    /// Names on the way that others may make or remove: symbolic links, and directories that are not there or were made in this execution.
    pub(super) way: Vec<Vec<u8>>,
    /// Descriptors that it goes through.
    pub(super) uses: Vec<c_int>,
    /// The open file that it leads to itself: there is no name then.
    pub(super) open: Option<c_int>,
}

impl Place {
    /// A place in a directory.
    fn at(directory: Vec<u8>, name: Vec<u8>, way: Vec<Vec<u8>>, uses: Vec<c_int>) -> Self {
        Self { directory, name, way, uses, open: None }
    }

    /// An open file, which is reached without a name.
    fn of_open(fd: c_int, way: Vec<Vec<u8>>, uses: Vec<c_int>) -> Self {
        Self { directory: Vec::new(), name: Vec::new(), way, uses, open: Some(fd) }
    }

    /// The whole path.
    pub(super) fn path(&self) -> Vec<u8> {
        join(&self.directory, &self.name)
    }
}

/// What a path is about, if the kernel shows the process itself there.
fn own(path: &[u8]) -> Option<OwnPath> {
    // SAFETY: asks for a number.
    own::of(path, &|process| process == handles::own() || process == unsafe { call!(sys::SYS_getpid) } as c_int)
}

/// The descriptor of this process that a path names, or begins with, if it does.
pub fn number_in(path: &[u8]) -> Option<c_int> {
    match own(path)? {
        OwnPath::Descriptor(number, _) => Some(number),
        _ => None,
    }
}

/// What the kernel calls an open descriptor.
pub(super) fn of_descriptor(fd: c_int) -> Option<Vec<u8>> {
    let mut room = [0u8; PATH];
    // SAFETY: reads a link into memory of our own.
    let length = unsafe { call!(libc::SYS_readlink, descriptor_path(fd).as_ptr(), room.as_mut_ptr(), room.len()) };
    let length = usize::try_from(length).ok()?;
    Some(room[..length].to_vec())
}

fn with_zero(path: &[u8]) -> Vec<u8> {
    let mut text = path.to_vec();
    text.push(0);
    text
}

/// What the kernel calls a directory, if it is there.
fn canonical(path: &[u8]) -> Option<Vec<u8>> {
    if let Some(known) = files().directories.get(path) {
        return Some(known.clone());
    }
    let text = with_zero(path);
    // SAFETY: a descriptor of our own, which is closed again.
    let found = unsafe {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let fd = sys::move_high(call!(libc::SYS_openat, libc::AT_FDCWD, text.as_ptr(), flags));
        if fd < 0 {
            return None;
        }
        let found = of_descriptor(fd);
        call!(sys::SYS_close, fd);
        found?
    };
    files().directories.insert(path.to_vec(), found.clone());
    Some(found)
}

/// Takes note of who lists what the kernel shows of the process.
pub(super) fn note_listing(fd: c_int) {
    let path = of_descriptor(fd);
    if path.is_some_and(|path| matches!(own(&path), Some(OwnPath::State))) {
        unmodelled::note_if_shared(Unmodelled::ProcessFiles);
    }
}

/// What is at a path, without following a link.
pub(super) fn status(path: &[u8]) -> Option<libc::stat> {
    let text = with_zero(path);
    // SAFETY: zeroes are valid, and the kernel fills it in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        let result = call!(libc::SYS_newfstatat, libc::AT_FDCWD, text.as_ptr(), &raw mut status, flags);
        (result == 0).then_some(status)
    }
}

fn target(path: &[u8]) -> Option<Vec<u8>> {
    let (text, mut room) = (with_zero(path), [0u8; PATH]);
    // SAFETY: reads a link into memory of our own.
    let length = unsafe { call!(libc::SYS_readlink, text.as_ptr(), room.as_mut_ptr(), room.len()) };
    Some(room[..usize::try_from(length).ok()?].to_vec())
}

/// The working directory, or that of a descriptor.
fn base(directory: c_int) -> Option<Vec<u8>> {
    if directory != libc::AT_FDCWD {
        return of_descriptor(directory);
    }
    let mut room = [0u8; PATH];
    // SAFETY: the kernel fills it in.
    let length = unsafe { call!(libc::SYS_getcwd, room.as_mut_ptr(), room.len()) };
    let length = usize::try_from(length).ok()?;
    Some(room[..length.saturating_sub(1)].to_vec())
}

/// Where a path of the program leads. `None` if it is none, or leads to what is not a file of a file system.
pub(super) unsafe fn place(directory: c_int, path: *const c_char, follows: bool) -> Option<Place> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the program's path.
    let text = unsafe { CStr::from_ptr(path) }.to_bytes();
    if text.is_empty() && directory >= 0 {
        return Some(Place::of_open(directory, Vec::new(), Vec::new()));
    }
    if text.is_empty() || text.len() >= PATH {
        return None;
    }
    let whole = if text[0] == b'/' { text.to_vec() } else { join(&base(directory)?, text) };
    let mut place = lead(whole, follows)?;
    if text[0] != b'/' && directory != libc::AT_FDCWD {
        place.uses.push(directory);
    }
    let made = &files().made;
    if !made.is_empty() {
        let inside =
            |d: &&Vec<u8>| place.directory.starts_with(d) && matches!(place.directory.get(d.len()), None | Some(b'/'));
        let on_the_way: Vec<Vec<u8>> = made.iter().filter(inside).cloned().collect();
        place.way.extend(on_the_way);
    }
    Some(place)
}

fn lead(mut whole: Vec<u8>, follows: bool) -> Option<Place> {
    let (mut way, mut uses) = (Vec::new(), Vec::new());
    for _ in 0..MOST_LINKS {
        while whole.len() > 1 && whole.last() == Some(&b'/') {
            whole.pop();
        }
        match own(&whole) {
            None => {}
            Some(OwnPath::Directory(rest)) => {
                whole = join(&base(libc::AT_FDCWD)?, &rest);
                continue;
            }
            Some(OwnPath::Root(rest)) => {
                whole = join(b"/", &rest);
                continue;
            }
            Some(OwnPath::Descriptor(fd, rest)) if rest.is_empty() => return Some(Place::of_open(fd, way, uses)),
            Some(OwnPath::Descriptor(fd, rest)) => {
                whole = join(&of_descriptor(fd)?, &rest);
                uses.push(fd);
                continue;
            }
            Some(OwnPath::State) => {
                unmodelled::note_if_shared(Unmodelled::ProcessFiles);
                return None;
            }
            Some(OwnPath::Nothing) => return None,
        }
        let (parent, name) = split(&whole);
        if matches!(name, b"." | b".." | b"") {
            return Some(Place::at(canonical(&whole)?, Vec::new(), way, uses));
        }
        let (parent, name) = (parent.to_vec(), name.to_vec());
        let Some(directory) = canonical(&parent) else {
            // The first directory that is not there decides.
            let (above, missing) = split(&parent);
            let above = canonical(above).unwrap_or_else(|| above.to_vec());
            let directory = join(&above, missing);
            way.push(directory.clone());
            return Some(Place::at(directory, name, way, uses));
        };
        let path = join(&directory, &name);
        let is_link = |s: &libc::stat| s.st_mode & libc::S_IFMT == libc::S_IFLNK;
        if !follows || !status(&path).is_some_and(|s| is_link(&s)) {
            return Some(Place::at(directory, name, way, uses));
        }
        let target = target(&path)?;
        way.push(path);
        whole = if target.first() == Some(&b'/') { target } else { join(&directory, &target) };
    }
    None
}
