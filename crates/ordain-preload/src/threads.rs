//! Threads: donors, their slots, and the functions of pthreads that are about threads.
//!
//! A slot is a donor's stack and thread-local storage. It serves one thread after the other; before each, its upper end, where the C
//! library keeps what it knows of the thread, is put back to what it was when the donor parked.

use crate::cancellation;
use crate::context::{self, Registers, interpose};
use crate::engine::{self, Crash, active, engine, step};
use crate::handles;
use crate::link;
use crate::real::{self, call_real};
use crate::signals::{self, Signal};
use crate::sys::{self, call};
use crate::time;
use crate::unmodelled::{self, Unmodelled};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT};
use ordain_model::{ObjectId, Operation, Outcome, ThreadId, Wait};
use ordain_wire::Mode;

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Has no thread.
    Free,
    /// A thread is about to be made, which will live there.
    Reserved,
    /// Its thread lives.
    Running,
    /// Its thread has ended, and nobody has joined it.
    Ended,
    /// Its thread has ended and was joined or detached; it is known until the slot is used again.
    Gone,
}

/// A donor and the thread that lives on it. The first fields are known to assembly and C.
#[repr(C)]
pub struct Slot {
    /// Where its thread last called an interposed function.
    pub registers: Registers,
    start: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
    argument: *mut c_void,
    result: *mut c_void,
    /// The saved stack pointer.
    pub stack: u64,
    /// The base of thread-local storage, which is also the `pthread_t`.
    pub fs: u64,
    /// The thread.
    pub thread: ThreadId,
    /// What the slot is doing.
    pub state: State,
    ready: AtomicU32,
    /// The stack pointer when the donor parked.
    parked: u64,
    /// What was above it then.
    pristine: Vec<u64>,
    detached: bool,
    /// It does not heed cancellation.
    pub cancel_disabled: bool,
    /// It may be cancelled anywhere.
    pub cancel_asynchronous: bool,
    /// Whether it might before clean-up functions were pushed that put that off.
    pub cancel_deferred: Vec<bool>,
    /// Whether somebody has asked, or is about to ask, that it ends.
    pub cancel_asked: bool,
    /// Whether it was somewhere in the C library where it might have been cancelled, which is not followed.
    pub cancel_inside: bool,
    /// It is on its way out.
    pub exiting: bool,
    /// Its function has returned while it heeded cancellation, which the C library still does while destructors run.
    returned_heeding: bool,
    /// Why it has crashed, if it has.
    pub crash: Option<Crash>,
    /// Destructors of thread-local objects, last first.
    pub destructors: Vec<(unsafe extern "C" fn(*mut c_void), *mut c_void)>,
    /// Signals that are blocked.
    pub mask: u64,
    /// Signals that have come for it and were not taken.
    pub come: Vec<Signal>,
    /// Locks that it has used, in a program that makes children.
    pub locks: Vec<u64>,
    /// The call that changes the mask while it waits, if it is in one.
    pub masked: signals::MaskedCall,
    /// The masks that handlers which run put back, first begun first.
    pub handlers: Vec<u64>,
    /// Its alternate stack: lowest address and size.
    pub alternate: (usize, usize),
    /// How many children, ports and things from outside its thread has asked for.
    pub asked: [u32; 3],
    /// Where its thread is in its random sequence, once that has begun.
    pub random: Option<u64>,
    /// What stands for memory that its thread waits for without a call.
    pub memory: Option<ObjectId>,
    /// How often it did so since its last operation.
    pub memory_waits: u32,
    /// What stands for other processes that its thread waits for.
    pub outside: Option<ObjectId>,
}

