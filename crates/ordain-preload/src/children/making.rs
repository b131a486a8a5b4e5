//! Making child processes: by the functions of the C library, and by system calls.
//!
//! What the C library makes by itself must be known too: a child that it makes has a copy of everything, and shares all descriptors.

use super::{handlers, locks, refuse_shared_locks};
use crate::context::interpose;
use crate::dispatch::undisturbed;
use crate::engine::{self, active, engine};
use crate::handles::{self, add_child, next_child, real_process};
use crate::link::{self, control};
use crate::real::{self, c_result, call_real, set_errno};
use crate::sys::{self, call};
use crate::{descriptors, files, objects, process, signals, spin, time, trap, watch};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use ordain_wire::Mode;

interpose! {
    fork => fork_process; __fork => fork_process; vfork => fork_for_exec; __vfork => fork_for_exec; _Fork => fork_for_exec;
    posix_spawn => spawn_process; posix_spawnp => spawn_process_in_path; system => run_command; popen => open_command;
    pidfd_spawn => spawn_with_descriptor; pidfd_spawnp => spawn_in_path_with_descriptor; wordexp => expand_words;
    daemon => become_daemon; forkpty => fork_with_terminal;
    pidfd_open => open_process;
}

/// The function of ours that stands for one of the C library in child processes.
pub fn stand_in(name: &[u8]) -> Option<usize> {
    Some(match name {
        b"fork" | b"__fork" => fork_process as *const () as usize,
        b"vfork" | b"__vfork" | b"_Fork" => fork_for_exec as *const () as usize,
        b"posix_spawn" => spawn_process as *const () as usize,
        b"posix_spawnp" => spawn_process_in_path as *const () as usize,
        b"daemon" => become_daemon as *const () as usize,
        b"forkpty" => fork_with_terminal as *const () as usize,
        b"pidfd_open" => open_process as *const () as usize,
        _ => return None,
    })
}

/// Memory cannot undo what children do.
fn refuse_children() {
    if active() && engine().mode == Mode::Snapshot {
        link::refuse(format_args!("the program makes child processes, which restoring its memory does not undo"));
    }
}

/// Calls a function of the C library that makes a child process, without control meanwhile.
unsafe fn with_child<R>(f: impl FnOnce() -> R) -> R {
    refuse_children();
    let was = active();
    if was {
        files::order_child(Vec::new);
    }
    engine::set_active(false);
    if was {
        descriptors::share();
    }
    // The program that the child becomes has no handler for reading the processor's time.
    time::set_virtual(false);
    let result = f();
    time::set_virtual(was);
    engine::set_active(was);
    note_child();
    spin::end_if_stopped();
    result
}

type Pointer = *mut c_void;

/// Calls a function that tells the number of a new process, and tells the program another.
unsafe fn numbered(out: *mut c_int, spawn: impl FnOnce(*mut c_int) -> c_int) -> c_int {
    let (shown, mut real) = (next_child(), 0);
    // SAFETY: what the program asks for.
    unsafe {
        let error = with_child(|| spawn(&raw mut real));
        if error == 0 {
            add_child(shown, real);
            if !out.is_null() {
                *out = shown;
            }
            if active() {
                signals::expect_child(shown, real);
            }
        }
        error
    }
}

unsafe extern "C" fn spawn_process(
    out: *mut c_int,
    b: Pointer,
    c: Pointer,
    d: Pointer,
    e: Pointer,
    f: Pointer,
) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { numbered(out, |real| undisturbed(|| call_real!(posix_spawn(real.cast(), b, c, d, e, f)))) }
}

unsafe extern "C" fn spawn_process_in_path(
    out: *mut c_int,
    b: Pointer,
    c: Pointer,
    d: Pointer,
    e: Pointer,
    f: Pointer,
) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { numbered(out, |real| undisturbed(|| call_real!(posix_spawnp(real.cast(), b, c, d, e, f)))) }
}

