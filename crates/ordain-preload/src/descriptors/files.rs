//! Opening files: what matters is what differs from run to run, such as devices and files of the kernel's.

use super::{Entry, Kind, descriptors, fifo, insert, outside};
use crate::context::interpose;
use crate::engine::engine;
use crate::files;
use crate::handles;
use crate::inherited;
use crate::kernel;
use crate::link::control;
use crate::process::note_descriptor;
use crate::real::{c_result, call_real};
use crate::sys::{self, call};
use crate::unmodelled::{Named, Unmodelled, note_name};
use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::Ordering::Relaxed;

/// Kinds of file systems whose files say how the system is at this moment.
const PROC: c_long = 0x9fa0;
const SYS: c_long = 0x6265_6572;
/// Devices of memory: random bytes, and those that are the same whenever they are read.
const RANDOM: [libc::dev_t; 2] = [libc::makedev(1, 8), libc::makedev(1, 9)];
const PLAIN: [libc::dev_t; 3] = [libc::makedev(1, 3), libc::makedev(1, 5), libc::makedev(1, 7)];

interpose! {
    open => open_file; open64 => open_file; __open => open_file; __open64 => open_file;
    __open_2 => open_file; __open64_2 => open_file;
    openat => open_at; openat64 => open_at; __openat_2 => open_at; __openat64_2 => open_at;
    fopen => open_stream; fopen64 => open_stream;
}

