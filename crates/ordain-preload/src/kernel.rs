//! What the program changes in the kernel, in snapshot mode: put back before the next execution, or a reason to leave the mode.
//!
//! Which calls come here is decided by the table of system calls; here their arguments are looked at. In the other modes a process
//! takes what it changed with it when it ends.

use crate::attributes;
use crate::engine::engine;
use crate::files;
use crate::inherited;
use crate::link;
use crate::memory;
use crate::sys::{self, call};
use core::ffi::c_int;
use ordain_wire::{Class, Mode, system_call};

/// Kinds of limits of resources.
const LIMITS: usize = 16;

type Limit = [u64; 2];

/// What there was when main began, and what has changed since then.
struct Kernel {
    /// The working directory.
    directory: c_int,
    directory_changed: bool,
    /// The mask of new files.
    mask: isize,
    mask_changed: bool,
    limits: [Limit; LIMITS],
    limits_changed: bool,
}

static mut KERNEL: Kernel = Kernel {
    directory: -1,
    directory_changed: false,
    mask: 0,
    mask_changed: false,
    limits: [[0; 2]; LIMITS],
    limits_changed: false,
};

fn kernel() -> &'static mut Kernel {
    // SAFETY: only the carrier comes here, and no reference is kept.
    unsafe { &mut *(&raw mut KERNEL) }
}

/// Takes down what there is.
pub fn prepare() {
    let k = kernel();
    // SAFETY: asks for what the process has; the mask can only be asked for by setting it.
    unsafe {
        k.directory = sys::move_high(call!(sys::SYS_open, c".".as_ptr(), libc::O_PATH | libc::O_CLOEXEC));
        k.mask = call!(libc::SYS_umask, 0);
        call!(libc::SYS_umask, k.mask);
        for (resource, limit) in k.limits.iter_mut().enumerate() {
            call!(libc::SYS_prlimit64, 0, resource, 0, limit.as_mut_ptr());
        }
    }
}

/// Puts back what was changed.
pub fn restore() {
    let k = kernel();
    // SAFETY: gives the process what it had.
    unsafe {
        if core::mem::take(&mut k.directory_changed) {
            call!(libc::SYS_fchdir, k.directory);
        }
        if core::mem::take(&mut k.mask_changed) {
            call!(libc::SYS_umask, k.mask);
        }
        if core::mem::take(&mut k.limits_changed) {
            for (resource, limit) in k.limits.iter().enumerate() {
                call!(libc::SYS_prlimit64, 0, resource, limit.as_ptr(), 0);
            }
        }
    }
}

/// The program does what memory cannot undo: another mode goes on.
fn leave(what: &str, name: &str) -> ! {
    link::refuse(format_args!("the program {what} ({name}), which restoring its memory does not undo"))
}

/// The program locks a file by a descriptor that was open when main began: the lock stays.
pub fn leave_for_lock() {
    if engine().mode == Mode::Snapshot {
        leave("locks files that were open when main began", "flock, fcntl");
    }
}

/// A system call that the program makes, or the C library for it, and that nobody models.
pub unsafe fn make(number: i64, arguments: [usize; 6]) -> isize {
    files::order_call(number, arguments);
    let filters = match number {
        libc::SYS_seccomp => arguments[0] as u32 <= libc::SECCOMP_SET_MODE_FILTER,
        libc::SYS_prctl => arguments[0] as c_int == libc::PR_SET_SECCOMP,
        _ => false,
    };
    if filters {
        refuse_filter();
    }
    if let Some(result) = attributes::answer(number, arguments) {
        return result;
    }
    if number == libc::SYS_mlockall || number == libc::SYS_munlockall {
        return memory::lock_nothing(number == libc::SYS_munlockall, arguments[0] as c_int);
    }
    let (class, name) = system_call(number);
    if class == Class::Absent {
        return -(libc::ENOSYS as isize);
    }
    if engine().mode == Mode::Snapshot {
        match class {
            Class::Leaves(what) => leave(what, name),
            Class::PutBack(_) => look(number, arguments, name),
            _ if number == libc::SYS_rt_sigprocmask && arguments[1] != 0 => leave("changes the mask of signals", name),
            Class::Pure | Class::Outside | Class::Modelled | Class::Absent => {}
        }
    }
    let [a, b, c, d, e, f] = crate::handles::with_real_numbers(number, arguments);
    // SAFETY: what the program asks for.
    let result = unsafe { sys::syscall6(number, a, b, c, d, e, f) };
    files::after_call(number, result);
    result
}

