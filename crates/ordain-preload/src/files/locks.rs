//! Locks on files. Those on whole files (`flock`) and some on parts (`F_OFD_SETLK`) belong to openings, others on parts (`lockf`, `F_SETLK`) to
//! the process: its threads never wait for each other there, but closing any descriptor of the file gives them up.
//!
//! The locks on a file are an object, which stays the same when the name of the file goes to another one. Beside it there is an object for
//! each one who may hold some, which leads to the locks as long as that is so: closing a descriptor reads it, and writes it and the locks
//! only if they are given up then.

use super::numbers::{self, File};
use super::{Touched, files, messages, object};
use crate::children;
use crate::engine::{self, engine};
use crate::inherited;
use crate::kernel;
use crate::lessons::Lesson;
use crate::objects;
use crate::signals;
use crate::sys::{self, call};
use crate::unmodelled::{self, Named, Unmodelled};
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::{EAGAIN, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, flock};
use libc::{F_GETLK, F_SETLK, F_SETLKW, F_UNLCK, LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, SEEK_SET};
use ordain_model::names::mix;
use ordain_model::{Member, ObjectId, ObjectKind, Operation, Wait};

/// What keys begin with: of locks on whole files and on parts, and of who holds them.
const WHOLE: u64 = 0x666c_6f63;
const PARTS: u64 = 0x6c6f_636b;
const HOLDS: u64 = 0x686f_6c64;
/// Bits of the locks on a whole file: nobody holds one, and nobody holds it for itself.
const FREE: u64 = 1;
const SHARED: u64 = 2;
/// Bit of who holds a lock on a whole file, above what it leads to.
const HELD: u64 = 1 << 40;
const BUSY: isize = -(EAGAIN as isize);

/// Whether the program is linked with `flock`.
static mut LINKED: bool = false;

/// A file that was locked as a whole.
pub(super) struct Whole {
    /// Its locks.
    object: ObjectId,
    /// Openings that hold one, with [`LOCK_SH`] or [`LOCK_EX`].
    holders: Vec<(ObjectId, c_int)>,
}

/// Finds out whether the program can lock files, once.
pub(super) fn prepare() {
    // SAFETY: only the carrier comes here.
    unsafe { LINKED = signals::is_linked(&[c"flock"]) };
}

fn key(kind: u64, of: ObjectId) -> u64 {
    mix(kind, engine().arbiter.names().stable_key(of))
}

/// The object of who may hold locks: an opening, or the process in a file.
fn holder(kind: u64, of: ObjectId) -> ObjectId {
    object(mix(HOLDS, key(kind, of)), || 0)
}

/// Whether closing descriptors may give up locks. It does so seldom: the first lock teaches the search that it does.
fn matter() -> bool {
    // SAFETY: only the carrier comes here, and nobody changes it any more.
    unsafe { LINKED || files().locked || Lesson::FileLocks.is_known(engine()) }
}

/// A file is about to be locked.
fn begin(fd: c_int, object: ObjectId) {
    if fd < inherited::end() {
        kernel::leave_for_lock();
    }
    if is_named(fd) {
        unmodelled::note_name(Named::Existing);
    }
    if engine().is_alone() {
        files().locked = true;
    } else if !matter() {
        Lesson::FileLocks.learn(engine());
    }
    children::locks::meet_any(key(0, object));
    if !files().locks.contains(&object) {
        files().locks.push(object);
    }
}

/// Whether other processes can find the file of a descriptor.
fn is_named(fd: c_int) -> bool {
    // SAFETY: zeroes are valid, and the kernel fills it in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        call!(libc::SYS_fstat, fd, &raw mut status) == 0 && status.st_nlink > 0
    }
}

/// The objects of all locks on files that were used so far.
pub fn lock_objects() -> &'static [ObjectId] {
    &files().locks
}

/// Adds what closing a descriptor gives up.
pub(super) fn add_closing(touched: &mut Touched, fd: c_int) {
    if !matter() {
        return;
    }
    let description = numbers::description(fd);
    touched.add(holder(WHOLE, description), Member::GIVE_UP);
    touched.add(holder(PARTS, description), Member::GIVE_UP);
    if let Some(file) = numbers::find(fd) {
        touched.add(holder(PARTS, file.object), Member::GIVE_UP);
    }
}

