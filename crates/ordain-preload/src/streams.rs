//! Streams of the C library (`FILE`): what threads do to a stream that they share has an order, whatever is in its buffer.
//!
//! Each function here is a step in front of the C library's own function, which then runs with its arguments untouched, so that also
//! those with any number of arguments can be interposed. Standard output and standard error are steps only if what is written there is
//! compared. Most programs use a stream in one thread; what a thread does to one beyond [`MOST`] calls is no step any more.
//!
//! The C library locks a stream during each call. That matters if a call makes system calls that are steps, or if the program locks streams
//! by itself (`flockfile`). Whoever notices teaches it the search; then a lock of the model is held from the beginning of a call to its end.

use crate::cancellation;
use crate::context::interpose;
use crate::descriptors;
use crate::engine::{active, engine, step};
use crate::files;
use crate::lessons::Lesson;
use crate::link::{self, control};
use crate::objects;
use crate::real::{self, call_real};
use crate::unmodelled::{self, Unmodelled};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::Ordering::Relaxed;
use ordain_model::{Member, MemoryOrder, ObjectId, ObjectKind, Operation, Outcome, ThreadId, Wait, mutex_kind};

/// Steps of one thread on one stream.
const MOST: u32 = 1000;
/// Where the objects for standard output and standard error are said to be.
const OUTPUT: u64 = 6;
/// Where the object for all streams is said to be.
const EVERY: u64 = 22;

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// A stream in this execution.
struct Stream {
    address: usize,
    object: ObjectId,
    /// How often each thread has used it.
    uses: Vec<(ThreadId, u32)>,
    /// Whether a call on it has made a system call that is a step.
    calls: bool,
}

/// The streams of an execution; nothing of it survives.
#[derive(Default)]
struct Streams {
    known: Vec<Stream>,
    /// The objects of standard output and standard error.
    outputs: [Option<ObjectId>; 2],
    /// The object of all streams.
    every: Option<ObjectId>,
    /// By slot: the stream of its last call, and where its stack was then.
    entered: Vec<(usize, u64)>,
    /// Streams that the program has locked by itself.
    locked: Vec<usize>,
    /// The locks that slots hold during calls.
    held: Vec<(usize, ObjectId)>,
}

/// In the runtime's heap, so that children of the process in fork mode use the same memory one after the other.
static mut STREAMS: *mut Streams = core::ptr::null_mut();

fn streams() -> &'static mut Streams {
    // SAFETY: made before the program begins; only the carrier comes here, and no reference is kept across a step.
    unsafe { &mut *STREAMS }
}

/// Makes what is needed, once.
pub fn prepare() {
    // SAFETY: only the carrier comes here.
    unsafe { STREAMS = Box::into_raw(Box::default()) };
}

/// Begins an execution.
pub fn begin() {
    let streams = streams();
    streams.known.clear();
    streams.entered.clear();
    streams.locked.clear();
    streams.held.clear();
    streams.outputs = [None; 2];
    streams.every = None;
}

/// Orders what is written to standard output (0) or standard error (1), if that counts.
pub fn order_output(which: usize) {
    if control().compare_output.load(Relaxed) == 0 || engine().is_alone() {
        return;
    }
    let known = streams().outputs[which];
    let object = known.unwrap_or_else(|| objects::find(OUTPUT + which as u64, ObjectKind::File, 0));
    streams().outputs[which] = Some(object);
    let set = objects::set_of(&[(object, Member::WRITE)]);
    step(Operation::Access { set, looks: false });
}

