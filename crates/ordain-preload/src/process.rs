//! The beginning and the end of the program: taking over at main, `exit` and its relatives, children.

use crate::context::{self, interpose};
use crate::engine::{self, Engine, active, engine, step};
use crate::link::{self, connect, control, is_connected};
use crate::real::{self, c_result, call_real};
use crate::snapshot;
use crate::sync::futex;
use crate::sys::{self, call};
use crate::threads::{self, Slot};
use crate::{
    attributes, children, descriptors, dispatch, files, handles, inherited, kernel, outliving, random, server, signals,
    spin, streams, time, trap, vdso, watch,
};
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::sync::atomic::Ordering::Relaxed;
use ordain_model::names::Birth;
use ordain_model::{ObjectId, Operation, Site};
use ordain_wire::{
    Control, Ending, Knowledge, LOADER_ENVIRONMENT, Mode, SHARED_FD, SHARED_SIZE, State, Status, VERSION,
};

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// What is run.
pub struct Program {
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    envp: *mut *mut c_char,
    /// Main's stack: lowest address and size.
    pub stack: (u64, usize),
    /// Where main's frames begin: the same in all modes.
    top: u64,
}

static mut MAIN: Option<Main> = None;
static mut LOADER_END: Option<unsafe extern "C" fn()> = None;

/// Maps the memory that the launcher shares, if this process is the one it started.
fn find_launcher() {
    // SAFETY: maps what the launcher prepared at this descriptor, or finds that it did not.
    unsafe {
        let at = call!(
            sys::SYS_mmap,
            0,
            SHARED_SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            SHARED_FD,
            0
        );
        if at < 0 {
            return;
        }
        let shared = &*(at as *const Control);
        if shared.version == VERSION && shared.process.load(Relaxed) as isize == call!(sys::SYS_getpid) {
            connect(at as *mut u8);
        } else {
            call!(sys::SYS_munmap, at, SHARED_SIZE);
        }
    }
}

/// Runs before constructors of the program: finds the launcher, and handles what the launcher's filter sends back.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) = begin_process;

extern "C" fn begin_process(_argc: c_int, _argv: *mut *mut c_char, environment: *mut *mut c_char) {
    crate::lifetimes::find_allocator();
    find_launcher();
    trap::pass_through();
    if is_connected() {
        if dispatch::is_offered() {
            // SAFETY: the environment of this process, which nobody else uses yet.
            unsafe { take_out_own(environment) };
        }
        // SAFETY: a function that lives as long as the process.
        unsafe { call_real!(__cxa_at_quick_exit(after_quick_handlers, core::ptr::null_mut())) };
    }
}