impl Slot {
    /// The slot of the main thread.
    pub fn new() -> Box<Self> {
        Box::new(Self {
            registers: [0; 8],
            start: None,
            argument: core::ptr::null_mut(),
            result: core::ptr::null_mut(),
            stack: 0,
            fs: 0,
            thread: ThreadId::MAIN,
            state: State::Free,
            ready: AtomicU32::new(0),
            parked: 0,
            pristine: Vec::new(),
            detached: false,
            cancel_disabled: false,
            cancel_asynchronous: false,
            cancel_deferred: Vec::new(),
            cancel_asked: false,
            cancel_inside: false,
            exiting: false,
            returned_heeding: false,
            crash: None,
            destructors: Vec::new(),
            mask: 0,
            come: Vec::new(),
            masked: signals::MaskedCall::NONE,
            handlers: Vec::new(),
            locks: Vec::new(),
            alternate: (0, 0),
            asked: [0; 3],
            random: None,
            memory: None,
            memory_waits: 0,
            outside: None,
        })
    }

    /// Forgets its thread.
    pub fn reset(&mut self) {
        self.registers = [0; 8];
        self.state = State::Free;
        self.stack = self.parked;
        (self.detached, self.exiting, self.returned_heeding) = (false, false, false);
        self.crash = None;
        (self.cancel_disabled, self.cancel_asynchronous) = (false, false);
        (self.cancel_asked, self.cancel_inside) = (false, false);
        self.cancel_deferred.clear();
        self.destructors.clear();
        (self.asked, self.random) = ([0; 3], None);
        (self.memory, self.memory_waits, self.outside) = (None, 0, None);
        (self.mask, self.alternate) = (0, (0, 0));
        self.come.clear();
        self.handlers.clear();
        self.masked = signals::MaskedCall::NONE;
        self.locks.clear();
    }

    /// The end of its stack, above which there is nothing of its thread.
    pub fn top(&self) -> u64 {
        self.parked + 8 * self.pristine.len() as u64
    }

    /// Its present stack pointer is where its threads begin.
    pub fn keep_stack(&mut self) {
        self.parked = self.stack;
    }

    /// Takes down what is above the parked stack.
    fn take_pristine(&mut self, top: u64) {
        let words = ((top - self.parked) / 8) as usize;
        // SAFETY: the upper end of a parked donor's stack.
        self.pristine = unsafe { core::slice::from_raw_parts(self.parked as *const u64, words) }.to_vec();
    }

    /// Puts the upper end of the stack back, but for the links of the C library's list of threads.
    fn put_back(&mut self, links: &[u64]) {
        let kept: Saved = links.iter().map(|offset| (self.fs + offset) as *mut u64).collect();
        // SAFETY: the slot has no thread; the memory is its donor's.
        unsafe {
            core::ptr::copy_nonoverlapping(self.pristine.as_ptr(), self.parked as *mut u64, self.pristine.len());
        }
        kept.restore();
        self.stack = self.parked;
    }
}

/// A few words of memory, and what they held: at most eight.
struct Saved {
    words: [(*mut u64, u64); 8],
    count: usize,
}

impl FromIterator<*mut u64> for Saved {
    fn from_iter<T: IntoIterator<Item = *mut u64>>(words: T) -> Self {
        let mut saved = Self { words: [(core::ptr::null_mut(), 0); 8], count: 0 };
        for (place, word) in saved.words.iter_mut().zip(words) {
            // SAFETY: words of a donor's thread block.
            *place = (word, unsafe { word.read() });
            saved.count += 1;
        }
        saved
    }
}

impl Saved {
    /// Writes them back.
    fn restore(&self) {
        for (word, value) in &self.words[..self.count] {
            // SAFETY: as above.
            unsafe { word.write(*value) };
        }
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const libc::pthread_attr_t, state: *mut c_int) -> c_int;
    fn ordain_donor(slot: *mut c_void) -> *mut c_void;
}

/// What a thread that has not begun has below it, as far as backtraces are concerned: nothing.
static BOTTOM: [u64; 2] = [0; 2];
static NEVER: AtomicU32 = AtomicU32::new(0);
/// Places in the C library's thread block that change when other threads are made: links of a list.
static mut LINKS: Vec<u64> = Vec::new();

