//! Randomness that is the same in every execution: each thread has a sequence of its own, which depends on its birth and on nothing
//! that other threads do.

use crate::context::interpose;
use crate::engine::{engine, step};
use crate::hash::mix;
use crate::lessons::Lesson;
use crate::link::control;
use crate::objects;
use crate::real::{c_result, call_real};
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::Ordering::Relaxed;
use ordain_model::{MemoryOrder, Operation, ThreadId};

interpose! {
    getrandom => get_random;
    getentropy => get_entropy;
    arc4random => get_arc4random;
    arc4random_uniform => get_arc4random_below;
    arc4random_buf => fill_arc4random;
    rand => get_rand; random => get_random_number; lrand48 => get_positive; mrand48 => get_any; drand48 => get_fraction;
    srand => set_seed; srandom => set_seed; srand48 => set_long_seed;
    _ZNSt13random_device9_M_getvalEv => get_device;
}

/// The kernel has put random bytes above the stack, for whoever wants a seed: they become others that are always the same. The C library
/// has taken what it needs.
pub fn prepare() {
    let entropy = control().entropy.load(Relaxed);
    // SAFETY: sixteen bytes that the kernel has put there for this process.
    unsafe {
        let bytes = libc::getauxval(libc::AT_RANDOM) as *mut u64;
        if !bytes.is_null() {
            bytes.write_unaligned(mix(entropy));
            bytes.add(1).write_unaligned(mix(!entropy));
        }
    }
}

/// Where the sequence of a thread begins.
pub fn seed(thread: ThreadId) -> u64 {
    match engine().arbiter.names().birth(thread) {
        None => control().entropy.load(Relaxed) ^ 0x5851_f42d_4c95_7f2d,
        Some((parent, n)) => mix(seed(parent) ^ mix(u64::from(n))),
    }
}

/// The next number of the running thread.
fn next() -> u64 {
    let e = engine();
    let was = e.slots[e.current].random;
    let state = was.unwrap_or_else(|| seed(e.me()));
    e.slots[e.current].random = Some(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
    mix(state)
}

/// Fills memory with bytes that are the same in every execution.
pub unsafe fn fill(room: *mut c_void, length: usize) {
    // SAFETY: the program's memory.
    let room = unsafe { core::slice::from_raw_parts_mut(room as *mut u8, length) };
    for chunk in room.chunks_mut(8) {
        let bytes = next().to_le_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
}

unsafe extern "C" fn get_random(room: *mut c_void, length: usize, flags: c_uint) -> isize {
    const KNOWN: c_uint = libc::GRND_NONBLOCK | libc::GRND_RANDOM | libc::GRND_INSECURE;
    if flags & !KNOWN != 0 {
        return c_result(-libc::EINVAL as isize);
    }
    // SAFETY: the program's memory.
    unsafe { fill(room, length) };
    length as isize
}

unsafe extern "C" fn get_entropy(room: *mut c_void, length: usize) -> c_int {
    const MOST: usize = 256;
    if length > MOST {
        return c_result(-libc::EIO as isize) as c_int;
    }
    // SAFETY: the program's memory.
    unsafe { fill(room, length) };
    0
}

extern "C" fn get_arc4random() -> u32 {
    next() as u32
}

extern "C" fn get_arc4random_below(bound: u32) -> u32 {
    ((u64::from(get_arc4random()) * u64::from(bound)) >> 32) as u32
}

unsafe extern "C" fn fill_arc4random(room: *mut c_void, length: usize) {
    // SAFETY: the program's memory.
    unsafe { fill(room, length) };
}

extern "C" fn get_device(_device: *mut c_void) -> u32 {
    next() as u32
}

/// Stands for the address of the C library's sequences: no object of a program is there.
const SEQUENCES: u64 = 16;

/// Whether the running thread draws from the C library's sequences. They are main's, so that they are those that its seeds make, and other threads
/// have their own: few programs care who gets which number. For those that set seeds beside other threads, drawing is a step.
fn draws() -> bool {
    let e = engine();
    if !Lesson::Draws.is_known(e) {
        return e.me() == ThreadId::MAIN;
    }
    if !e.is_alone() {
        let (cell, _) = objects::futex(SEQUENCES);
        step(Operation::Update { cell, order: MemoryOrder::SeqCst });
    }
    true
}

/// Whether the running thread sets the seed of the C library's sequences.
fn seeds() -> bool {
    if !engine().is_alone() {
        Lesson::Draws.learn(engine());
    }
    draws()
}

extern "C" fn get_rand() -> c_int {
    // SAFETY: asks for a number.
    if draws() { unsafe { call_real!(rand()) } } else { (next() >> 33) as c_int }
}

extern "C" fn get_random_number() -> c_long {
    // SAFETY: asks for a number.
    if draws() { unsafe { call_real!(random()) } } else { (next() >> 33) as c_long }
}

extern "C" fn get_positive() -> c_long {
    // SAFETY: asks for a number.
    if draws() { unsafe { call_real!(lrand48()) } } else { (next() >> 33) as c_long }
}

extern "C" fn get_any() -> c_long {
    // SAFETY: asks for a number.
    if draws() { unsafe { call_real!(mrand48()) } } else { c_long::from(next() as i32) }
}

extern "C" fn get_fraction() -> f64 {
    // SAFETY: asks for a number.
    if draws() { unsafe { call_real!(drand48()) } } else { (next() >> 11) as f64 / (1u64 << 53) as f64 }
}

/// Begins the sequence of a thread other than main anew.
fn restart(value: u64) {
    let e = engine();
    let seed = seed(e.me());
    e.slots[e.current].random = Some(mix(seed ^ value));
}

extern "C" fn set_seed(value: c_uint) {
    // SAFETY: sets the C library's seed.
    if seeds() { unsafe { call_real!(srandom(value)) } } else { restart(u64::from(value)) }
}

extern "C" fn set_long_seed(value: c_long) {
    // SAFETY: sets the C library's seed.
    if seeds() { unsafe { call_real!(srand48(value)) } } else { restart(value as u64) }
}