/// Takes down what a call is about to change, or leaves the mode if that cannot be undone.
fn look(number: i64, [a, b, c, d, e, _]: [usize; 6], name: &str) {
    let k = kernel();
    match number {
        libc::SYS_chdir | libc::SYS_fchdir if k.directory >= 0 => k.directory_changed = true,
        libc::SYS_umask => k.mask_changed = true,
        libc::SYS_setrlimit => limit(a, b as *const Limit, name),
        libc::SYS_prlimit64 if c == 0 => {}
        libc::SYS_prlimit64 if crate::handles::is_own(a as c_int) => limit(b, c as *const Limit, name),
        libc::SYS_close | libc::SYS_ioctl | libc::SYS_fcntl => look_at_descriptor(number, a as c_int, b as u64, name),
        libc::SYS_dup2 | libc::SYS_dup3 => crate::process::note_descriptor(b as c_int),
        libc::SYS_close_range => crate::process::note_descriptor(a as c_int),
        libc::SYS_brk if a >= crate::snapshot::heap_end() || a == 0 => {}
        libc::SYS_mmap if d as c_int & libc::MAP_FIXED == 0 => {}
        libc::SYS_shmat if c as c_int & libc::SHM_REMAP == 0 => {}
        libc::SYS_mmap | libc::SYS_munmap | libc::SYS_mprotect => memory::check(a, b, name),
        libc::SYS_mlock | libc::SYS_munlock | libc::SYS_mlock2 => memory::check(a, b, name),
        libc::SYS_madvise => memory::check_advice(a, b, c as c_int),
        libc::SYS_mremap => {
            memory::check(a, b, name);
            if d as c_int & libc::MREMAP_FIXED != 0 {
                memory::check(e, c, name);
            }
        }
        libc::SYS_personality if a as u32 == u32::MAX => {}
        libc::SYS_modify_ldt if a == 0 => {}
        libc::SYS_arch_prctl if asks(a) => {}
        libc::SYS_seccomp if a as u32 > libc::SECCOMP_SET_MODE_FILTER => {}
        libc::SYS_prctl if attributes::is_harmless(a as c_int) => {}
        _ => leave("changes its process", name),
    }
}

/// A filter of the program's own would hold for the runtime too.
fn refuse_filter() -> ! {
    link::refuse(format_args!(
        "the program restricts its own system calls (seccomp), which would restrict those of Ordain in it; check it without that"
    ))
}

/// Whether a request of `arch_prctl` changes nothing: the bases of two segments, whether `cpuid` is allowed, features.
fn asks(request: usize) -> bool {
    matches!(request, 0x1003 | 0x1004 | 0x1011 | 0x1021 | 0x1022 | 0x1024 | 0x5005)
}

/// A new limit of a resource. A lower hard limit could not be raised again, and time of the processor is used by all executions.
fn limit(resource: usize, new: *const Limit, name: &str) {
    let Some(old) = kernel().limits.get(resource) else { return };
    // SAFETY: the program's structure; if there is none, this crashes as the kernel would fail.
    let new = unsafe { new.read() };
    let lasts = matches!(resource as u32, libc::RLIMIT_CPU | libc::RLIMIT_AS | libc::RLIMIT_DATA | libc::RLIMIT_RTTIME);
    if lasts || new[1] != old[1] {
        leave("changes limits of its resources", name);
    }
    kernel().limits_changed = true;
}

fn look_at_descriptor(number: i64, fd: c_int, request: u64, name: &str) {
    if number == libc::SYS_ioctl && matches!(request, libc::TIOCSCTTY | libc::TIOCNOTTY) {
        leave("changes its terminal", name);
    }
    if number == libc::SYS_fcntl {
        look_at_control(fd, request as c_int);
    } else {
        crate::process::note_descriptor(fd);
    }
}

/// The program opens a file for writing: what it says to the kernel about itself stays.
pub fn look_at_opening(path: &[u8]) {
    let own = [&b"/proc/self/"[..], b"/proc/thread-self/", b"/proc/5000000/"];
    if engine().mode == Mode::Snapshot && own.iter().any(|p| path.starts_with(p)) {
        leave("writes to files about itself", "/proc");
    }
}

/// What the program asks of a descriptor by `fcntl`.
pub fn look_at_control(fd: c_int, command: c_int) {
    if engine().mode != Mode::Snapshot {
        return;
    }
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => crate::process::note_descriptor(-1),
        libc::F_SETFL | libc::F_SETFD => inherited::note(fd),
        // F_SETSIG, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_ADD_SEALS.
        libc::F_SETOWN | 10 | 15 | 1024 | 1026 | 1031 | 1033 if fd < inherited::end() => {
            leave("changes descriptors that were open when main began", "fcntl")
        }
        _ => {}
    }
}