/// Takes what the launcher has added for the loader out of the environment: it has done its work, and is no business of the program, nor of
/// the programs that its children become.
unsafe fn take_out_own(environment: *mut *mut c_char) {
    // SAFETY: strings up to a null, which stay where they are.
    unsafe {
        let (mut from, mut to) = (environment, environment);
        while !(*from).is_null() {
            if !LOADER_ENVIRONMENT.iter().any(|own| own.to_bytes() == CStr::from_ptr(*from).to_bytes()) {
                *to = *from;
                to = to.add(1);
            }
            from = from.add(1);
        }
        *to = core::ptr::null_mut();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    loader_end: Option<unsafe extern "C" fn()>,
    stack_end: *mut c_void,
) -> c_int {
    type Start = unsafe extern "C" fn(
        Main,
        c_int,
        *mut *mut c_char,
        *mut c_void,
        *mut c_void,
        Option<unsafe extern "C" fn()>,
        *mut c_void,
    ) -> c_int;
    // SAFETY: the C library's own function of this name.
    unsafe {
        let real: Start = core::mem::transmute(real::next(c"__libc_start_main"));
        if !is_connected() {
            return real(main, argc, argv, init, fini, loader_end, stack_end);
        }
        MAIN = Some(main);
        LOADER_END = loader_end;
        // Called with two arguments, whatever its type says.
        let last = core::mem::transmute::<unsafe extern "C" fn(*mut c_void, c_int), unsafe extern "C" fn()>(after_all);
        real(take_over, argc, argv, init, fini, Some(last), stack_end)
    }
}

/// Registered first, so it runs last: after all handlers and destructors.
unsafe extern "C" fn after_all(_argument: *mut c_void, status: c_int) {
    // SAFETY: what the loader wanted to be called, and the C library's buffers.
    unsafe {
        if let Some(function) = LOADER_END {
            function();
        }
        streams::flush_at_end();
    }
    if active() {
        let e = engine();
        if !e.quiet && !e.arbiter.is_alone(e.me()) {
            // Another thread may find no function left to call and would end the process without a word.
            // SAFETY: a function that lives as long as the process.
            unsafe { call_real!(__cxa_atexit(Some(after_all), core::ptr::null_mut(), core::ptr::null_mut())) };
        }
        // The C library passes the status to functions that are registered like this one, so `exit` inside it is known too.
        end_program(status);
    }
}

/// Ends the program: a step unless all other threads are known to have ended, because then it matters when it comes.
fn end_program(status: c_int) -> ! {
    let e = engine();
    if !e.quiet && !e.arbiter.is_alone(e.me()) {
        signals::look();
        engine::step_now(Operation::End);
    }
    engine::end(Ending::Exit, status & 0xff)
}

unsafe extern "C" {
    fn ordain_main(slot: *mut c_void, main: Main, argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char)
    -> c_int;
}

/// Stands for main: prepares everything, then runs the program as often as the launcher wants.
unsafe extern "C" fn take_over(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) -> c_int {
    // SAFETY: set when the process began.
    let Some(main) = (unsafe { MAIN }) else { sys::exit_group(102) };
    // SAFETY: asks for a number.
    if control().process.load(Relaxed) as isize != unsafe { call!(sys::SYS_getpid) } {
        // A constructor has made a child that goes on in place of the program. Nobody would ever give it a turn.
        sys::exit_group(0);
    }
    real::look_up();
    real::load(c"libgcc_s.so.1");
    inherited::prepare();
    attributes::prepare();
    // Below everything that the runtime itself may have on this stack.
    let here = (&raw const main) as u64;
    let top = (here & !0xfff) - (128 << 10);
    let program = Program { main, argc, argv, envp, stack: (0, 0), top };
    let e = Engine::install(program);
    e.slots.push(Slot::new());
    e.slots[0].fs = sys::fs_base();
    learn(e, link::read_known());
    inherited::check();
    prepare_donors();
    find_stack();
    crate::heap::reserve(engine().mode == Mode::Fork);
    prepare_heap();
    crate::destructors::keep();
    time::set_virtual(true);
    vdso::replace();
    signals::prepare();
    crate::cancellation::prepare();
    descriptors::prepare();
    streams::prepare();
    files::prepare();
    handles::prepare();
    random::prepare();
    kernel::prepare();
    outliving::prepare();
    trap::install();
    children::handlers::keep();
    children::locks::prepare();
    let control = control();
    // SAFETY: asks for a number.
    control.carrier.store(unsafe { call!(sys::SYS_gettid) } as i32, Relaxed);
    match engine().mode {
        Mode::Snapshot => snapshot::run(),
        Mode::Fork => server::run(),
        Mode::Exec => {
            link::hand_over(Status::Ready);
            engine().scheduler.read_plan();
            run_once()
        }
    }
}

/// Prepares donors, all on the processor that runs this: changing the rights of memory would otherwise interrupt the other
/// processors on which the process has ever run.
fn prepare_donors() {
    let mut mask = [0u64; 16];
    // SAFETY: reads and sets on which processors this thread may run.
    unsafe {
        let length = call!(libc::SYS_sched_getaffinity, 0, size_of_val(&mask), mask.as_mut_ptr());
        let mut here = [0u64; 16];
        let mut processor = 0u32;
        call!(libc::SYS_getcpu, &raw mut processor, 0, 0);
        if let Some(word) = here.get_mut(processor as usize / 64) {
            *word = 1 << (processor % 64);
        }
        call!(libc::SYS_sched_setaffinity, 0, size_of_val(&here), here.as_ptr());
        for _ in 0..control().pool.load(Relaxed) {
            if !threads::new_donor() {
                link::refuse(format_args!(
                    "{} threads cannot be made: there is no memory for their stacks, or more may not be started (ulimit -u)",
                    control().pool.load(Relaxed)
                ));
            }
        }
        if length > 0 {
            call!(libc::SYS_sched_setaffinity, 0, length, mask.as_ptr());
        }
    }
}

/// Takes over names and other knowledge of earlier executions.
pub fn learn(e: &mut Engine, known: Knowledge) {
    for (number, birth, kind) in known.births {
        e.arbiter.names_mut().adopt(number, birth, kind);
        if let Birth::External { key, generation, .. } = birth {
            e.objects.found.insert((key, generation, kind as u8), ObjectId(number as u32));
        }
    }
    for site in known.long_loops {
        e.arbiter.know_long_loop(Site(site));
    }
}

/// The stack of main, asked once.
fn find_stack() {
    // SAFETY: asks the C library about its own thread.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        if call_real!(pthread_getattr_np(engine().slots[0].fs, &mut attributes)) == 0 {
            let (mut bottom, mut size) = (core::ptr::null_mut(), 0);
            libc::pthread_attr_getstack(&attributes, &mut bottom, &mut size);
            engine().program.stack = (bottom as u64, size);
        }
    }
}