/// Orders what a call does to a stream.
fn order(stream: *mut libc::FILE) {
    // SAFETY: the C library's variables, which say where its streams are.
    let standard = unsafe { [stdout, stderr] };
    if let Some(which) = standard.iter().position(|s| *s == stream) {
        return order_output(which);
    }
    if stream.is_null() {
        order_output(0);
        return order_every();
    }
    // SAFETY: the program's stream.
    if engine().is_alone() || descriptors::is_frozen(unsafe { libc::fileno(stream) }) {
        return;
    }
    let address = stream as usize;
    let streams = &mut streams().known;
    let place = streams.iter().position(|s| s.address == address).unwrap_or_else(|| {
        let object = objects::find(address as u64, ObjectKind::File, 0);
        streams.push(Stream { address, object, uses: Vec::new(), calls: false });
        streams.len() - 1
    });
    let (me, known) = (engine().me(), &mut streams[place]);
    let uses = match known.uses.iter().position(|u| u.0 == me) {
        Some(at) => &mut known.uses[at].1,
        None => {
            known.uses.push((me, 0));
            let last = known.uses.len() - 1;
            &mut known.uses[last].1
        }
    };
    *uses += 1;
    let often = *uses > MOST;
    if known.calls && known.uses.len() > 1 {
        Lesson::StreamCalls.learn(engine());
    }
    if known.uses.len() > 1 && known.uses.iter().any(|u| u.1 > MOST) {
        unmodelled::note(Unmodelled::LongStream);
    }
    if often {
        return;
    }
    let mut members = [(known.object, Member::WRITE), (every(), Member::READ)].to_vec();
    files::add_children(&mut members);
    step(Operation::Access { set: objects::set_of(&members), looks: false });
}

/// The object that whoever uses any stream reads, and whoever flushes all writes.
fn every() -> ObjectId {
    let known = streams().every;
    let object = known.unwrap_or_else(|| objects::find(EVERY, ObjectKind::File, 0));
    streams().every = Some(object);
    object
}

/// Orders what is done to all streams with what is done to each.
fn order_every() {
    if !engine().is_alone() {
        let mut members = [(every(), Member::WRITE)].to_vec();
        files::add_children(&mut members);
        step(Operation::Access { set: objects::set_of(&members), looks: false });
    }
}

interpose! {
    flockfile => lock;
    ftrylockfile => try_lock;
    funlockfile => unlock;
}

/// The lock of a stream: a recursive mutex beside it. The C library's own is never held for longer than a call.
fn lock_of(stream: *mut libc::FILE) -> ObjectId {
    let address = stream as u64 + 1;
    let known = engine().objects.living_at(address);
    known.unwrap_or_else(|| objects::find(address, ObjectKind::Mutex, mutex_kind::RECURSIVE))
}

/// Stands for the address of the list of all streams: no object of a program is there.
const ALL: u64 = 20;

/// Orders locking a stream with what concerns all of them.
fn order_all(operation: impl FnOnce(ObjectId) -> Operation) {
    if !engine().is_alone() {
        let (cell, _) = objects::futex(ALL);
        step(operation(cell));
    }
}

/// The program locks a stream by itself.
fn take(stream: *mut libc::FILE, wait: Wait) -> Outcome {
    Lesson::StreamLocks.learn(engine());
    order_all(|cell| Operation::Load { cell, order: MemoryOrder::SeqCst });
    let locked = &mut streams().locked;
    if let Err(place) = locked.binary_search(&(stream as usize)) {
        locked.insert(place, stream as usize);
    }
    step(Operation::Lock { lock: lock_of(stream), wait })
}

/// The C library's lock is taken too: functions that are not interposed wait for it.
unsafe extern "C" fn lock(stream: *mut libc::FILE) {
    take(stream, Wait::Block);
    // SAFETY: the program's stream.
    unsafe { call_real!(flockfile(stream)) };
}

unsafe extern "C" fn try_lock(stream: *mut libc::FILE) -> c_int {
    if take(stream, Wait::Try) == Outcome::FAILED {
        return libc::EBUSY;
    }
    // SAFETY: the program's stream.
    unsafe { call_real!(flockfile(stream)) };
    0
}

unsafe extern "C" fn unlock(stream: *mut libc::FILE) {
    // SAFETY: the program's stream.
    unsafe { call_real!(funlockfile(stream)) };
    step(Operation::Unlock { lock: lock_of(stream) });
}

/// Waits for the locks of all streams that the program has locked by itself, one after the other.
fn pass_all() {
    if streams().locked.is_empty() && !Lesson::StreamLocks.is_known(engine()) {
        return;
    }
    order_all(|cell| Operation::Update { cell, order: MemoryOrder::SeqCst });
    for stream in streams().locked.clone() {
        if begin_call(stream as *mut libc::FILE) {
            end_call();
        }
    }
}