#[unsafe(no_mangle)]
unsafe extern "C" fn ordain_prepare(slot: *mut Slot) {
    let all = u64::MAX;
    // SAFETY: a donor takes no signals; the slot is its own.
    unsafe {
        call!(sys::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const all, 0, 8);
        (*slot).fs = sys::fs_base();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ordain_park(slot: *mut Slot) {
    // SAFETY: the slot is the donor's own; from here on the carrier owns its stack.
    unsafe { context::park(&raw mut (*slot).stack, (*slot).ready.as_ptr(), NEVER.as_ptr()) };
}

/// The size of donors' stacks, and of the address space that each gets. A little more than is usual: some ask for that.
pub const STACK: usize = 9 << 20;
const SPACING: usize = 12 << 20;
/// Stacks end a little above a multiple of this, so that few page tables are in use.
const TABLE: usize = 2 << 20;
const ABOVE: usize = 64 << 10;

/// Prepares a donor.
pub fn new_donor() -> bool {
    let e = engine();
    let mut slot = Slot::new();
    // SAFETY: new memory for a stack; the C library makes the thread on it.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        let area = call!(sys::SYS_mmap, 0, SPACING, libc::PROT_READ | libc::PROT_WRITE, flags, -1i32, 0);
        if area < 0 {
            return false;
        }
        let area = area as usize;
        let top = ((area + STACK + TABLE - 1) & !(TABLE - 1)) + ABOVE;
        let bottom = top - STACK;
        call!(sys::SYS_munmap, top, area + SPACING - top);
        if bottom > area {
            call!(sys::SYS_munmap, area, bottom - area);
        }
        call!(sys::SYS_mprotect, bottom, 4096, libc::PROT_NONE);
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstack(&mut attributes, (bottom + 4096) as *mut c_void, STACK - 4096);
        let mut thread = 0;
        let was = active();
        engine::set_active(false);
        let failed =
            call_real!(pthread_create(&mut thread, &attributes, ordain_donor, (&raw mut *slot) as *mut c_void));
        engine::set_active(was);
        if failed != 0 {
            return false;
        }
        while slot.ready.load(Acquire) == 0 {
            sys::futex_wait(&slot.ready, 0);
        }
        slot.parked = slot.stack;
        slot.take_pristine(top as u64);
    }
    find_links(&e.slots, &slot);
    e.slots.push(slot);
    // Many take long, before the program can show that it goes on.
    link::control().heartbeat.fetch_add(1, Relaxed);
    true
}

/// Learns which words of a donor's thread block change when another donor is made.
fn find_links(slots: &[Box<Slot>], new: &Slot) {
    // SAFETY: only the carrier comes here.
    let links = unsafe { &mut *(&raw mut LINKS) };
    let Some(last) = slots.iter().skip(1).find(|s| s.state == State::Free && s.fs != new.fs && !s.pristine.is_empty())
    else {
        return;
    };
    for other in slots.iter().skip(1).filter(|s| s.state == State::Free).chain([last]) {
        for (i, was) in other.pristine.iter().enumerate() {
            let address = other.parked + 8 * i as u64;
            // SAFETY: memory of a parked donor.
            let is = unsafe { (address as *const u64).read() };
            if is != *was && address >= other.fs && links.len() < 8 && !links.contains(&(address - other.fs)) {
                links.push(address - other.fs);
            }
        }
    }
}

/// A slot for a new thread: the one of its number if it can be had, so that stacks are the same in every execution.
fn take_slot(thread: ThreadId) -> Option<usize> {
    let e = engine();
    let free = |s: &Slot| matches!(s.state, State::Free | State::Gone);
    let preferred = Some(thread.index()).filter(|i| e.slots.get(*i).is_some_and(|s| free(s)));
    let slot = preferred.or_else(|| (1..e.slots.len()).find(|i| free(&e.slots[*i])));
    let slot = match slot {
        Some(slot) => slot,
        // What is made now must be there in the next execution too, which a child of the process that forks cannot do.
        None if e.mode != Mode::Exec => link::ask_for_threads(),
        None => {
            if !new_donor() {
                return None;
            }
            engine().slots.len() - 1
        }
    };
    let e = engine();
    let used = e.slots[slot].state == State::Gone;
    e.slots[slot].reset();
    if used {
        // SAFETY: only the carrier comes here.
        e.slots[slot].put_back(unsafe { &*(&raw const LINKS) });
    }
    Some(slot)
}

/// The slot of a thread.
pub fn slot_of(thread: libc::pthread_t) -> Option<usize> {
    engine().slots.iter().position(|s| s.fs == thread && s.state != State::Free)
}

interpose! {
    pthread_create => create;
    pthread_join => join;
    pthread_tryjoin_np => try_join;
    pthread_timedjoin_np => timed_join;
    pthread_clockjoin_np => clock_join;
    pthread_detach => detach;
    pthread_exit => exit_thread;
    pthread_getattr_np => get_attributes;
}

type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// A thread that asks for a larger stack than donors have would seem to overflow it.
unsafe fn check_stack(attributes: *const libc::pthread_attr_t) {
    let mut size = 0;
    // SAFETY: the program's attributes, if there are any.
    unsafe {
        if !attributes.is_null() {
            libc::pthread_attr_getstacksize(attributes, &mut size);
        }
    }
    if size > STACK {
        link::refuse(format_args!(
            "the program makes threads with stacks of {} MiB; here they have {}",
            size >> 20,
            STACK >> 20
        ));
    }
}

/// The signals that a thread with these attributes blocks when it begins, if they say so; older C libraries cannot.
unsafe fn mask_of(attributes: *const libc::pthread_attr_t) -> Option<u64> {
    // SAFETY: a function of the C library, and the program's attributes; the kernel knows the first word of a set.
    unsafe {
        let ask = (&raw const real::pthread_attr_getsigmask_np).read().filter(|_| !attributes.is_null())?;
        let mut set: libc::sigset_t = core::mem::zeroed();
        (ask(attributes, &mut set) == 0).then(|| signals::blockable((&raw const set).cast::<u64>().read()))
    }
}

/// Makes a thread that begins with `start`; gives an error.
pub unsafe fn spawn(start: Start, argument: *mut c_void, detached: bool, out: *mut libc::pthread_t) -> c_int {
    // SAFETY: the program's arguments go on.
    unsafe { spawn_with(start, argument, detached, None, out) }
}

/// As [`spawn`], with a mask of its own if one is told.
unsafe fn spawn_with(
    start: Start,
    argument: *mut c_void,
    detached: bool,
    mask: Option<u64>,
    out: *mut libc::pthread_t,
) -> c_int {
    // Before the child has a name: names must be given in the order in which they are told.
    signals::look();
    let me = engine().me();
    let child = engine().arbiter.next_child(me);
    let Some(number) = take_slot(child) else { return EAGAIN };
    let e = engine();
    let inherited = e.slots[e.current].mask;
    let slot = &mut e.slots[number];
    slot.thread = child;
    // It must not be taken while the step waits.
    slot.state = State::Reserved;
    (slot.start, slot.argument, slot.result) = (Some(start), argument, core::ptr::null_mut());
    slot.detached = detached;
    slot.registers = [start as usize as u64 + 1, (&raw const BOTTOM) as u64, 0, 0, 0, 0, 0, 0];
    slot.mask = mask.unwrap_or(inherited);
    crate::attributes::inherit(e.current, number);
    let handle = e.slots[number].fs;
    e.set_slot(child, number);
    // SAFETY: the program wants to know.
    unsafe { *out = handle };
    engine::step_now(Operation::Spawn { child });
    engine().slots[number].state = State::Running;
    engine().unjoined += 1;
    crate::watch::spawned(child);
    if let Some(mask) = mask {
        signals::tell_mask_of(child, mask);
    }
    // It runs when its turn comes, and not before. Its site is its function, as if it had been called from there.
    engine().announce(child, Operation::Start, start as usize as u64 + 1);
    if detached {
        step(Operation::Detach { thread: child });
    }
    0
}

/// Makes a thread of the runtime's own, which takes no signals and which nobody joins; gives an error.
pub unsafe fn spawn_hidden(start: Start, argument: *mut c_void) -> c_int {
    let mut handle = 0;
    // SAFETY: a function of the runtime.
    unsafe { spawn_with(start, argument, true, Some(u64::MAX), &mut handle) }
}

unsafe extern "C" fn create(
    out: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the program's arguments go on.
    unsafe {
        check_stack(attributes);
        let mut state = libc::PTHREAD_CREATE_JOINABLE;
        if !attributes.is_null() {
            pthread_attr_getdetachstate(attributes, &mut state);
        }
        spawn_with(start, argument, state == libc::PTHREAD_CREATE_DETACHED, mask_of(attributes), out)
    }
}

/// Waits for a thread's end.
pub unsafe fn join_with(thread: libc::pthread_t, result: *mut *mut c_void, wait: Wait) -> c_int {
    let Some(number) = slot_of(thread) else { return ESRCH };
    let e = engine();
    if number == e.current {
        // Who is to end waits for that, as it seems.
        cancellation::look();
        return EDEADLK;
    }
    let target = e.slots[number].thread;
    if step(Operation::Join { thread: target, wait }) == Outcome::FAILED {
        return if wait == Wait::Try { EBUSY } else { ETIMEDOUT };
    }
    engine().unjoined = engine().unjoined.saturating_sub(1);
    crate::watch::joined(target);
    let slot = &mut engine().slots[number];
    if !result.is_null() {
        // SAFETY: the program wants to know.
        unsafe { *result = slot.result };
    }
    slot.state = State::Gone;
    0
}

unsafe extern "C" fn join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the program's arguments go on.
    unsafe { join_with(thread, result, Wait::Interruptible) }
}

