//! System calls on files and paths, by number: what each touches, and what it leaves behind.

use super::names::{self, add_path};
use super::paths::{self, Place};
use super::state::add_mask;
use super::{Touched, files, locks, look_at_paths, messages, numbers, order, tree, turn_version};
use crate::descriptors;
use crate::engine::engine;
use crate::kernel;
use crate::signals;
use crate::sys::{call, syscall6};
use crate::unmodelled::{self, Named, Unmodelled};
use core::ffi::{c_char, c_int, c_void};
use libc::{AT_EMPTY_PATH, AT_FDCWD, AT_REMOVEDIR, AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW};
use libc::{O_CREAT, O_EXCL, O_NOFOLLOW, O_TRUNC, O_WRONLY};
use ordain_model::{Member, ObjectId};

const READ: u64 = Member::READ;
const WRITE: u64 = Member::WRITE;
/// Something new is made at a name.
const MAKE_NEW: u64 = Member::WRITE | Member::NEW;
/// The file behind a name is looked at.
const LOOK: u64 = Member::READ | Member::READ_BEHIND;
/// The file behind a name is changed.
const CHANGE: u64 = Member::READ | Member::WRITE_BEHIND;
/// A name goes away, and with it a link of the file.
const REMOVE: u64 = Member::WRITE | Member::WRITE_BEHIND;

/// Whether a system call that the C library makes by itself is followed.
pub fn is_followed(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_open
            | libc::SYS_openat
            | libc::SYS_openat2
            | libc::SYS_creat
            | libc::SYS_close
            | libc::SYS_read
            | libc::SYS_write
            | libc::SYS_readv
            | libc::SYS_writev
            | libc::SYS_flock
    ) || is_on_files(number)
        || messages::is_one(number)
}

fn is_on_files(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_pread64..=libc::SYS_pwrite64
            | libc::SYS_preadv
            | libc::SYS_pwritev
            | libc::SYS_preadv2
            | libc::SYS_pwritev2
            | libc::SYS_lseek
            | libc::SYS_stat..=libc::SYS_lstat
            | libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_statfs
            | libc::SYS_fstatfs
            | libc::SYS_access
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_readlink
            | libc::SYS_readlinkat
            | libc::SYS_getdents
            | libc::SYS_getdents64
            | libc::SYS_rename
            | libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_link
            | libc::SYS_linkat
            | libc::SYS_symlink
            | libc::SYS_symlinkat
            | libc::SYS_unlink
            | libc::SYS_unlinkat
            | libc::SYS_mkdir
            | libc::SYS_mkdirat
            | libc::SYS_rmdir
            | libc::SYS_mknod
            | libc::SYS_mknodat
            | libc::SYS_chmod
            | libc::SYS_fchmod
            | libc::SYS_fchmodat
            | libc::SYS_chown
            | libc::SYS_fchown
            | libc::SYS_lchown
            | libc::SYS_fchownat
            | libc::SYS_utimensat
            | libc::SYS_utime
            | libc::SYS_utimes
            | libc::SYS_futimesat
            | libc::SYS_setxattr..=libc::SYS_fremovexattr
            | libc::SYS_truncate
            | libc::SYS_ftruncate
            | libc::SYS_fallocate
            | libc::SYS_chdir
            | libc::SYS_fchdir
            | libc::SYS_sendfile
            | libc::SYS_copy_file_range
            | libc::SYS_splice
            | libc::SYS_tee
            | libc::SYS_vmsplice
            | libc::SYS_inotify_init
            | libc::SYS_inotify_init1
            | libc::SYS_fanotify_init
    )
}

/// Makes a system call of the program that is followed.
pub unsafe fn system_call(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: what the program asks for.
    unsafe {
        let plain = || syscall6(number, a, b, c, d, e, f);
        match number {
            libc::SYS_open => descriptors::raw_open(AT_FDCWD, a as *const c_char, b as c_int, c as u32),
            libc::SYS_openat => descriptors::raw_open(a as c_int, b as *const c_char, c as c_int, d as u32),
            libc::SYS_creat => {
                descriptors::raw_open(AT_FDCWD, a as *const c_char, O_CREAT | O_WRONLY | O_TRUNC, b as u32)
            }
            libc::SYS_openat2 => {
                let flags = if c == 0 { 0 } else { (c as *const u64).read() as c_int };
                look_at_paths();
                open_with(a as c_int, b as *const c_char, flags, plain)
            }
            libc::SYS_flock => locks::lock_whole(a as c_int, b as c_int),
            libc::SYS_close => descriptors::raw_close(a as c_int),
            libc::SYS_read => descriptors::raw_read(a as c_int, b as *mut c_void, c),
            libc::SYS_write => descriptors::raw_write(a as c_int, b as *const c_void, c),
            libc::SYS_readv => descriptors::raw_read_many(a as c_int, b as *mut libc::iovec, c),
            libc::SYS_writev => descriptors::raw_write_many(a as c_int, b as *const libc::iovec, c),
            _ if messages::is_one(number) => messages::system_call(number, arguments),
            _ => {
                let result = if by_descriptor(number, arguments) { plain() } else { by_path(number, arguments, plain) };
                if result == -(libc::EFBIG as isize) {
                    signals::exceed_size();
                }
                result
            }
        }
    }
}