/// The beginning of the C library's structure for a stream, as far as it matters.
#[repr(C)]
struct Layout {
    flags: c_int,
    reading: [usize; 3],
    write_base: usize,
    write_next: usize,
    others: [usize; 7],
    next: *mut libc::FILE,
}

/// Flag of a stream that is written to.
const PUTS: c_int = 0x800;

/// All streams of the C library; none if it does not tell.
fn all() -> Vec<*mut libc::FILE> {
    let mut found = Vec::new();
    let first = real::next(c"_IO_list_all") as *const *mut libc::FILE;
    // SAFETY: the C library's list, which only the running thread can change now.
    unsafe {
        let mut stream = first.as_ref().copied().unwrap_or(core::ptr::null_mut());
        while !stream.is_null() {
            found.push(stream);
            stream = (*stream.cast::<Layout>()).next;
        }
    }
    found
}

/// Flushes all streams that are written to, one after the other, as the C library does. Each is a call of its own: other threads may come between.
fn flush_all(flush: Flush) -> c_int {
    let mut result = 0;
    for stream in all() {
        let is_locked = begin_call(stream);
        order(stream);
        note_entry(stream);
        // SAFETY: a stream that is still there.
        unsafe {
            let layout = stream.cast::<Layout>();
            if all().contains(&stream) && (*layout).flags & PUTS != 0 && (*layout).write_next > (*layout).write_base {
                result |= flush(stream);
            }
        }
        if is_locked {
            end_call();
        }
    }
    result
}

/// Flushes all streams when the program is about to end. That it ends is a step that depends on everything, so others see no difference.
pub unsafe fn flush_at_end() {
    if active() {
        cancellation::note_inside();
        order_output(0);
    }
    // SAFETY: the C library's own function of this name.
    unsafe {
        let flush: Flush = core::mem::transmute(real::next(c"fflush"));
        flush(core::ptr::null_mut());
    }
}

/// What a function is replaced by that has done its work already.
unsafe extern "C" fn succeed() -> c_int {
    0
}

unsafe extern "C" fn fail() -> c_int {
    libc::EOF
}

/// The running thread enters a call on a stream.
fn note_entry(stream: *mut libc::FILE) {
    let e = engine();
    let entered = &mut streams().entered;
    if entered.len() <= e.current {
        entered.resize(e.current + 1, (0, 0));
    }
    entered[e.current] = (stream as usize, e.slots[e.current].registers[1]);
}

/// Whether what threads do to a stream is a step.
fn is_ordered(stream: *mut libc::FILE) -> bool {
    // SAFETY: the C library's variables, which say where its streams are; the program's stream.
    unsafe {
        let counts = ![stdout, stderr].contains(&stream) || control().compare_output.load(Relaxed) != 0;
        counts && !engine().is_alone() && !descriptors::is_frozen(libc::fileno(stream))
    }
}

/// A call on a stream begins; says whether a lock is held until it ends.
fn begin_call(stream: *mut libc::FILE) -> bool {
    let e = engine();
    let matters = || Lesson::StreamLocks.is_known(e) || Lesson::StreamCalls.is_known(e) && is_ordered(stream);
    if stream.is_null() || !matters() {
        return false;
    }
    let lock = lock_of(stream);
    step(Operation::Lock { lock, wait: Wait::Block });
    streams().held.push((engine().current, lock));
    true
}

/// The last call of the running thread on a stream ends, or the thread does.
fn end_call() -> bool {
    let (held, current) = (&mut streams().held, engine().current);
    let Some(at) = held.iter().rposition(|(slot, _)| *slot == current) else { return false };
    let (_, lock) = held.remove(at);
    step(Operation::Unlock { lock });
    true
}

/// The running thread ends, perhaps in the middle of a call: the C library gives the lock back.
pub fn end_thread() {
    while end_call() {}
}

/// Orders what closing a stream does to it.
pub fn order_close(stream: *mut libc::FILE) {
    cancellation::note_inside();
    let is_locked = begin_call(stream);
    order(stream);
    if is_locked {
        end_call();
    }
}