unsafe extern "C" fn try_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the program's arguments go on.
    unsafe { join_with(thread, result, Wait::Try) }
}

unsafe extern "C" fn timed_join(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    until: *const libc::timespec,
) -> c_int {
    // SAFETY: the program's arguments go on.
    unsafe {
        if until.is_null() || !time::is_valid(&*until) {
            // The C library asks again and again when the kernel does not understand the time.
            return join_with(thread, result, Wait::Interruptible);
        }
        time::timed(until, |wait| join_with(thread, result, wait))
    }
}

unsafe extern "C" fn clock_join(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    clock: c_int,
    until: *const libc::timespec,
) -> c_int {
    if !time::limits_waits(clock) {
        return EINVAL;
    }
    // SAFETY: the program's arguments go on.
    unsafe { timed_join(thread, result, until) }
}

/// Gives up the right to join a thread.
pub unsafe extern "C" fn detach(thread: libc::pthread_t) -> c_int {
    let Some(number) = slot_of(thread) else { return ESRCH };
    let target = engine().slots[number].thread;
    let was_detached = engine().slots[number].detached;
    step(Operation::Detach { thread: target });
    let slot = &mut engine().slots[number];
    slot.detached = true;
    if slot.state == State::Ended {
        slot.state = State::Gone;
    }
    if was_detached { EINVAL } else { 0 }
}

