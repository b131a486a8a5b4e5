//! Numbers of descriptors: whoever uses one depends on who closes it, and who opens something gets the lowest that is free.
//!
//! Which thread gets which number is not explored, as long as nobody uses a number that is closed: that would make every two threads
//! depend on each other that open something. The first use of a closed number, and the first that is replaced by another descriptor while it
//! is open, teach the search that numbers matter, and it begins again with that in mind.

use super::{Touched, files, inheriting, locks, names, object, order, paths, turn_version};
use crate::descriptors;
use crate::engine::engine;
use crate::initialisation;
use crate::lessons::Lesson;
use crate::objects;
use crate::sys::{self, call};
use crate::unmodelled::{self, Unmodelled};
use core::ffi::c_int;
use ordain_model::names::mix;
use ordain_model::{Member, ObjectId, ObjectKind};
use ordain_wire::SHARED_FD;

const NUMBER: u64 = 0x6e75_6d62;
const TABLE: u64 = 0x7461_626c;
const STANDARD: u64 = 0x7374_616e;

/// What is known of a number: the last descriptor that had it.
#[derive(Clone, Copy)]
pub(super) struct Number {
    /// The descriptor. It is named by the thread that made it, whichever number it got.
    object: ObjectId,
    /// What stands for its position, which copies share.
    description: ObjectId,
    /// It was not closed since.
    open: bool,
    /// The file, once it was looked at.
    pub(super) file: Option<File>,
}

/// The file of a descriptor.
#[derive(Clone, Copy)]
pub(super) struct File {
    pub(super) object: ObjectId,
    /// What is in it, if it is a directory.
    pub(super) listing: Option<ObjectId>,
}

/// What is known of a number. One that nobody is known to have opened is known by itself.
fn number(fd: c_int) -> Number {
    known(fd).unwrap_or_else(|| {
        let object = match fd {
            // Nothing is kept of those that no descriptor has.
            ..0 => object(mix(NUMBER, u64::MAX), || 0),
            _ => objects::find(mix(NUMBER, fd as u64), ObjectKind::File, 0),
        };
        let number = Number { object, description: object, open: is_open(fd), file: None };
        note(fd, number);
        number
    })
}

/// The object of a descriptor.
pub fn number_object(fd: c_int) -> ObjectId {
    number(fd).object
}

/// The object of what a descriptor shares with its copies.
pub(super) fn description(fd: c_int) -> ObjectId {
    number(fd).description
}

/// Whether something is known of a number.
pub(super) fn is_known(fd: c_int) -> bool {
    known(fd).is_some()
}

/// How many numbers something may be known of.
pub fn count_numbers() -> usize {
    files().numbers.len()
}

/// The file of a descriptor, if it was looked at.
pub(super) fn file(fd: c_int) -> Option<File> {
    known(fd)?.file
}

/// A number for what is open but no file, the same in every execution: from its path.
pub(super) fn place(fd: c_int) -> Option<u64> {
    if is_open(fd) { paths::of_descriptor(fd).map(|path| names::key_of(&path)) } else { None }
}

/// A file without a name was made: it is known by its first descriptor.
pub(super) fn made_without_name(fd: c_int) {
    let description = number(fd).description;
    if let Some(status) = status(fd) {
        let file = File { object: names::file_of(description, &status), listing: None };
        note(fd, Number { file: Some(file), ..number(fd) });
    }
}

/// Whether a number leads somewhere.
pub fn is_in_use(fd: c_int) -> bool {
    (0..SHARED_FD).contains(&fd) && is_open(fd)
}

pub(super) fn is_open(fd: c_int) -> bool {
    // SAFETY: asks for flags.
    unsafe { call!(sys::SYS_fcntl, fd, libc::F_GETFD) >= 0 }
}

fn matter() -> bool {
    Lesson::Numbers.is_known(engine())
}

/// Adds the table of all numbers: written only if numbers matter.
pub(super) fn add_table(touched: &mut Touched) {
    touched.add(object(TABLE, || 0), if matter() { Member::WRITE } else { Member::READ });
}