/// Orders a call that takes a descriptor; false if it takes paths.
fn by_descriptor(number: i64, [a, b, c, ..]: [usize; 6]) -> bool {
    let fd = a as c_int;
    match number {
        libc::SYS_pread64 | libc::SYS_preadv | libc::SYS_preadv2 => {
            numbers::order_file(fd, None, Some(READ), false);
        }
        libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            numbers::order_file(fd, None, Some(WRITE), false);
        }
        libc::SYS_lseek => {
            let end = c as c_int == libc::SEEK_END;
            numbers::order_file(fd, Some(WRITE), end.then_some(READ), false);
        }
        libc::SYS_fstat => order_status(fd),
        libc::SYS_fgetxattr | libc::SYS_flistxattr | libc::SYS_fstatfs => {
            numbers::order_file(fd, None, Some(READ), true)
        }
        libc::SYS_fsetxattr | libc::SYS_fremovexattr => numbers::order_file(fd, None, Some(WRITE), false),
        libc::SYS_ftruncate | libc::SYS_fallocate | libc::SYS_fchmod | libc::SYS_fchown => {
            numbers::order_file(fd, None, Some(WRITE), false);
        }
        libc::SYS_getdents | libc::SYS_getdents64 => order(|touched| {
            paths::note_listing(fd);
            numbers::add_file(touched, fd, Some(WRITE), None);
            if let Some(listing) = numbers::find(fd).and_then(|n| n.listing) {
                touched.add(listing, WRITE);
            }
        }),
        libc::SYS_sendfile => copy(fd, b as c_int),
        libc::SYS_copy_file_range | libc::SYS_splice | libc::SYS_tee => copy(c as c_int, fd),
        libc::SYS_vmsplice => unmodelled::note_if_shared(Unmodelled::Other),
        libc::SYS_inotify_init | libc::SYS_inotify_init1 | libc::SYS_fanotify_init => {
            unmodelled::note_if_shared(Unmodelled::Inotify);
        }
        _ => return false,
    }
    true
}

/// Orders a call that moves bytes from one descriptor to another. What goes through pipes and sockets between threads is not followed.
fn copy(to: c_int, from: c_int) {
    if descriptors::is_known(to) || descriptors::is_known(from) {
        unmodelled::note_if_shared(Unmodelled::Other);
    }
    order(|touched| {
        numbers::add_file(touched, from, Some(WRITE), Some(READ));
        numbers::add_file(touched, to, Some(WRITE), Some(WRITE));
    });
}