unsafe extern "C" fn run_command(command: *const c_char) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { with_child(|| undisturbed(|| call_real!(system(command)))) }
}

unsafe extern "C" fn open_command(command: *const c_char, how: *const c_char) -> *mut c_void {
    // SAFETY: what the program asks for.
    unsafe { with_child(|| undisturbed(|| call_real!(popen(command, how)))) }
}

/// Makes a child process that goes on as this one does. It has a copy of all locks, so it matters who holds them.
pub unsafe extern "C" fn fork_process() -> c_int {
    refuse_children();
    // SAFETY: handlers of the program, and the C library's fork.
    unsafe {
        handlers::run_before();
        if active() && !engine().is_alone() {
            locks::look_at_all();
        }
        let child = make_child(|| call_real!(fork()));
        handlers::run_behind(child == 0);
        child
    }
}

/// Makes a child process that does nothing but execute another program, or end.
pub unsafe extern "C" fn fork_for_exec() -> c_int {
    refuse_children();
    if active() {
        files::order_child(Vec::new);
    }
    // SAFETY: the C library's fork.
    make_child(|| unsafe { call_real!(fork()) })
}

/// Makes a child by `fork`; gives its number. In the child there is only this thread, and nothing is controlled.
fn make_child(fork: impl FnOnce() -> c_int) -> c_int {
    let was = active();
    let shown = next_child();
    let lent = was.then(objects::lend);
    let inherited = was.then(signals::inherited);
    if was {
        refuse_shared_locks();
        locks::note_orphans();
        engine::set_active(false);
        descriptors::share();
    }
    watch::pause();
    let child = undisturbed(fork);
    if child == 0 {
        watch::stop();
        lent.into_iter().for_each(objects::Lent::keep);
        handles::become_child(shown);
        if let Some(inherited) = inherited {
            // It ends with the program, and so with the execution. Its own children go on when it has ended, as they would.
            // SAFETY: a signal for this process.
            unsafe { call!(sys::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            time::set_virtual(false);
            trap::pass_through();
            inherited.take();
        }
        return 0;
    }
    watch::go_on();
    lent.into_iter().for_each(objects::Lent::take_back);
    engine::set_active(was);
    if child < 0 {
        return child;
    }
    add_child(shown, child);
    note_child();
    spin::end_if_stopped();
    if was {
        signals::expect_child(shown, child);
    }
    shown
}

/// Counts a child process of this execution.
fn note_child() {
    if active() {
        control().children.fetch_max(handles::count_child(), Relaxed);
    }
}

/// A child that is made by the system call itself; nothing if it would share memory with its maker.
pub unsafe fn raw_clone(number: i64, arguments: [usize; 6]) -> Option<isize> {
    let [a, b, c, d, e, f] = arguments;
    let flags = if number == libc::SYS_clone3 {
        // SAFETY: the program's structure, which begins with the flags.
        unsafe { (a as *const u64).read() }
    } else {
        a as u64
    };
    if flags & (libc::CLONE_VM | libc::CLONE_THREAD) as u64 != 0 {
        return None;
    }
    refuse_children();
    if active() {
        files::order_child(Vec::new);
    }
    // SAFETY: what the program asks for.
    Some(make_child(|| unsafe { sys::syscall6(number, a, b, c, d, e, f) } as c_int) as isize)
}

unsafe extern "C" fn spawn_with_descriptor(
    out: *mut c_int,
    b: Pointer,
    c: Pointer,
    d: Pointer,
    e: Pointer,
    f: Pointer,
) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { spawn_by(c"pidfd_spawn", [out.cast(), b, c, d, e, f]) }
}

unsafe extern "C" fn spawn_in_path_with_descriptor(
    out: *mut c_int,
    b: Pointer,
    c: Pointer,
    d: Pointer,
    e: Pointer,
    f: Pointer,
) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { spawn_by(c"pidfd_spawnp", [out.cast(), b, c, d, e, f]) }
}