unsafe extern "C" fn open_file(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

unsafe extern "C" fn open_at(directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: what the program asks for.
    c_result(unsafe { raw_open(directory, path, flags, mode) }) as c_int
}

/// Opens a file; gives what the system call gives.
pub unsafe fn raw_open(directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> isize {
    // SAFETY: what the program asks for.
    unsafe {
        let mut room = [0; 256];
        let real = real_path(path, &mut room);
        files::look_at_paths();
        if let Some(output) = output_at(directory, real, flags) {
            return copy_output(output, flags);
        }
        if flags & libc::O_ACCMODE != libc::O_RDONLY && !path.is_null() {
            kernel::look_at_opening(CStr::from_ptr(path).to_bytes());
        }
        let was_there = was_there(directory, real, flags);
        let fd = match fifo_at(directory, real, flags) {
            Some(status) => match fifo::pipe_of(&status) {
                Some(known) => match fifo::open_again(directory, real, flags, known) {
                    Some(fd) => fd,
                    None => return raw_open(directory, path, flags, mode),
                },
                None => fifo::open(directory, real, flags, &status, files::path_key(directory, real)),
            },
            None => files::open(directory, real, flags, mode),
        };
        note_descriptor(fd as c_int);
        if fd == -libc::EEXIST as isize {
            note_name(Named::New);
        }
        if fd >= 0 && flags & libc::O_PATH == 0 && !path.is_null() {
            know(fd as c_int, CStr::from_ptr(path).to_bytes(), flags, was_there);
        }
        fd
    }
}

/// Whether there is something at a path that is to be opened, if opening it would make a file otherwise.
unsafe fn was_there(directory: c_int, path: *const c_char, flags: c_int) -> bool {
    const NEW: c_int = libc::O_CREAT | libc::O_EXCL;
    if path.is_null() || flags & NEW != libc::O_CREAT {
        return flags & NEW != NEW;
    }
    // SAFETY: the program's path; zeroes are valid, and the kernel fills them in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        call!(libc::SYS_newfstatat, directory, path, &raw mut status, 0) == 0
    }
}

/// The descriptor of standard output or standard error that a path leads to (`/dev/stdout`), if it is to be written there.
unsafe fn output_at(directory: c_int, path: *const c_char, flags: c_int) -> Option<c_int> {
    if flags & libc::O_ACCMODE == libc::O_RDONLY || path.is_null() || flags & (libc::O_PATH | libc::O_NOFOLLOW) != 0 {
        return None;
    }
    // SAFETY: the program's path; zeroes are valid, and the kernel fills them in.
    unsafe {
        let text = CStr::from_ptr(path).to_bytes();
        if !text.starts_with(b"/dev/") && !text.starts_with(b"/proc/") {
            return None;
        }
        let identity = |at: c_int, path: *const c_char, flags: c_int| {
            let mut status: libc::stat = core::mem::zeroed();
            let result = call!(libc::SYS_newfstatat, at, path, &raw mut status, flags);
            // What the launcher gives the program has no name.
            let is_one = result == 0 && status.st_mode & libc::S_IFMT == libc::S_IFREG && status.st_nlink == 0;
            is_one.then_some((status.st_dev, status.st_ino))
        };
        let open = |fd: c_int| identity(fd, c"".as_ptr(), libc::AT_EMPTY_PATH);
        let wanted = identity(directory, path, 0)?;
        [1, 2].into_iter().find(|fd| open(inherited::standard(*fd as usize)) == Some(wanted))
    }
}

/// Opens standard output or standard error again: a copy, because nothing is written over there.
unsafe fn copy_output(output: c_int, flags: c_int) -> isize {
    let command = if flags & libc::O_CLOEXEC != 0 { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
    files::take_number();
    // SAFETY: copies a descriptor of our own into the program's reach.
    let fd = unsafe { call!(sys::SYS_fcntl, inherited::standard(output as usize), command, 0) };
    note_descriptor(fd as c_int);
    files::opened(fd as c_int);
    if fd >= 0 && control().compare_output.load(Relaxed) != 0 {
        insert(fd as c_int, Entry::new(Kind::Output(output as usize - 1)));
    }
    fd
}

/// What is known of the FIFO or the pipe at a path, if there is one that only threads of the program open.
unsafe fn fifo_at(directory: c_int, path: *const c_char, flags: c_int) -> Option<libc::stat> {
    if descriptors().shared || path.is_null() || flags & libc::O_PATH != 0 {
        return None;
    }
    // SAFETY: zeroes are valid, and the kernel fills it in.
    let status = unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        if call!(libc::SYS_newfstatat, directory, path, &raw mut status, 0) < 0 {
            return None;
        }
        status
    };
    let exclusive = flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL;
    let is_one = status.st_mode & libc::S_IFMT == libc::S_IFIFO && !exclusive;
    // SAFETY: the program's path.
    (is_one && unsafe { fifo::pipe_of(&status).is_some() || !is_pipe(directory, path) }).then_some(status)
}

/// Whether a path leads to a pipe, which is in no directory: nobody waits to open it.
unsafe fn is_pipe(directory: c_int, path: *const c_char) -> bool {
    const PIPES: c_long = 0x5049_5045;
    // SAFETY: a descriptor of our own, and zeroes that the kernel fills in.
    unsafe {
        let held = call!(libc::SYS_openat, directory, path, libc::O_PATH | libc::O_CLOEXEC);
        let mut system: libc::statfs = core::mem::zeroed();
        let result = call!(libc::SYS_fstatfs, held, &raw mut system);
        call!(sys::SYS_close, held);
        result == 0 && system.f_type == PIPES
    }
}

/// Finds out what was opened.
unsafe fn know(fd: c_int, path: &[u8], flags: c_int, was_there: bool) {
    let reads = flags & libc::O_ACCMODE == libc::O_RDONLY;
    // SAFETY: asks about the new descriptor.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        if call!(libc::SYS_fstat, fd, &raw mut status) < 0 {
            return;
        }
        match status.st_mode & libc::S_IFMT {
            libc::S_IFCHR if RANDOM.contains(&status.st_rdev) => insert(fd, Entry::new(Kind::Random)),
            libc::S_IFCHR if !PLAIN.contains(&status.st_rdev) => outside::adopt(fd, path),
            libc::S_IFREG if reads && is_of_kernel(fd, path) && outside::freeze(fd, path) => {
                insert(fd, Entry::new(Kind::Frozen(engine().me())));
            }
            libc::S_IFREG if !was_there => note_name(Named::New),
            libc::S_IFREG if !reads && status.st_nlink > 0 => note_name(Named::Existing),
            _ => {}
        }
    }
}