/// Orders a call that takes paths, and makes it.
unsafe fn by_path(number: i64, [a, b, c, d, e, _]: [usize; 6], plain: impl FnOnce() -> isize) -> isize {
    let path = |word: usize| word as *const c_char;
    let flag = |flags: usize, flag: c_int| flags as c_int & flag != 0;
    look_at_paths();
    // SAFETY: the program's paths.
    unsafe {
        match number {
            libc::SYS_access | libc::SYS_readlink => look(AT_FDCWD, path(a), number == libc::SYS_access, plain),
            libc::SYS_stat | libc::SYS_lstat => status(AT_FDCWD, path(a), number == libc::SYS_stat, plain),
            libc::SYS_newfstatat if flag(d, AT_EMPTY_PATH) && *path(b) == 0 => {
                order_status(a as c_int);
                plain()
            }
            libc::SYS_statx if flag(c, AT_EMPTY_PATH) && (b == 0 || *path(b) == 0) => {
                order_status(a as c_int);
                plain()
            }
            libc::SYS_newfstatat => status(a as c_int, path(b), !flag(d, AT_SYMLINK_NOFOLLOW), plain),
            libc::SYS_statx => status(a as c_int, path(b), !flag(c, AT_SYMLINK_NOFOLLOW), plain),
            libc::SYS_faccessat => look(a as c_int, path(b), true, plain),
            libc::SYS_faccessat2 => look(a as c_int, path(b), !flag(d, AT_SYMLINK_NOFOLLOW), plain),
            libc::SYS_readlinkat => look(a as c_int, path(b), false, plain),
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_truncate => change(AT_FDCWD, path(a), true, plain),
            libc::SYS_utime | libc::SYS_utimes | libc::SYS_setxattr | libc::SYS_removexattr => {
                change(AT_FDCWD, path(a), true, plain)
            }
            libc::SYS_lsetxattr | libc::SYS_lremovexattr => change(AT_FDCWD, path(a), false, plain),
            libc::SYS_getxattr | libc::SYS_listxattr | libc::SYS_statfs => look(AT_FDCWD, path(a), true, plain),
            libc::SYS_lgetxattr | libc::SYS_llistxattr => look(AT_FDCWD, path(a), false, plain),
            libc::SYS_futimesat if b == 0 => {
                numbers::order_file(a as c_int, None, Some(WRITE), false);
                plain()
            }
            libc::SYS_futimesat => change(a as c_int, path(b), true, plain),
            libc::SYS_lchown => change(AT_FDCWD, path(a), false, plain),
            libc::SYS_fchmodat => change(a as c_int, path(b), true, plain),
            libc::SYS_utimensat if b == 0 => {
                numbers::order_file(a as c_int, None, Some(WRITE), false);
                plain()
            }
            libc::SYS_utimensat => change(a as c_int, path(b), !flag(d, AT_SYMLINK_NOFOLLOW), plain),
            libc::SYS_fchownat => change(a as c_int, path(b), !flag(e, AT_SYMLINK_NOFOLLOW), plain),
            libc::SYS_unlink | libc::SYS_rmdir => remove(AT_FDCWD, path(a), number == libc::SYS_rmdir, plain),
            libc::SYS_unlinkat => remove(a as c_int, path(b), flag(c, AT_REMOVEDIR), plain),
            libc::SYS_mkdir => make(AT_FDCWD, path(a), Made::Directory, plain),
            libc::SYS_mkdirat => make(a as c_int, path(b), Made::Directory, plain),
            libc::SYS_mknod => make(AT_FDCWD, path(a), Made::Node, plain),
            libc::SYS_mknodat => make(a as c_int, path(b), Made::Node, plain),
            libc::SYS_symlink => make(AT_FDCWD, path(b), Made::Link, plain),
            libc::SYS_symlinkat => make(b as c_int, path(c), Made::Link, plain),
            libc::SYS_rename => rename((AT_FDCWD, path(a)), (AT_FDCWD, path(b)), 0, plain),
            libc::SYS_renameat => rename((a as c_int, path(b)), (c as c_int, path(d)), 0, plain),
            libc::SYS_renameat2 => rename((a as c_int, path(b)), (c as c_int, path(d)), e as u32, plain),
            libc::SYS_link => link((AT_FDCWD, path(a)), (AT_FDCWD, path(b)), false, plain),
            libc::SYS_linkat => link((a as c_int, path(b)), (c as c_int, path(d)), flag(e, AT_SYMLINK_FOLLOW), plain),
            libc::SYS_chdir | libc::SYS_fchdir => {
                order(|touched| {
                    if number == libc::SYS_chdir {
                        add_path(touched, AT_FDCWD, path(a), true, READ);
                    } else {
                        numbers::add_use(touched, a as c_int);
                    }
                    touched.add(tree(), WRITE);
                });
                // It is put back in snapshot mode.
                let result = kernel::make(number, [a, b, c, d, e, 0]);
                forget_directories();
                result
            }
            _ => plain(),
        }
    }
}

/// Tells what a name leads to after it was changed; executions at the same time would share it.
fn tell(place: &Place, made: bool, named: Named) {
    unmodelled::note_name(named);
    names::tell(&place.path(), made);
}

/// Paths may mean something else.
fn forget_directories() {
    files().directories.clear();
    turn_version();
}

/// Whether nothing of this execution is known yet, so that nothing can have become wrong.
fn is_fresh() -> bool {
    engine().is_alone() && files().objects.is_empty() && files().identities.is_empty()
}