/// Whether closing a descriptor may give up a lock.
pub fn may_be_locked(fd: c_int) -> bool {
    matter() && numbers::is_known(fd)
}

/// A descriptor was closed; whether another one of the same opening is left.
pub(super) fn closed(fd: c_int, last: bool) {
    if !matter() {
        return;
    }
    let description = numbers::description(fd);
    if last {
        for file in 0..files().whole.len() {
            if held(file, description) != 0 {
                hold(file, description, 0);
            }
        }
        give_up(holder(PARTS, description));
    }
    if let Some(file) = numbers::file(fd) {
        give_up(holder(PARTS, file.object));
    }
}

/// Locks on parts are given up, if there are any.
fn give_up(holder: ObjectId) {
    let locks = engine().arbiter.value(holder);
    if locks != 0 {
        messages::changed(ObjectId(locks as u32));
        tell(holder, 0);
    }
}

fn tell(object: ObjectId, value: u64) {
    if engine().arbiter.value(object) != value {
        engine().set_value(object, value);
    }
}

/// The file of a descriptor, as one that can be locked as a whole.
fn find(fd: c_int) -> Option<usize> {
    let key = match numbers::find(fd) {
        Some(file) => key(WHOLE, file.object),
        None => mix(WHOLE, numbers::place(fd)?),
    };
    let locks = object(key, || FREE | SHARED);
    let known = files().whole.iter().position(|w| w.object == locks);
    Some(known.unwrap_or_else(|| {
        files().whole.push(Whole { object: locks, holders: Vec::new() });
        files().whole.len() - 1
    }))
}

/// What an opening holds of a file: [`LOCK_SH`], [`LOCK_EX`], or nothing.
fn held(file: usize, opening: ObjectId) -> c_int {
    files().whole[file].holders.iter().find(|(holder, _)| *holder == opening).map_or(0, |(_, held)| *held)
}

/// An opening holds this lock now, or none.
fn hold(file: usize, opening: ObjectId, held: c_int) {
    let Whole { object, holders } = &mut files().whole[file];
    holders.retain(|(holder, _)| *holder != opening);
    if held != 0 {
        holders.push((opening, held));
    }
    let free = if holders.is_empty() { FREE } else { 0 };
    let shared = if holders.iter().all(|(_, held)| *held == LOCK_SH) { SHARED } else { 0 };
    tell(*object, free | shared);
    tell(holder(WHOLE, opening), if held == 0 { 0 } else { HELD | u64::from(object.0) });
}

/// Locks a whole file, or unlocks it; gives what the system call gives.
pub(super) unsafe fn lock_whole(fd: c_int, operation: c_int) -> isize {
    let (wanted, tries) = (operation & !LOCK_NB, operation & LOCK_NB != 0);
    // SAFETY: what the program asks for.
    let call = |how: c_int| unsafe { call!(libc::SYS_flock, fd, how) };
    numbers::look_at_numbers();
    let Some(file) = find(fd).filter(|_| matches!(wanted, LOCK_SH | LOCK_EX | LOCK_UN)) else {
        numbers::order_use(fd);
        return call(operation | LOCK_NB);
    };
    let (locks, opening) = (files().whole[file].object, numbers::description(fd));
    begin(fd, locks);
    let holds = holder(WHOLE, opening);
    if wanted == LOCK_UN {
        numbers::order_use_with(fd, |touched| touched.add(holds, Member::GIVE_UP));
        let result = call(LOCK_UN);
        if result == 0 {
            hold(file, opening, 0);
        }
        return result;
    }
    // Who holds a lock already goes on: the kernel takes the other one instead of it, or gives it up before it waits.
    let free = if wanted == LOCK_EX { FREE } else { SHARED };
    let members =
        [(locks, free | Member::TAKE), (holds, HELD | Member::TAKE), (numbers::number_object(fd), Member::READ)];
    let set = objects::set_of_kind(&members, ObjectKind::FileLock);
    let wait = if tries { Wait::Try } else { Wait::Interruptible };
    loop {
        if let Err(error) = engine::wait(Operation::Poll { set, wait }, true) {
            return -(error as isize);
        }
        if !numbers::is_open(fd) || numbers::description(fd) != opening {
            // It was closed meanwhile. A call that has begun would go on with it.
            unmodelled::note_if_shared(Unmodelled::Other);
            numbers::learn_that_numbers_matter();
        }
        let mut result = call(wanted | LOCK_NB);
        let before = held(file, opening);
        if result == BUSY && before != 0 && before != wanted {
            hold(file, opening, 0);
            if !tries {
                continue;
            }
        } else if result == BUSY && !tries {
            // Another process has it.
            unmodelled::note_if_shared(Unmodelled::ChildRuns);
            result = call(wanted);
        }
        if result == 0 {
            hold(file, opening, wanted);
        }
        return result;
    }
}