/// The C library makes a system call that is a step, with the stack at `stack`: perhaps in a call on a stream.
pub fn note_system_call(stack: u64) {
    let streams = streams();
    let Some((stream, entered)) = streams.entered.get(engine().current).copied() else { return };
    if stream == 0 || stack >= entered {
        return;
    }
    // SAFETY: the C library's variables, which say where its streams are.
    let is_standard = unsafe { [stdout, stderr] }.contains(&(stream as *mut libc::FILE));
    let known = streams.known.iter_mut().find(|known| known.address == stream);
    let is_shared = known.is_some_and(|known| {
        known.calls = true;
        known.uses.len() > 1
    });
    if is_shared || is_standard && is_ordered(stream as *mut libc::FILE) {
        Lesson::StreamCalls.learn(engine());
    }
}

/// The stream of a call: an argument, or one that the function stands for.
const STDIN: usize = 16;
const STDOUT: usize = 17;
const STDERR: usize = 18;
/// Words of the stack that are copied for functions with any number of arguments: more than any call has; there is always as much above.
const COPIED: usize = 64;

/// The type of `fflush`, which alone takes no stream for all of them.
type Flush = unsafe extern "C" fn(*mut libc::FILE) -> c_int;

/// The C library's function, and whether [`end_call`] is to follow it.
#[repr(C)]
struct Entry {
    function: usize,
    ends: usize,
}

/// Called in front of each function with its arguments.
unsafe extern "C" fn enter(name: *const c_char, which: usize, arguments: *const usize, known: *mut usize) -> Entry {
    // SAFETY: the stub passes the name, the saved arguments, and where the address is kept.
    unsafe {
        if *known == 0 {
            *known = real::next(CStr::from_ptr(name));
            if *known == 0 {
                let name = CStr::from_ptr(name).to_str().unwrap_or_default();
                link::break_down(format_args!("the C library has no {name}"));
            }
        }
        let mut ends = false;
        if active() {
            // Whether it reads or writes may depend on what others have left in the buffer.
            cancellation::note_inside();
            let stream = match which {
                STDIN => stdin,
                STDOUT => stdout,
                STDERR => stderr,
                argument => *arguments.add(argument) as *mut libc::FILE,
            };
            let locks = !CStr::from_ptr(name).to_bytes().ends_with(b"_unlocked");
            if stream.is_null() {
                pass_all();
            }
            ends = locks && begin_call(stream);
            order(stream);
            if stream.is_null() && !engine().is_alone() && !all().is_empty() {
                let failed = flush_all(core::mem::transmute::<usize, Flush>(*known)) != 0;
                let end: unsafe extern "C" fn() -> c_int = if failed { fail } else { succeed };
                return Entry { function: end as usize, ends: 0 };
            }
            note_entry(stream);
        }
        Entry { function: *known, ends: ends.into() }
    }
}

/// Called behind a function during which a lock was held.
unsafe extern "C" fn leave() {
    if active() {
        end_call();
    }
}