/// Where a path leads, if what is there now must be told.
unsafe fn place(at: c_int, path: *const c_char, follows: bool) -> Option<Place> {
    if is_fresh() {
        return None;
    }
    // SAFETY: the program's path.
    unsafe { paths::place(at, path, follows) }
}

unsafe fn look(at: c_int, path: *const c_char, follows: bool, plain: impl FnOnce() -> isize) -> isize {
    order(|touched| {
        touched.looks = true;
        // SAFETY: the program's path.
        unsafe { add_path(touched, at, path, follows, LOOK) };
    });
    plain()
}

/// Asks for the status of a file. That of a directory counts what is in it, and tells when that changed.
unsafe fn status(at: c_int, path: *const c_char, follows: bool, plain: impl FnOnce() -> isize) -> isize {
    order(|touched| {
        // SAFETY: the program's path.
        let place = unsafe {
            add_path(touched, at, path, follows, LOOK);
            paths::place(at, path, follows)
        };
        touched.looks = match place.map(|place| place.path()) {
            Some(path) if names::is_directory(&path) => {
                touched.add(names::listing(&path), WRITE);
                false
            }
            _ => true,
        };
    });
    plain()
}

/// Orders asking for the status of what is open.
fn order_status(fd: c_int) {
    let Some(listing) = numbers::find(fd).and_then(|n| n.listing) else {
        return numbers::order_file(fd, None, Some(READ), true);
    };
    order(|touched| {
        numbers::add_file(touched, fd, None, Some(READ));
        touched.add(listing, WRITE);
    });
}

unsafe fn change(at: c_int, path: *const c_char, follows: bool, plain: impl FnOnce() -> isize) -> isize {
    // SAFETY: the program's path.
    order(|touched| unsafe { add_path(touched, at, path, follows, CHANGE) });
    unmodelled::note_name(Named::Existing);
    plain()
}

/// Whether what is at a place decides what paths mean: a link, or a directory that was there before.
fn is_of_tree(path: &[u8]) -> bool {
    paths::status(path).is_some_and(|status| match status.st_mode & libc::S_IFMT {
        libc::S_IFLNK => true,
        libc::S_IFDIR => !files().made.iter().any(|made| made == path),
        _ => false,
    })
}

/// Adds a place that goes away or is moved, and the tree if that changes what paths mean.
unsafe fn add_leaving(touched: &mut Touched, (at, path): At, how: u64, of_tree: impl Fn(&[u8]) -> bool) {
    // SAFETY: the program's path.
    unsafe { names::add_numbers(touched, at, path) };
    // SAFETY: the program's path.
    if let Some(place) = unsafe { paths::place(at, path, false) } {
        names::add(touched, &place, how);
        if of_tree(&place.path()) {
            touched.add(tree(), WRITE);
        }
    }
}

unsafe fn remove(at: c_int, path: *const c_char, directory: bool, plain: impl FnOnce() -> isize) -> isize {
    // SAFETY: the program's path.
    unsafe {
        order(|touched| add_leaving(touched, (at, path), REMOVE, is_of_tree));
        let place = place(at, path, false);
        let result = plain();
        if let Some(place) = place.filter(|_| result == 0) {
            tell(&place, false, Named::New);
            if directory {
                forget_directories();
            }
        }
        result
    }
}

/// What is made at a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Directory,
    Node,
    Link,
}

unsafe fn make(at: c_int, path: *const c_char, made: Made, plain: impl FnOnce() -> isize) -> isize {
    // SAFETY: the program's path.
    unsafe {
        order(|touched| {
            add_path(touched, at, path, false, MAKE_NEW);
            if made == Made::Link {
                touched.add(tree(), WRITE);
            } else {
                add_mask(touched);
            }
        });
        let place = paths::place(at, path, false);
        let result = plain();
        if let Some(place) = place.filter(|_| result == 0) {
            tell(&place, true, Named::New);
            match made {
                Made::Directory => {
                    files().made.push(place.path());
                    turn_version();
                }
                Made::Link => forget_directories(),
                Made::Node => {}
            }
        }
        result
    }
}

type At = (c_int, *const c_char);

unsafe fn rename(from: At, to: At, flags: u32, plain: impl FnOnce() -> isize) -> isize {
    let new = if flags & libc::RENAME_NOREPLACE != 0 { MAKE_NEW } else { REMOVE };
    // SAFETY: the program's paths.
    unsafe {
        order(|touched| {
            add_leaving(touched, from, WRITE, is_directory_or_link);
            add_path(touched, to.0, to.1, false, new);
        });
        let (source, target) = (place(from.0, from.1, false), place(to.0, to.1, false));
        let result = plain();
        if let (0, Some(source), Some(target)) = (result, source, target) {
            tell(&source, false, Named::Existing);
            tell(&target, false, Named::Existing);
            if files().made.contains(&source.path()) {
                files().made.push(target.path());
            }
            if is_directory_or_link(&target.path()) {
                forget_directories();
                names::tell_all();
            }
        }
        result
    }
}

