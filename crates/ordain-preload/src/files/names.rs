//! Names, the files behind them, and listings of directories, as objects.

use super::paths::{self, Place};
use super::{Touched, files, numbers, object, tree};
use crate::engine::engine;
use crate::hash::number_of;
use crate::objects;
use core::ffi::{CStr, c_char, c_int};
use ordain_model::names::mix;
use ordain_model::{Member, ObjectId, ObjectKind};

/// What keys of different kinds begin with.
const NAME: u64 = 0x6e61_6d65;
const FILE: u64 = 0x6669_6c65;
const LISTING: u64 = 0x6c69_7374;

fn key(kind: u64, text: &[u8]) -> u64 {
    text.chunks(8).map(number_of).fold(mix(kind, text.len() as u64), mix)
}

/// A number for a path.
pub(super) fn key_of(path: &[u8]) -> u64 {
    key(FILE, path)
}

/// The file with this status that is, or was just made, at a path.
pub(super) fn file(status: &libc::stat, path: &[u8]) -> ObjectId {
    let identity = (status.st_dev, status.st_ino);
    if let Some(object) = files().identities.get(&identity) {
        return *object;
    }
    // A file with several names may be met by any of them first.
    let several = status.st_nlink > 1 && status.st_mode & libc::S_IFMT == libc::S_IFREG;
    let key = if several { mix(mix(FILE, identity.0), identity.1) } else { key(FILE, path) };
    let object = objects::find(key, ObjectKind::File, 0);
    files().identities.insert(identity, object);
    object
}

/// A file with this status that has no name and was just made: it is known by its opening.
pub(super) fn file_of(opening: ObjectId, status: &libc::stat) -> ObjectId {
    let key = mix(FILE, engine().arbiter.names().stable_key(opening));
    let object = objects::find(key, ObjectKind::File, 0);
    files().identities.insert((status.st_dev, status.st_ino), object);
    object
}

/// The value of a name: the number of the file that it leads to, or zero.
fn value(path: &[u8]) -> u64 {
    paths::status(path).map_or(0, |status| u64::from(file(&status, path).0))
}

/// The object of a name.
pub(super) fn name(path: &[u8]) -> ObjectId {
    object(key(NAME, path), || {
        files().named.push(path.to_vec());
        value(path)
    })
}

/// Tells the model what all names lead to: a directory was moved, and with it what is in it.
pub(super) fn tell_all() {
    for path in files().named.clone() {
        tell(&path, false);
    }
}

/// The object of what is in a directory: who adds or removes something reads it, who lists all writes it.
pub(super) fn listing(directory: &[u8]) -> ObjectId {
    object(key(LISTING, directory), || 0)
}

/// Tells the model what a name leads to after a step that wrote it. If it led nowhere before, what is there now is new.
pub(super) fn tell(path: &[u8], made: bool) {
    if made && let Some(status) = paths::status(path) {
        files().identities.remove(&(status.st_dev, status.st_ino));
    }
    let Some(&object) = files().objects.get(&key(NAME, path)) else { return };
    let value = value(path);
    if engine().arbiter.value(object) != value {
        engine().set_value(object, value);
    }
}

/// Whether a directory is there.
pub(super) fn is_directory(path: &[u8]) -> bool {
    paths::status(path).is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFDIR)
}

/// Whether nothing is there.
pub(super) fn is_free(path: &[u8]) -> bool {
    paths::status(path).is_none()
}

/// Adds the way to a place, and the name there in this way.
pub(super) fn add(touched: &mut Touched, place: &Place, how: u64) {
    touched.by_path = true;
    touched.add(tree(), Member::READ);
    for path in &place.way {
        touched.add(name(path), Member::READ);
    }
    for fd in &place.uses {
        numbers::add_number(touched, *fd, Member::READ);
    }
    if let Some(fd) = place.open {
        return add_open(touched, fd, how);
    }
    add_name(touched, place, how);
}

/// What is done to the file behind a name.
fn contents(how: u64) -> Option<u64> {
    match how {
        _ if how & (Member::WRITE | Member::WRITE_BEHIND) != 0 => Some(Member::WRITE),
        _ if how & Member::READ_BEHIND != 0 => Some(Member::READ),
        _ => None,
    }
}

/// Adds what is done to an open file through a path of the kernel's, which tells its name too.
fn add_open(touched: &mut Touched, fd: c_int, how: u64) {
    numbers::add_file(touched, fd, None, contents(how));
    if let Some(path) = paths::of_descriptor(fd).filter(|path| paths::status(path).is_some()) {
        touched.add(name(&path), Member::READ);
    }
}

/// Adds the name at a place.
fn add_name(touched: &mut Touched, place: &Place, how: u64) {
    touched.add(name(&place.path()), how);
    if how & (Member::WRITE | Member::MAKE) != 0 {
        touched.add(listing(&place.directory), Member::READ);
    }
}

/// Adds the descriptors that a path goes through: the directory that it begins at, and one that it names.
pub(super) unsafe fn add_numbers(touched: &mut Touched, at: c_int, path: *const c_char) {
    if path.is_null() {
        return;
    }
    // SAFETY: the program's path.
    let text = unsafe { CStr::from_ptr(path) }.to_bytes();
    let begins = (at >= 0 && text.first() != Some(&b'/')).then_some(at);
    for fd in begins.into_iter().chain(paths::number_in(text)) {
        numbers::add_use(touched, fd);
        numbers::learn_if_closed(fd);
    }
}

/// Adds what a path of the program leads to.
pub(super) unsafe fn add_path(touched: &mut Touched, at: c_int, path: *const c_char, follows: bool, how: u64) {
    // SAFETY: the program's path.
    unsafe { add_numbers(touched, at, path) };
    // SAFETY: the program's path.
    if let Some(place) = unsafe { paths::place(at, path, follows) } {
        add(touched, &place, how);
    }
}