/// Lets the program's heap have room from the start, in one piece, so that small programs map nothing.
fn prepare_heap() {
    // SAFETY: settings of the C library's heap, which is in use by nobody else yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, 256 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::free(libc::malloc(128 << 10));
    }
}

/// Runs the program once.
pub fn run_once() -> ! {
    spin::start();
    engine().begin();
    watch::begin();
    run_program()
}

/// Runs the program, for which everything is prepared.
pub fn run_program() -> ! {
    let e = engine();
    let (main, argc, argv, envp) = (e.program.main, e.program.argc, e.program.argv, e.program.envp);
    let slot = (&raw mut *e.slots[0]) as *mut c_void;
    let top = e.program.top;
    dispatch::install();
    engine::set_active(true);
    // SAFETY: the program's main with its own arguments, on a part of main's stack that is below all frames in use.
    unsafe {
        context::start_main(
            slot,
            main as usize,
            argc,
            argv as usize,
            envp as usize,
            top,
            ordain_main as *const () as usize,
        )
    }
}

interpose! {
    exit => exit_program;
    __cxa_atexit => add_handler; on_exit => add_handler_with_status; __cxa_at_quick_exit => add_quick_handler;
    pthread_setconcurrency => set_concurrency; pthread_getconcurrency => get_concurrency;
    _exit => exit_now;
    _Exit => exit_now;
    quick_exit => exit_quickly;
    fclose => close_stream;
    syscall => system_call;
    sched_getcpu => processor_number;
    getcpu => processor;
    __assert_fail => assertion_failed;
    __assert => assertion_failed_simply;
    __assert_perror_fail => assertion_failed_with_error;
    clone => make_own_threads;
    execve => replace_program; execv => replace_program; execvp => replace_program; execvpe => replace_program;
    execl => replace_program; execlp => replace_program; execle => replace_program; fexecve => replace_program;
    execveat => replace_program;
    aio_read => ask_for_threads; aio_write => ask_for_threads; aio_fsync => ask_for_threads;
    aio_read64 => ask_for_threads; aio_write64 => ask_for_threads; aio_fsync64 => ask_for_threads;
    lio_listio => ask_for_threads; lio_listio64 => ask_for_threads; getaddrinfo_a => ask_for_threads;
    mq_notify => ask_for_threads;
}

/// Orders a call that adds to the functions that are called at the end, or begins to call them: who comes second finds more or fewer.
fn order_handlers() {
    if active() && !engine().quiet {
        files::order_state(State::Handlers, true);
    }
}

/// What `atexit` and the initialisation of static objects call.
unsafe extern "C" fn add_handler(
    function: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    argument: *mut c_void,
    library: *mut c_void,
) -> c_int {
    order_handlers();
    // SAFETY: the program's arguments go on.
    unsafe { call_real!(__cxa_atexit(function, argument, library)) }
}

