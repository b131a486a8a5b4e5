//! FIFOs: opening one end waits until the other is open. Both ends of all who open it are one group, like those of a pipe.
//!
//! The kernel is never asked to wait: the end is opened at once, as it is while the kernel waits, and the thread waits for the model to say
//! that someone has come to the other end. The highest bits of the group's word move with each opening for reading and for writing.

use super::{
    Entry, Kind, addresses, await_bits, change, descriptors, entry, insert, new_group, object_of, refresh, remove,
};
use crate::files;
use crate::objects;
use crate::sys::{self, call};
use core::ffi::{c_char, c_int};
use libc::{O_ACCMODE, O_CLOEXEC, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY};
use ordain_model::{Member, ObjectKind};

/// Where the bits for openings begin, for reading and for writing, and how many each has.
const FIRST: [u32; 2] = [48, 55];
const TURNS: u32 = 7;
/// Ends: who reads, who writes, who does both.
const READS: usize = 0;
const WRITES: usize = 1;
const BOTH: usize = 2;

/// The group of a FIFO, found by its device and number; `key` is the same in every execution.
fn group(identity: (u64, u64), key: u64) -> usize {
    if let Some(known) = descriptors().fifos.iter().find(|f| f.0 == identity) {
        return known.1;
    }
    let group = new_group(objects::find(key, ObjectKind::Descriptor, 0));
    descriptors().groups[group].ends.resize_with(3, Default::default);
    descriptors().groups[group].openings = Some([0; 2]);
    descriptors().fifos.push((identity, group));
    refresh(group);
    group
}

/// The bits of a word that say how often a FIFO was opened.
pub(super) fn turns(openings: [u32; 2]) -> u64 {
    [READS, WRITES].iter().fold(0, |word, side| word | 1 << (FIRST[*side] + openings[*side] % TURNS))
}

/// A descriptor of the pipe with this status, if the program has one. A FIFO is none.
pub(super) fn pipe_of(status: &libc::stat) -> Option<c_int> {
    let wanted = (status.st_dev, status.st_ino);
    if descriptors().fifos.iter().any(|f| f.0 == wanted) {
        return None;
    }
    let is_pipe = |e: &Option<Entry>| e.is_some_and(|e| matches!(e.kind, Kind::Pipe | Kind::Fifo));
    let pipes = descriptors().entries.iter().enumerate().filter(|(_, e)| is_pipe(e)).map(|(fd, _)| fd as c_int);
    pipes.into_iter().find(|fd| addresses::identity(*fd) == Some(wanted))
}

/// Opens an end of a pipe again that has this descriptor, by a path such as /proc/self/fd/3. Nobody waits for the other end. `None` if the
/// path leads to something else when its turn has come.
pub(super) unsafe fn open_again(at: c_int, path: *const c_char, flags: c_int, known: c_int) -> Option<isize> {
    let group = entry(known)?.group?;
    let wanted = addresses::identity(known);
    // SAFETY: the program's path.
    let number = unsafe { files::number_in(core::ffi::CStr::from_ptr(path).to_bytes()) }.unwrap_or(known);
    files::order_reopening(number, |add| add(object_of(group), Member::WRITE | Member::TELL));
    // SAFETY: what the program asks for. The first look does not wait.
    let fd = unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let result = call!(libc::SYS_newfstatat, at, path, &raw mut status, 0);
        if result == 0 && Some((status.st_dev, status.st_ino)) != wanted {
            return None;
        }
        call!(libc::SYS_openat, at, path, flags)
    };
    if fd >= 0 {
        let (end, kind) = match flags & O_ACCMODE {
            O_RDONLY => (READS, Kind::Pipe),
            O_WRONLY => (WRITES, Kind::Pipe),
            _ => (BOTH, Kind::Fifo),
        };
        files::opened(fd as c_int);
        insert(fd as c_int, Entry { group: Some(group), end, ..Entry::new(kind) });
        refresh(group);
    }
    Some(fd)
}

/// Opens a FIFO that is at `path`; gives what the system call gives.
pub(super) unsafe fn open(at: c_int, path: *const c_char, flags: c_int, status: &libc::stat, key: u64) -> isize {
    let group = group((status.st_dev, status.st_ino), key);
    let object = object_of(group);
    files::take_number();
    change(object);
    let side = if flags & O_ACCMODE == O_RDONLY { READS } else { WRITES };
    // SAFETY: what the program asks for, but without waiting; the helper is open only in between.
    let fd = unsafe {
        let alone = flags & O_ACCMODE == O_WRONLY && flags & O_NONBLOCK == 0;
        let helper = if alone { call!(libc::SYS_openat, at, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) } else { -1 };
        let helper = sys::move_high(helper);
        let fd = call!(libc::SYS_openat, at, path, flags | O_NONBLOCK);
        if helper >= 0 {
            call!(sys::SYS_close, helper);
        }
        if fd >= 0 && flags & O_NONBLOCK == 0 {
            let now = call!(sys::SYS_fcntl, fd, libc::F_GETFL);
            call!(sys::SYS_fcntl, fd, libc::F_SETFL, now & !(O_NONBLOCK as isize));
        }
        fd
    };
    if fd < 0 {
        return fd;
    }
    files::opened(fd as c_int);
    let ends = &descriptors().groups[group].ends;
    let others = ends[1 - side].len() + ends[BOTH].len();
    let openings = descriptors().groups[group].openings.unwrap_or_default();
    let both = flags & O_ACCMODE == O_RDWR;
    let mut next = openings;
    next[side] += 1;
    next[1 - side] += u32::from(both);
    descriptors().groups[group].openings = Some(next);
    let (end, kind) = if both { (BOTH, Kind::Fifo) } else { (side, Kind::Pipe) };
    insert(fd as c_int, Entry { group: Some(group), end, ..Entry::new(kind) });
    refresh(group);
    if both || flags & O_NONBLOCK != 0 || others > 0 {
        return fd;
    }
    let all = ((1u64 << TURNS) - 1) << FIRST[1 - side];
    let mask = all & !turns(next);
    match await_bits(object, mask, false, 0) {
        Ok(()) => fd,
        Err(error) => {
            // SAFETY: the descriptor that nobody has got.
            unsafe { call!(sys::SYS_close, fd) };
            remove(fd as c_int);
            refresh(group);
            -(error as isize)
        }
    }
}