/// Whether a command of `fcntl` is about locks on parts.
pub fn is_lock_command(command: c_int) -> bool {
    matches!(command, F_OFD_SETLKW | F_OFD_SETLK | F_OFD_GETLK | F_SETLKW | F_SETLK | F_GETLK)
}

/// A command of `fcntl` on locks of parts, as a step; `None` if it is another.
pub(super) unsafe fn lock_part(fd: c_int, command: c_int, lock: *mut flock) -> Option<isize> {
    let tries = match command {
        F_OFD_SETLKW => F_OFD_SETLK,
        F_SETLKW => F_SETLK,
        F_OFD_SETLK | F_OFD_GETLK | F_SETLK | F_GETLK => command,
        _ => return None,
    };
    let file = numbers::find(fd).filter(|_| !lock.is_null())?;
    let object = messages::waited(key(PARTS, file.object));
    begin(fd, object);
    let asks = matches!(command, F_OFD_GETLK | F_GETLK);
    let holder = part_holder(fd, command, file);
    loop {
        numbers::order_use_with(fd, |touched| {
            touched.looks = asks;
            touched.add(object, if asks { Member::READ } else { Member::WRITE });
            touched.add(holder, if asks { Member::READ } else { Member::WRITE });
        });
        // SAFETY: what the program asks for.
        let result = unsafe { call!(sys::SYS_fcntl, fd, tries, lock) };
        if asks {
            return Some(result);
        }
        if result >= 0 {
            messages::changed(object);
            // SAFETY: the program's structure, which the kernel has read.
            note_part(unsafe { &*lock }, holder, object);
            return Some(result);
        }
        if command == tries || !matches!(result, BUSY | REFUSED) {
            return Some(result);
        }
        // SAFETY: as above.
        if unsafe { is_held_elsewhere(fd, command, lock) } {
            unmodelled::note_if_shared(Unmodelled::ChildRuns);
            // SAFETY: as above.
            let result = unsafe { call!(sys::SYS_fcntl, fd, command, lock) };
            if result >= 0 {
                messages::changed(object);
                // SAFETY: as above.
                note_part(unsafe { &*lock }, holder, object);
            }
            return Some(result);
        }
        if let Err(error) = messages::await_change(object, 0, true) {
            return Some(-(error as isize));
        }
    }
}

const REFUSED: isize = -(libc::EACCES as isize);

/// Who holds a lock on a part.
fn part_holder(fd: c_int, command: c_int, file: File) -> ObjectId {
    let by_opening = matches!(command, F_OFD_SETLKW | F_OFD_SETLK | F_OFD_GETLK);
    holder(PARTS, if by_opening { numbers::description(fd) } else { file.object })
}

/// Notes whether somebody holds locks on parts. Who has unlocked one part may hold others.
fn note_part(lock: &flock, holder: ObjectId, object: ObjectId) {
    if lock.l_type != F_UNLCK as i16 {
        tell(holder, u64::from(object.0));
    } else if (lock.l_whence, lock.l_start, lock.l_len) == (SEEK_SET as i16, 0, 0) {
        tell(holder, 0);
    }
}

/// Whether a lock is in the way that belongs to another process.
unsafe fn is_held_elsewhere(fd: c_int, command: c_int, lock: *const flock) -> bool {
    let asks = if command == F_OFD_SETLKW { F_OFD_GETLK } else { F_GETLK };
    // SAFETY: asks the kernel, with a copy.
    unsafe {
        let mut found = lock.read();
        call!(sys::SYS_fcntl, fd, asks, &raw mut found) >= 0
            && found.l_type != F_UNLCK as i16
            && found.l_pid > 0
            && found.l_pid as isize != call!(sys::SYS_getpid)
    }
}