/// Exports functions that are steps on a stream: which of their arguments it is, or which standard stream.
macro_rules! streams {
    ($($name:ident: $which:expr;)*) => {$(
        const _: () = {
            static mut REAL: usize = 0;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "mov r11, qword ptr [rip + {current}@GOTPCREL]",
                    "mov r11, qword ptr [r11]",
                    "mov r10, qword ptr [rsp]",
                    "mov qword ptr [r11], r10",
                    "lea r10, [rsp + 8]",
                    "mov qword ptr [r11 + 8], r10",
                    "mov qword ptr [r11 + 16], rbp",
                    "mov qword ptr [r11 + 24], rbx",
                    "mov qword ptr [r11 + 32], r12",
                    "mov qword ptr [r11 + 40], r13",
                    "mov qword ptr [r11 + 48], r14",
                    "mov qword ptr [r11 + 56], r15",
                    "push rax", "push r9", "push r8", "push rcx", "push rdx", "push rsi", "push rdi",
                    "mov rdx, rsp",
                    "sub rsp, 128",
                    ".cfi_adjust_cfa_offset 184",
                    "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
                    "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6",
                    "movups [rsp + 112], xmm7",
                    "lea rdi, [rip + 5f]",
                    "mov esi, {which}",
                    "lea rcx, [rip + {real}]",
                    "call {enter}",
                    "mov r11, rax",
                    "mov r10, rdx",
                    "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
                    "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]",
                    "movups xmm7, [rsp + 112]",
                    "add rsp, 128",
                    "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop r8", "pop r9", "pop rax",
                    ".cfi_adjust_cfa_offset -184",
                    "test r10, r10",
                    "jne 6f",
                    "jmp r11",
                    // What is behind it must be known: it gets copies of the arguments that are on the stack, if there are any.
                    "6:",
                    "push rbp",
                    ".cfi_adjust_cfa_offset 8",
                    ".cfi_rel_offset rbp, 0",
                    "mov rbp, rsp",
                    ".cfi_def_cfa_register rbp",
                    "mov r10d, {copied}",
                    "7: push qword ptr [rbp + r10 * 8 + 8]",
                    "dec r10d",
                    "jne 7b",
                    "call r11",
                    "mov rsp, rbp",
                    "push rax", "push rdx",
                    "mov r11, qword ptr [rip + {current}@GOTPCREL]",
                    "mov r11, qword ptr [r11]",
                    "mov r10, qword ptr [rbp + 8]",
                    "mov qword ptr [r11], r10",
                    "lea r10, [rbp + 16]",
                    "mov qword ptr [r11 + 8], r10",
                    "mov r10, qword ptr [rbp]",
                    "mov qword ptr [r11 + 16], r10",
                    "mov qword ptr [r11 + 24], rbx",
                    "mov qword ptr [r11 + 32], r12",
                    "mov qword ptr [r11 + 40], r13",
                    "mov qword ptr [r11 + 48], r14",
                    "mov qword ptr [r11 + 56], r15",
                    "call {leave}",
                    "pop rdx", "pop rax",
                    "pop rbp",
                    ".cfi_def_cfa rsp, 8",
                    ".cfi_restore rbp",
                    "ret",
                    ".cfi_endproc",
                    concat!("5: .asciz \"", stringify!($name), "\""),
                    copied = const COPIED,
                    leave = sym leave,
                    current = sym crate::context::ORDAIN_CURRENT,
                    which = const $which,
                    real = sym REAL,
                    enter = sym enter,
                )
            }
        };
    )*};
}

streams! {
    printf: STDOUT; vprintf: STDOUT; __printf_chk: STDOUT; __vprintf_chk: STDOUT; puts: STDOUT;
    putchar: STDOUT; putchar_unlocked: STDOUT; perror: STDERR;
    getchar: STDIN; getchar_unlocked: STDIN; scanf: STDIN; vscanf: STDIN; __isoc99_scanf: STDIN; __isoc23_scanf: STDIN;
    fprintf: 0; vfprintf: 0; __fprintf_chk: 0; __vfprintf_chk: 0; fflush: 0;
    fgetc: 0; getc: 0; fgetc_unlocked: 0; getc_unlocked: 0;
    fscanf: 0; vfscanf: 0; __isoc99_fscanf: 0; __isoc23_fscanf: 0;
    fseek: 0; fseeko: 0; ftell: 0; ftello: 0; rewind: 0; fgetpos: 0; fsetpos: 0;
    fputs: 1; fputc: 1; putc: 1; fputs_unlocked: 1; fputc_unlocked: 1; putc_unlocked: 1; ungetc: 1;
    fgets: 2; fgets_unlocked: 2; getline: 2; __fgets_chk: 3; getdelim: 3; __getdelim: 3;
    feof: 0; ferror: 0; clearerr: 0; setvbuf: 0; setbuf: 0; setbuffer: 0; setlinebuf: 0; freopen: 2; freopen64: 2;
    getw: 0; putw: 1; fgetwc: 0; getwc: 0; fputwc: 1; putwc: 1; fgetws: 2; fputws: 1; ungetwc: 1; fwide: 0;
    fwprintf: 0; vfwprintf: 0; __fwprintf_chk: 0; __vfwprintf_chk: 0; fwscanf: 0; vfwscanf: 0;
    wprintf: STDOUT; vwprintf: STDOUT; __wprintf_chk: STDOUT; __vwprintf_chk: STDOUT; putwchar: STDOUT; getwchar: STDIN;
    warn: STDERR; vwarn: STDERR; warnx: STDERR; vwarnx: STDERR; psignal: STDERR; psiginfo: STDERR;
    fread: 3; fwrite: 3; fread_unlocked: 3; fwrite_unlocked: 3; __fread_chk: 4;
}