/// Calls a function that makes a child and tells a descriptor of it.
unsafe fn spawn_by(name: &CStr, [a, b, c, d, e, f]: [Pointer; 6]) -> c_int {
    let address = real::next(name);
    if address == 0 {
        return libc::ENOSYS;
    }
    // SAFETY: the C library's function of this name.
    unsafe {
        let spawn: unsafe extern "C" fn(Pointer, Pointer, Pointer, Pointer, Pointer, Pointer) -> c_int =
            core::mem::transmute(address);
        with_child(|| undisturbed(|| spawn(a, b, c, d, e, f)))
    }
}

unsafe extern "C" fn expand_words(words: *const c_char, out: Pointer, flags: c_int) -> c_int {
    /// Commands in the words are an error.
    const NO_COMMANDS: c_int = 4;
    // SAFETY: the C library's function of this name.
    unsafe {
        let expand: unsafe extern "C" fn(*const c_char, Pointer, c_int) -> c_int =
            core::mem::transmute(real::next(c"wordexp"));
        let runs = !words.is_null() && CStr::from_ptr(words).to_bytes().iter().any(|c| matches!(c, b'`' | b'$'));
        if flags & NO_COMMANDS != 0 || !runs {
            return expand(words, out, flags);
        }
        with_child(|| undisturbed(|| expand(words, out, flags)))
    }
}

/// Goes on in a child that leads a session of its own, and ends the program itself.
unsafe extern "C" fn become_daemon(keep_directory: c_int, keep_streams: c_int) -> c_int {
    // SAFETY: what the C library's function of this name does.
    unsafe {
        match fork_process() {
            -1 => return -1,
            0 => {}
            _ => process::exit_now(0),
        }
        let session = call!(libc::SYS_setsid);
        if session < 0 {
            return c_result(session) as c_int;
        }
        if keep_directory == 0 {
            call!(libc::SYS_chdir, c"/".as_ptr());
        }
        if keep_streams == 0 {
            let null = call!(sys::SYS_open, c"/dev/null".as_ptr(), libc::O_RDWR);
            if null < 0 {
                return c_result(null) as c_int;
            }
            (0..3).for_each(|fd| {
                call!(libc::SYS_dup2, null, fd);
            });
            if null > 2 {
                call!(sys::SYS_close, null);
            }
        }
        0
    }
}

/// Makes a child with a terminal of its own.
unsafe extern "C" fn fork_with_terminal(
    leader: *mut c_int,
    name: *mut c_char,
    settings: *const c_void,
    size: *const c_void,
) -> c_int {
    type Open = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_char, *const c_void, *const c_void) -> c_int;
    type Login = unsafe extern "C" fn(c_int) -> c_int;
    let (open, login) = (real::next(c"openpty"), real::next(c"login_tty"));
    if open == 0 || login == 0 {
        set_errno(libc::ENOSYS);
        return -1;
    }
    // SAFETY: what the C library's function of this name does.
    unsafe {
        let open = core::mem::transmute::<usize, Open>(open);
        let login = core::mem::transmute::<usize, Login>(login);
        let (mut own, mut other) = (-1, -1);
        if open(&raw mut own, &raw mut other, name, settings, size) < 0 {
            return -1;
        }
        match fork_process() {
            0 => {
                call!(sys::SYS_close, own);
                if login(other) != 0 {
                    sys::exit_group(1);
                }
                0
            }
            child => {
                call!(sys::SYS_close, if child < 0 { own } else { other });
                if child < 0 {
                    call!(sys::SYS_close, other);
                } else {
                    *leader = own;
                }
                child
            }
        }
    }
}

/// A descriptor of a process, which is named by the number that the program sees.
unsafe extern "C" fn open_process(process: c_int, flags: u32) -> c_int {
    if active() {
        files::take_number();
    }
    // SAFETY: what the program asks for.
    let fd = c_result(unsafe { call!(libc::SYS_pidfd_open, real_process(process), flags) }) as c_int;
    if active() && fd >= 0 {
        files::opened(fd);
    }
    fd
}