fn is_directory_or_link(path: &[u8]) -> bool {
    paths::status(path).is_some_and(|s| matches!(s.st_mode & libc::S_IFMT, libc::S_IFDIR | libc::S_IFLNK))
}

unsafe fn link(from: At, to: At, follows: bool, plain: impl FnOnce() -> isize) -> isize {
    // SAFETY: the program's paths.
    unsafe {
        order(|touched| {
            add_path(touched, from.0, from.1, follows, CHANGE);
            add_path(touched, to.0, to.1, false, MAKE_NEW);
        });
        let target = place(to.0, to.1, false);
        let result = plain();
        if let Some(target) = target.filter(|_| result == 0) {
            tell(&target, false, Named::Existing);
        }
        result
    }
}

/// Opens a file by `plain`, in its order.
pub unsafe fn open_with(at: c_int, path: *const c_char, flags: c_int, plain: impl FnOnce() -> isize) -> isize {
    let exclusive = flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL;
    let temporary = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let follows = !exclusive && flags & O_NOFOLLOW == 0;
    let cuts = if flags & O_TRUNC != 0 { Member::WRITE_BEHIND } else { 0 };
    let how = match flags & O_CREAT != 0 && !temporary {
        _ if exclusive => MAKE_NEW,
        true => Member::MAKE | cuts,
        false => READ | cuts,
    };
    // SAFETY: the program's path.
    unsafe {
        order(|touched| {
            add_path(touched, at, path, follows, how);
            numbers::add_table(touched);
            if flags & O_CREAT != 0 || temporary {
                add_mask(touched);
            }
        });
        let place = if flags & O_CREAT != 0 { place(at, path, follows) } else { None };
        let free = place.as_ref().is_some_and(|p| names::is_free(&p.path()));
        let fd = plain();
        numbers::opened(fd as c_int);
        numbers::note_terminal(fd as c_int);
        if temporary && fd >= 0 {
            numbers::made_without_name(fd as c_int);
        }
        if let Some(place) = place.filter(|_| free && fd >= 0) {
            names::tell(&place.path(), true);
        }
        fd
    }
}

/// Opens a file, in its order.
pub unsafe fn open(at: c_int, path: *const c_char, flags: c_int, mode: u32) -> isize {
    // SAFETY: what the program asks for.
    unsafe { open_with(at, path, flags, || call!(libc::SYS_openat, at, path, flags, mode)) }
}

/// Orders a call on a socket with an address, which may be a path: the name is looked up, or made.
pub unsafe fn order_address(
    fd: c_int,
    how: u64,
    path: *const c_char,
    makes: bool,
    mut others: impl FnMut(&mut dyn FnMut(ObjectId, u64)),
) {
    if !path.is_null() {
        look_at_paths();
    }
    order(|touched| {
        numbers::add_opening(touched, fd, how);
        if !path.is_null() {
            // SAFETY: a path.
            unsafe { add_path(touched, AT_FDCWD, path, !makes, if makes { WRITE } else { LOOK }) };
        }
        if makes {
            add_mask(touched);
        }
        others(&mut |object, how| touched.add(object, how));
    });
    numbers::learn_if_closed(fd);
}

/// A socket has made a name, if its address is one.
pub unsafe fn made_socket(path: *const c_char) {
    // SAFETY: a path, unless it is null.
    if let Some(place) = unsafe { place(AT_FDCWD, path, false) } {
        tell(&place, true, Named::Existing);
    }
}

/// A number for what a path leads to that is the same in every execution.
pub unsafe fn path_key(at: c_int, path: *const c_char) -> u64 {
    // SAFETY: the program's path.
    unsafe { paths::place(at, path, true) }.map_or(1, |place| names::key_of(&place.path()))
}

/// A command of `fcntl` that locks a part of a file; `None` if it is another.
pub unsafe fn lock(fd: c_int, command: c_int, argument: usize) -> Option<isize> {
    // SAFETY: what the program asks for.
    unsafe { locks::lock_part(fd, command, argument as *mut libc::flock) }
}