/// Whether a file is the kernel's word on the system.
unsafe fn is_of_kernel(fd: c_int, path: &[u8]) -> bool {
    if !path.starts_with(b"/proc/") && !path.starts_with(b"/sys/") {
        return false;
    }
    // SAFETY: asks about the new descriptor.
    unsafe {
        let mut system: libc::statfs = core::mem::zeroed();
        call!(libc::SYS_fstatfs, fd, &raw mut system) == 0 && matches!(system.f_type, PROC | SYS)
    }
}

/// The path with the real number of a process, if it is about one whose number the program sees otherwise.
unsafe fn real_path(path: *const c_char, room: &mut [u8; 256]) -> *const c_char {
    if path.is_null() {
        return path;
    }
    // SAFETY: the program's path.
    let text = unsafe { CStr::from_ptr(path) }.to_bytes();
    let Some(rest) = text.strip_prefix(b"/proc/") else { return path };
    let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
    let number = core::str::from_utf8(&rest[..digits]).ok().and_then(|n| n.parse::<c_int>().ok());
    let Some(shown) = number else { return path };
    let real = handles::real_process(shown);
    if real == shown {
        return path;
    }
    let (mut text, mut left) = ([0; 12], real);
    let mut begin = text.len();
    while left > 0 {
        begin -= 1;
        text[begin] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let mut parts = [&b"/proc/"[..], &text[begin..], &rest[digits..], b"\0"].into_iter();
    let fits = parts.try_fold(0, |at, part| {
        room.get_mut(at..at + part.len())?.copy_from_slice(part);
        Some(at + part.len())
    });
    if fits.is_some() { room.as_ptr().cast() } else { path }
}

unsafe extern "C" fn open_stream(path: *const c_char, how: *const c_char) -> *mut libc::FILE {
    // SAFETY: what the program asks for.
    unsafe {
        let text = CStr::from_ptr(path).to_bytes();
        let letters = CStr::from_ptr(how).to_bytes();
        let reads = letters.starts_with(b"r") && !letters.contains(&b'+');
        let closes = if letters.contains(&b'e') { libc::O_CLOEXEC } else { 0 };
        if reads && matches!(text, b"/dev/urandom" | b"/dev/random") {
            return random_stream();
        }
        if !reads || !(text.starts_with(b"/proc/") || text.starts_with(b"/sys/")) {
            if !reads {
                kernel::look_at_opening(text);
            }
            note_descriptor(-1);
            if !reads
                && !text.starts_with(b"/dev/")
                && control().unmodelled.load(Relaxed) & Unmodelled::Unseen.bit() != 0
            {
                // What the C library opens by itself is not seen.
                note_name(Named::Existing);
            }
            return call_real!(fopen(path, how));
        }
        let fd = open_at(libc::AT_FDCWD, path, libc::O_RDONLY | closes, 0);
        if fd < 0 { core::ptr::null_mut() } else { libc::fdopen(fd, how) }
    }
}

#[repr(C)]
struct StreamFunctions {
    read: unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> isize,
    others: [usize; 3],
}

unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, how: *const c_char, functions: StreamFunctions) -> *mut libc::FILE;
}

fn random_stream() -> *mut libc::FILE {
    let functions = StreamFunctions { read: outside::read_random, others: [0; 3] };
    // SAFETY: a stream that only reads, from memory of our own.
    unsafe { fopencookie(core::ptr::null_mut(), c"r".as_ptr(), functions) }
}

/// Another descriptor that came from the same opening.
pub(super) fn same_opening(fd: c_int) -> Option<c_int> {
    let known = descriptors().entries.iter().enumerate().filter(|(other, e)| e.is_some() && *other as c_int != fd);
    known.map(|(other, _)| other as c_int).find(|other| is_same_opening(fd, *other))
}

/// Whether two descriptors came from one opening. If the kernel cannot tell, they did not.
pub(super) fn is_same_opening(a: c_int, b: c_int) -> bool {
    // SAFETY: asks about descriptors of this process.
    unsafe {
        let process = call!(sys::SYS_getpid);
        a == b || call!(libc::SYS_kcmp, process, process, 0, a, b) == 0
    }
}