/// Adds the use of a number. A closed one depends on who opens something next.
pub(super) fn add_use(touched: &mut Touched, fd: c_int) {
    touched.add(number(fd).object, Member::READ);
    inheriting::add_adrift(touched, fd);
    if matter() || !is_open(fd) {
        touched.add(object(TABLE, || 0), Member::READ);
    }
}

/// Orders looking at what a number leads to, if numbers matter. What a thread announces next depends on that, and what it announces must
/// follow from what happened before its steps, not from who happened to be first.
pub fn look_at_numbers() {
    if matter() {
        order(|touched| touched.add(object(TABLE, || 0), Member::READ));
    }
}

/// A closed number is used, or one that leads to something else meanwhile: which number a thread gets matters.
pub fn learn_that_numbers_matter() {
    if !engine().is_alone() {
        Lesson::Numbers.learn(engine());
    }
}

/// Orders the beginning of a call on a descriptor with who closes it.
pub fn order_use(fd: c_int) {
    order_use_with(fd, |_| {});
}

/// Orders a call on a descriptor with who closes it, together with `others`.
pub(super) fn order_use_with(fd: c_int, mut others: impl FnMut(&mut Touched)) {
    look_at_numbers();
    order(|touched| {
        add_use(touched, fd);
        others(touched);
    });
    learn_if_closed(fd);
}

pub(super) fn learn_if_closed(fd: c_int) {
    if (0..SHARED_FD).contains(&fd) && !is_open(fd) {
        learn_that_numbers_matter();
    }
}

/// A descriptor is about to be made, which takes the lowest number that is free.
pub fn take_number() {
    order(add_table);
}

/// What a descriptor leads to is about to be opened again, which takes the lowest number that is free.
pub fn order_reopening(fd: c_int, mut others: impl FnMut(&mut dyn FnMut(ObjectId, u64))) {
    look_at_numbers();
    order(|touched| {
        add_use(touched, fd);
        add_table(touched);
        others(&mut |object, how| touched.add(object, how));
    });
    learn_if_closed(fd);
}

/// A copy of a descriptor is about to be made, which takes the lowest number that is free.
pub fn take_number_of(fd: c_int) {
    order(|touched| {
        add_use(touched, fd);
        add_table(touched);
    });
    learn_if_closed(fd);
}

/// Adds the table of all numbers, written: what the next one gets, and whether there is one, is changed.
pub(super) fn add_whole_table(touched: &mut Touched) {
    touched.add(object(TABLE, || 0), Member::WRITE);
}

/// Adds the descriptor itself, without what it is of.
pub(super) fn add_number(touched: &mut Touched, fd: c_int, how: u64) {
    add_use(touched, fd);
    touched.add(number(fd).object, how);
}

/// The object of what belongs to an opening. The standard ones may be one.
fn opening(fd: c_int) -> ObjectId {
    let description = number(fd).description;
    let is_standard = (0..3).any(|fd| known(fd).is_some_and(|n| n.description == description));
    if is_standard { object(STANDARD, || 0) } else { description }
}

/// Adds the use of a descriptor, and what belongs to its opening.
pub(super) fn add_opening(touched: &mut Touched, fd: c_int, how: u64) {
    add_use(touched, fd);
    touched.add(opening(fd), how);
}

/// Orders closing a number together with what else is known of it; `others` says what that touches.
pub fn before_close(fd: c_int, mut others: impl FnMut(&mut dyn FnMut(ObjectId, u64))) {
    look_at_numbers();
    order(|touched| {
        touched.add(number(fd).object, Member::WRITE);
        add_table(touched);
        locks::add_closing(touched, fd);
        others(&mut |object, how| touched.add(object, how));
    });
    learn_if_closed(fd);
}