/// Ends the running thread: its frames are unwound by the C library, down to the one that calls [`ordain_finish`].
pub unsafe extern "C" fn exit_thread(result: *mut c_void) -> ! {
    cancellation::heed(false);
    unwind_thread(result)
}

/// Ends the running thread, which does not heed cancellation any more.
pub fn unwind_thread(result: *mut c_void) -> ! {
    let e = engine();
    let slot = &mut e.slots[e.current];
    slot.result = result;
    (slot.cancel_disabled, slot.exiting) = (true, true);
    let registers = slot.registers;
    // SAFETY: the stack above the call is as it was; pthread_exit unwinds it.
    unsafe {
        let Some(target) = (&raw const real::pthread_exit).read() else {
            link::break_down(format_args!("the C library has no pthread_exit"))
        };
        context::leave_to(&registers, target as usize, result as usize)
    }
}

unsafe extern "C" fn get_attributes(thread: libc::pthread_t, attributes: *mut libc::pthread_attr_t) -> c_int {
    // SAFETY: the program's arguments go on; attributes are the program's to fill in.
    unsafe {
        if is_under_control() && thread == engine().slots[0].fs && engine().program.stack.1 != 0 {
            // The C library would read the list of mappings each time.
            let (bottom, size) = engine().program.stack;
            libc::pthread_attr_init(attributes);
            libc::pthread_attr_setstack(attributes, bottom as *mut c_void, size);
            libc::pthread_attr_setguardsize(attributes, 0);
            return 0;
        }
        let error = crate::dispatch::undisturbed(|| call_real!(pthread_getattr_np(thread, attributes)));
        if error == 0 && is_under_control() {
            // There is a guard page, but the C library does not know: the stack came from outside.
            libc::pthread_attr_setguardsize(attributes, 4096);
            if slot_of(thread).is_some_and(|slot| engine().slots[slot].detached) {
                libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
            }
        }
        error
    }
}

