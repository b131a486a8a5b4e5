//! Streams of the C library (`FILE`): what threads do to a stream that they share has an order, whatever is in its buffer.
//!
//! Each function here is a step in front of the C library's own function, which then runs with its arguments untouched, so that also
//! those with any number of arguments can be interposed. Standard output and standard error are steps only if what is written there is
//! compared. Most programs use a stream in one thread; what a thread does to one beyond [`MOST`] calls is no step any more.

use crate::context::interpose;
use crate::descriptors;
use crate::engine::{self, active, control, engine, step};
use crate::lessons::Lesson;
use crate::objects;
use crate::real;
use crate::unmodelled::{self, Unmodelled};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::Ordering::Relaxed;
use ordain_model::{Member, ObjectId, ObjectKind, Operation, Outcome, ThreadId, Wait, mutex_kind};

/// Steps of one thread on one stream.
const MOST: u32 = 1000;
/// Where the objects for standard output and standard error are said to be.
const OUTPUT: u64 = 6;

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
}

/// The streams of an execution; nothing of it survives.
#[derive(Default)]
struct Streams {
    known: Vec<Stream>,
    /// The objects of standard output and standard error.
    outputs: [Option<ObjectId>; 2],
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
    streams().known.clear();
    streams().outputs = [None; 2];
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
        return order_output(0);
    }
    // SAFETY: the program's stream.
    if engine().is_alone() || descriptors::is_frozen(unsafe { libc::fileno(stream) }) {
        return;
    }
    let address = stream as usize;
    let streams = &mut streams().known;
    let place = streams.iter().position(|s| s.address == address).unwrap_or_else(|| {
        let object = objects::find(address as u64, ObjectKind::File, 0);
        streams.push(Stream { address, object, uses: Vec::new() });
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
    if known.uses.len() > 1 && known.uses.iter().any(|u| u.1 > MOST) {
        unmodelled::note(Unmodelled::LongStream);
    }
    if often {
        return;
    }
    let set = objects::set_of(&[(known.object, Member::WRITE)]);
    step(Operation::Access { set, looks: false });
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

fn take(stream: *mut libc::FILE, wait: Wait) -> Outcome {
    Lesson::StreamLocks.learn(engine());
    step(Operation::Lock { lock: lock_of(stream), wait })
}

unsafe extern "C" fn lock(stream: *mut libc::FILE) {
    take(stream, Wait::Block);
}

unsafe extern "C" fn try_lock(stream: *mut libc::FILE) -> c_int {
    if take(stream, Wait::Try) == Outcome::FAILED { libc::EBUSY } else { 0 }
}

unsafe extern "C" fn unlock(stream: *mut libc::FILE) {
    step(Operation::Unlock { lock: lock_of(stream) });
}

/// Orders what a call does to a stream that it locks. If the program takes such locks by itself, it waits until no other thread holds
/// this one; what follows is done before anybody else goes on.
pub fn order_locked(stream: *mut libc::FILE) {
    if !Lesson::StreamLocks.is_known(engine()) || stream.is_null() {
        return order(stream);
    }
    take(stream, Wait::Block);
    order(stream);
    step(Operation::Unlock { lock: lock_of(stream) });
}

/// The stream of a call: an argument, or one that the function stands for.
const STDIN: usize = 16;
const STDOUT: usize = 17;
const STDERR: usize = 18;

/// Called in front of each function with its arguments; gives the C library's function.
unsafe extern "C" fn enter(name: *const c_char, which: usize, arguments: *const usize, known: *mut usize) -> usize {
    // SAFETY: the stub passes the name, the saved arguments, and where the address is kept.
    unsafe {
        if *known == 0 {
            *known = real::next(CStr::from_ptr(name));
            if *known == 0 {
                engine::break_down(format_args!("the C library has no {:?}", CStr::from_ptr(name)));
            }
        }
        if active() {
            let stream = match which {
                STDIN => stdin,
                STDOUT => stdout,
                STDERR => stderr,
                argument => *arguments.add(argument) as *mut libc::FILE,
            };
            if CStr::from_ptr(name).to_bytes().ends_with(b"_unlocked") {
                order(stream);
            } else {
                order_locked(stream);
            }
        }
        *known
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
                    "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
                    "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6",
                    "movups [rsp + 112], xmm7",
                    "lea rdi, [rip + 5f]",
                    "mov esi, {which}",
                    "lea rcx, [rip + {real}]",
                    "call {enter}",
                    "mov r11, rax",
                    "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
                    "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]",
                    "movups xmm7, [rsp + 112]",
                    "add rsp, 128",
                    "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop r8", "pop r9", "pop rax",
                    "jmp r11",
                    concat!("5: .asciz \"", stringify!($name), "\""),
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
    fread: 3; fwrite: 3; fread_unlocked: 3; fwrite_unlocked: 3; __fread_chk: 4;
}