unsafe extern "C" fn add_handler_with_status(
    function: Option<unsafe extern "C" fn(c_int, *mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    order_handlers();
    // SAFETY: the program's arguments go on.
    unsafe { call_real!(on_exit(function, argument)) }
}

/// What `at_quick_exit` calls.
unsafe extern "C" fn add_quick_handler(function: unsafe extern "C" fn(), library: *mut c_void) -> c_int {
    order_handlers();
    // SAFETY: the program's arguments go on.
    unsafe { call_real!(__cxa_at_quick_exit(function, library)) }
}

unsafe extern "C" fn set_concurrency(level: c_int) -> c_int {
    files::order_state(State::Options, true);
    // SAFETY: the program's argument.
    unsafe { call_real!(pthread_setconcurrency(level)) }
}

unsafe extern "C" fn get_concurrency() -> c_int {
    files::order_state(State::Options, false);
    // SAFETY: asks for a number.
    unsafe { call_real!(pthread_getconcurrency()) }
}

unsafe extern "C" fn exit_program(status: c_int) -> ! {
    order_handlers();
    // SAFETY: the C library runs handlers, destructors, and at last ours, which it tells the status.
    unsafe { call_real!(exit(status)) }
}

/// Ends the program, or this child of it, without handlers.
pub unsafe extern "C" fn exit_now(status: c_int) -> ! {
    if !active() {
        sys::exit_group(status);
    }
    end_program(status)
}

/// What the program ends quickly with: handlers for that are not told.
static mut QUICK_STATUS: c_int = 0;

unsafe extern "C" fn exit_quickly(status: c_int) -> ! {
    order_handlers();
    // SAFETY: only the carrier comes here; the C library runs handlers, and at last ours.
    unsafe {
        QUICK_STATUS = status;
        call_real!(quick_exit(status))
    }
}

/// Registered first, so it runs last: after all handlers for a quick end.
unsafe extern "C" fn after_quick_handlers() {
    if active() {
        // Another thread that ends the program must find it too, as at `exit`.
        // SAFETY: a function that lives as long as the process.
        unsafe { call_real!(__cxa_at_quick_exit(after_quick_handlers, core::ptr::null_mut())) };
        // SAFETY: only the carrier comes here.
        end_program(unsafe { QUICK_STATUS });
    }
}

unsafe extern "C" fn assertion_failed(
    text: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
) -> ! {
    let show = |s: *const c_char| {
        if s.is_null() {
            return "?";
        }
        // SAFETY: strings of the program.
        unsafe { CStr::from_ptr(s) }.to_str().unwrap_or("?")
    };
    let message = format_args!("{}:{line}: {}: Assertion `{}' failed.", show(file), show(function), show(text));
    signals::abort(Ending::Assertion, message)
}

unsafe extern "C" fn assertion_failed_simply(text: *const c_char, file: *const c_char, line: c_int) -> ! {
    // SAFETY: the program's arguments.
    unsafe { assertion_failed(text, file, line as u32, core::ptr::null()) }
}

unsafe extern "C" fn assertion_failed_with_error(
    _error: c_int,
    file: *const c_char,
    line: u32,
    function: *const c_char,
) -> ! {
    // SAFETY: the program's arguments.
    unsafe { assertion_failed(c"unexpected error".as_ptr(), file, line, function) }
}

static mut DESCRIPTORS_USED: bool = false;

/// Whether the last execution made or closed descriptors by calls that are known. Forgets it.
pub fn descriptors_used() -> bool {
    // SAFETY: only the carrier comes here.
    unsafe { core::mem::replace(&mut *(&raw mut DESCRIPTORS_USED), false) }
}

/// A descriptor was made or closed.
pub fn note_descriptor(fd: c_int) {
    // SAFETY: only the carrier comes here.
    unsafe { DESCRIPTORS_USED = true };
    if fd >= 0 {
        inherited::note(fd);
    }
}

unsafe extern "C" fn close_stream(stream: *mut libc::FILE) -> c_int {
    // SAFETY: the program's stream.
    unsafe {
        streams::order_close(stream);
        note_descriptor(libc::fileno(stream));
        call_real!(fclose(stream))
    }
}

extern "C" fn processor_number() -> c_int {
    0
}

unsafe extern "C" fn processor(cpu: *mut u32, node: *mut u32) -> c_int {
    for place in [cpu, node] {
        if !place.is_null() {
            // SAFETY: the program wants to know.
            unsafe { *place = 0 };
        }
    }
    0
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn system_call(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    // SAFETY: what the program asks for.
    c_result(unsafe { raw_call(number, [a, b, c, d, e, f]) }) as c_long
}

/// A system call of the program, by `syscall` or sent back by the kernel: those that matter are modelled.
pub unsafe fn raw_call(number: i64, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    // SAFETY: what the program asks for.
    unsafe {
        match number {
            libc::SYS_futex => futex::futex(a as *mut u32, b as i32, c as u32, d, e as *mut u32, f as u32),
            libc::SYS_sched_yield => {
                step(Operation::Yield);
                0
            }
            libc::SYS_gettid => children::thread_number() as isize,
            libc::SYS_kill => signals::raw_kill(a as c_int, b as c_int),
            libc::SYS_execve | libc::SYS_execveat => replace_program(),
            libc::SYS_getpid => handles::own() as isize,
            libc::SYS_getppid => handles::parent() as isize,
            libc::SYS_getpgid => children::raw_group(a as c_int),
            libc::SYS_getpgrp => children::raw_group(0),
            libc::SYS_setpgid => children::raw_set_group(a as c_int, b as c_int),
            libc::SYS_fork | libc::SYS_vfork => children::fork_process() as isize,
            libc::SYS_wait4 => children::raw_wait4(a as c_int, b as *mut c_int, c as c_int, d as *mut libc::rusage),
            libc::SYS_waitid => {
                children::raw_waitid(a as c_int, b as c_int, c as *mut _, d as c_int, e as *mut libc::rusage)
            }
            libc::SYS_getrandom => {
                random::fill(a as *mut c_void, b);
                b as isize
            }
            libc::SYS_clock_gettime => time::raw_clock(a as c_int, b as *mut libc::timespec),
            libc::SYS_nanosleep => time::raw_sleep(0, a as *const libc::timespec, b as *mut libc::timespec),
            libc::SYS_clock_nanosleep => {
                time::raw_sleep(b as c_int, c as *const libc::timespec, d as *mut libc::timespec)
            }
            libc::SYS_getrusage => time::raw_usage(a as c_int, b as *mut libc::rusage),
            libc::SYS_sysinfo => time::raw_system(a as *mut libc::sysinfo),
            libc::SYS_tgkill => -(signals::send_to(b as c_int, c as c_int) as isize),
            libc::SYS_tkill => -(signals::send_to(a as c_int, b as c_int) as isize),
            libc::SYS_clone | libc::SYS_clone3 => match children::raw_clone(number, [a, b, c, d, e, f]) {
                Some(child) => child,
                None => make_own_threads(),
            },
            libc::SYS_exit => threads::vanish(a as c_int),
            libc::SYS_exit_group => end_program(a as c_int),
            libc::SYS_fcntl if files::is_lock_command(b as c_int) => match files::lock(a as c_int, b as c_int, c) {
                Some(result) => result,
                None => kernel::make(number, [a, b, c, d, e, f]),
            },
            _ if signals::is_followed(number, &[a, b, c, d, e, f]) => signals::system_call(number, [a, b, c, d, e, f]),
            _ if files::is_followed(number) => files::system_call(number, [a, b, c, d, e, f]),
            _ => kernel::make(number, [a, b, c, d, e, f]),
        }
    }
}

unsafe extern "C" fn make_own_threads() -> ! {
    link::refuse(format_args!(
        "the program makes threads or processes with clone by itself, which cannot be controlled; use pthread_create"
    ))
}

unsafe extern "C" fn replace_program() -> ! {
    link::refuse(format_args!("the program replaces itself by another one (exec); check that one"))
}

/// The C library would make threads of its own.
unsafe extern "C" fn ask_for_threads() -> ! {
    link::refuse(format_args!(
        "the program uses asynchronous calls of the C library (aio, getaddrinfo_a, mq_notify), which make threads of their own"
    ))
}