fn is_under_control() -> bool {
    active() && engine::is_there()
}

/// The beginning of a thread: signals may have come for it already.
#[unsafe(no_mangle)]
unsafe extern "C" fn ordain_begin(_slot: *mut Slot) {
    if engine().outcome() != Outcome::DONE {
        signals::take();
        step(Operation::Start);
    }
}

/// The function of a thread has returned: from here on it cannot be cancelled.
#[unsafe(no_mangle)]
unsafe extern "C" fn ordain_return(_slot: *mut Slot) {
    if !handles::in_child() {
        let e = engine();
        e.slots[e.current].returned_heeding = !e.slots[e.current].cancel_disabled;
        cancellation::heed(false);
    }
}

/// The end of a thread: called on its own stack, by its first frame. Never returns.
#[unsafe(no_mangle)]
unsafe extern "C" fn ordain_finish(_slot: *mut Slot) -> ! {
    if handles::in_child() {
        // SAFETY: the only thread of a child process ends it.
        unsafe { call_real!(exit(0)) }
    }
    let e = engine();
    let number = e.current;
    crate::streams::end_thread();
    let destroyed = crate::destructors::run();
    let e = engine();
    if destroyed && e.slots[number].returned_heeding && e.arbiter.is_cancelled(e.me()) {
        unmodelled::note(Unmodelled::CancelledAtEnd);
    }
    e.slots[number].exiting = true;
    if number == 0 {
        // Main's thread-local objects are destroyed by the C library when the program exits.
        engine().slots[0].registers[0] = 0;
    }
    if engine().arbiter.is_alone(engine().me()) {
        // SAFETY: the last thread ends the program.
        unsafe { call_real!(exit(0)) }
    }
    leave()
}

/// Ends the running thread as the kernel does: nothing of it is destroyed. The last one ends the program.
pub fn vanish(status: c_int) -> ! {
    let e = engine();
    e.slots[e.current].cancel_disabled = true;
    e.slots[e.current].exiting = true;
    if e.arbiter.alive().len() <= 1 {
        if !e.arbiter.is_alone(e.me()) {
            signals::look();
            engine::step_now(Operation::Exit);
        }
        engine::end(ordain_wire::Ending::Exit, status & 0xff);
    }
    leave()
}

/// The last step of the running thread.
fn leave() -> ! {
    crate::lifetimes::end_stack();
    let number = engine().current;
    signals::look();
    engine::step_now(Operation::Exit);
    let e = engine();
    let slot = &mut e.slots[number];
    slot.state = if slot.detached { State::Gone } else { State::Ended };
    if e.arbiter.alive().is_empty() {
        // Two threads ended together: the program ends, with nobody left to interfere.
        e.quiet = true;
        // SAFETY: ends the program.
        unsafe { call_real!(exit(0)) }
    }
    match e.decide() {
        Some(next) => e.go(next),
        None => engine::end(ordain_wire::Ending::Model, 0),
    }
    link::break_down(format_args!("a thread went on that had ended"))
}