/// A number was closed.
pub fn closed(fd: c_int) {
    if let Some(number) = known(fd).filter(|n| n.open) {
        note(fd, Number { open: false, ..number });
        let is_copy = |n: &Number| n.open && n.description == number.description;
        let numbers = files().numbers.iter().enumerate();
        let mut copies = numbers.filter(|(_, n)| n.as_ref().is_some_and(is_copy)).map(|(other, _)| other as c_int);
        let last = !copies.any(|other| other != fd && is_open(other));
        locks::closed(fd, last);
    }
    redirect(fd);
}

/// A number leads to something else.
fn redirect(fd: c_int) {
    if matches!(fd, 1 | 2) {
        files().redirected = true;
    }
    turn_version();
}

/// A descriptor was made, and has this number.
pub fn opened(fd: c_int) {
    if fd < 0 {
        return;
    }
    redirect(fd);
    if engine().is_alone() {
        if let Some(known) = files().numbers.get_mut(fd as usize) {
            *known = None;
        }
        return;
    }
    let given_again = known(fd).is_some_and(|n| !n.open);
    let object = objects::create(0, ObjectKind::File, 0);
    note(fd, Number { object, description: object, open: true, file: None });
    if given_again {
        initialisation::note_number(object);
    }
}

/// A number is a copy of another one.
pub fn copied(from: c_int, to: c_int) {
    let original = number(from);
    opened(to);
    let copy = number(to);
    note(to, Number { description: original.description, file: original.file, ..copy });
}

fn known(fd: c_int) -> Option<Number> {
    files().numbers.get(usize::try_from(fd).ok()?).copied().flatten()
}

fn note(fd: c_int, number: Number) {
    let Ok(index) = usize::try_from(fd) else { return };
    let numbers = &mut files().numbers;
    if numbers.len() <= index {
        numbers.resize(index + 1, None);
    }
    numbers[index] = Some(number);
}

/// What the kernel says of a descriptor.
fn status(fd: c_int) -> Option<libc::stat> {
    // SAFETY: zeroes are valid, and the kernel fills it in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        (call!(libc::SYS_fstat, fd, &raw mut status) == 0).then_some(status)
    }
}

/// Takes note of a terminal that the program makes: what is written at one end is read at the other.
pub(super) fn note_terminal(fd: c_int) {
    let is_made = |s: libc::stat| s.st_mode & libc::S_IFMT == libc::S_IFCHR && s.st_rdev == libc::makedev(5, 2);
    if fd >= 0 && status(fd).is_some_and(is_made) {
        unmodelled::note(Unmodelled::Terminals);
    }
}

/// Finds out what file a descriptor is of. Output that nobody compares, devices, pipes and sockets are none.
pub(super) fn find(fd: c_int) -> Option<File> {
    let number = number(fd);
    if number.file.is_some() || !is_open(fd) {
        return number.file.filter(|_| is_open(fd));
    }
    let status = status(fd)?;
    let kind = status.st_mode & libc::S_IFMT;
    if !matches!(kind, libc::S_IFREG | libc::S_IFDIR) {
        return None;
    }
    let path = paths::of_descriptor(fd)?;
    let listing = (kind == libc::S_IFDIR).then(|| names::listing(&path));
    let file = File { object: names::file(&status, &path), listing };
    note(fd, Number { file: Some(file), ..number });
    Some(file)
}

/// Adds the use of a file through its descriptor: its position and its contents, each read, written or left alone.
pub(super) fn add_file(touched: &mut Touched, fd: c_int, position: Option<u64>, contents: Option<u64>) {
    add_use(touched, fd);
    let Some(file) = find(fd) else { return };
    if let Some(how) = position {
        touched.add(number(fd).description, how);
    }
    if let Some(how) = contents {
        touched.add(file.object, how);
    }
}

/// Orders the use of a file through its descriptor.
pub fn order_file(fd: c_int, position: Option<u64>, contents: Option<u64>, looks: bool) {
    if matches!(fd, 1 | 2) && !files().redirected || descriptors::is_frozen(fd) {
        return;
    }
    look_at_numbers();
    order(|touched| {
        touched.looks = looks;
        add_file(touched, fd, position, contents);
    });
    learn_if_closed(fd);
}
