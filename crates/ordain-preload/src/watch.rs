//! The watch: which memory threads use by atomic instructions, which are not visible otherwise.
//!
//! The launcher tells where these instructions are. A breakpoint is put at each; when one is reached, it is noted which thread uses which
//! memory, and the thread goes on in a copy of the instruction, behind which is a jump back. So the breakpoints stay where they are,
//! whoever runs next. Two threads that use the same bytes, neither of which was made after the other's use or has joined it, are told.

mod code;
mod operand;
mod table;

use crate::engine::{active, engine};
use crate::lifetimes;
use crate::link::{self, control};
use crate::real;
use crate::sys;
use crate::unmodelled::{self, Unmodelled};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use libc::{REG_RBP, REG_RIP, REG_RSP};
use ordain_model::ThreadId;
use ordain_wire::{Status, Trouble, WatchSite};
use table::{ROOM, Table, Use, UseResult};

/// How often an instruction may use memory again that its thread has used before, until it is left alone for as long as the same thread
/// runs: at first, and after that.
const FIRST_REPEATS: u32 = 1024;
const MORE_REPEATS: u32 = 32;
/// How often instructions may be reached in all.
const MOST_REACHED: u64 = 1 << 16;
/// What the kernel says of breakpoints.
const SI_KERNEL: i32 = 0x80;

/// An instruction that is watched.
struct Site {
    at: WatchSite,
    repeats: u32,
    most: u32,
    /// It has no breakpoint for the moment.
    rests: bool,
}

struct Watched {
    /// In order of addresses.
    sites: Vec<Site>,
    /// Where copies are, and whose: in order.
    copies: Vec<(u64, usize)>,
    /// Areas for copies that are there.
    areas: Vec<u64>,
    /// The sites that have no breakpoint for the moment.
    resting: Vec<usize>,
    table: Table,
    /// What each thread knows of the others by having been made or having joined.
    clocks: Vec<Vec<u32>>,
    /// Where the loader passes when libraries have come or gone, and what it says then.
    loader: Option<(u64, *const Loader)>,
    reached: u64,
}

/// What the loader tells debuggers.
#[repr(C)]
struct Loader {
    version: i32,
    map: usize,
    passing: u64,
    state: i32,
}

static mut WATCHED: Option<Box<Watched>> = None;

fn watched() -> Option<&'static mut Watched> {
    // SAFETY: only the carrier comes here, and no reference is kept.
    unsafe { (*(&raw mut WATCHED)).as_deref_mut() }
}

/// Puts breakpoints, if the launcher wants that.
pub fn begin() {
    if control().watch.active.load(Relaxed) == 0 {
        return;
    }
    let memory = sys::map_shared(size_of::<[Use; ROOM]>()) as *mut [Use; ROOM];
    // SAFETY: new memory of that size, all zero, which nobody else has.
    let Some(memory) = (unsafe { memory.as_mut() }) else { return trouble(Trouble::Protected) };
    let watched = Watched {
        sites: Vec::new(),
        copies: Vec::new(),
        areas: Vec::new(),
        resting: Vec::new(),
        table: Table::new(memory),
        clocks: Vec::new(),
        loader: None,
        reached: 0,
    };
    // SAFETY: only the carrier comes here.
    unsafe { WATCHED = Some(Box::new(watched)) };
    take_sites();
    watch_loader();
}

fn trouble(what: Trouble) {
    control().watch.trouble.store(what);
}

/// Takes over what the launcher has told, and puts breakpoints where there are none.
fn take_sites() {
    let Some(w) = watched() else { return };
    let mut old = core::mem::take(&mut w.sites);
    w.sites.clear();
    w.resting.clear();
    let count = control().watch.sites.load(Relaxed) as usize;
    for number in 0..count {
        let at = code::site(number);
        let known = old.binary_search_by_key(&at.address, |s| s.at.address).ok();
        let (repeats, most) = known.map_or((0, FIRST_REPEATS), |i| (old[i].repeats, old[i].most));
        w.sites.push(Site { at, repeats, most, rests: false });
    }
    old.clear();
    w.sites.sort_unstable_by_key(|s| s.at.address);
    w.copies.clear();
    w.copies.extend(w.sites.iter().enumerate().map(|(i, s)| (s.at.slot, i)));
    w.copies.sort_unstable();
    if !code::make_copies(&mut w.areas) {
        return trouble(Trouble::Protected);
    }
    put_all();
}

/// Puts breakpoints at all sites.
fn put_all() {
    let Some(w) = watched() else { return };
    for site in &mut w.sites {
        site.rests = false;
    }
    w.resting.clear();
    if !code::change(w.sites.iter().map(|s| (s.at.address, s.at.first, code::BREAKPOINT))) {
        trouble(Trouble::Protected);
    }
}

/// Stops where the loader tells debuggers that libraries have come or gone.
fn watch_loader() {
    let loader = real::next(c"_r_debug") as *const Loader;
    let Some(w) = watched() else { return };
    if loader.is_null() {
        return;
    }
    // SAFETY: the loader's own description of itself, and its code.
    unsafe {
        let passing = (*loader).passing;
        if passing != 0 && code::is_empty_function(passing) && code::replace(passing, code::BREAKPOINT) {
            w.loader = Some((passing, loader));
        }
    }
}

/// Takes all breakpoints away, until [`go_on`]: what a child process gets is the program as it was.
pub fn pause() {
    let Some(w) = watched() else { return };
    code::change(w.sites.iter().filter(|s| !s.rests).map(|s| (s.at.address, code::BREAKPOINT, s.at.first)));
    if let Some((passing, _)) = w.loader.take() {
        code::put_back_passing(passing);
    }
}

/// Puts breakpoints again after [`pause`].
pub fn go_on() {
    if watched().is_some() {
        put_all();
        watch_loader();
    }
}

/// Nothing is watched any more in this process, which is a child: what was noted is in memory that it shares with its parent.
pub fn stop() {
    // SAFETY: only the carrier comes here.
    core::mem::forget(unsafe { (*(&raw mut WATCHED)).take() });
}

/// Whether the thread has come to one of our breakpoints: then it goes on behind it.
pub fn on_breakpoint(code: i32, context: &mut libc::ucontext_t) -> bool {
    let Some(w) = watched().filter(|_| code == SI_KERNEL) else { return false };
    let registers = &mut context.uc_mcontext.gregs;
    let address = (registers[REG_RIP as usize] as u64).wrapping_sub(1);
    if let Some((_, loader)) = w.loader.filter(|(passing, _)| *passing == address) {
        // SAFETY: the function does nothing but return, and its caller's address is on top of the stack.
        unsafe {
            registers[REG_RIP as usize] = (registers[REG_RSP as usize] as *const i64).read();
            registers[REG_RSP as usize] += 8;
            if (*loader).state == 0 {
                ask_launcher();
            }
        }
        return true;
    }
    let Ok(number) = w.sites.binary_search_by_key(&address, |s| s.at.address) else { return false };
    registers[REG_RIP as usize] = w.sites[number].at.slot as i64;
    w.reached += 1;
    control().watch.reached.store(w.reached, Relaxed);
    if active() && engine().slots[engine().current].fs == sys::fs_base() {
        w.note(number, registers, engine().me());
    }
    true
}

/// Libraries have come or gone: the launcher says what to watch now.
fn ask_launcher() {
    let status = control().status.load();
    link::hand_over(Status::Watch);
    if let Some(status) = status {
        control().status.store(status);
    }
    take_sites();
}

/// A thread that was stopped in a copy of an instruction is told to be where the instruction is, or behind it.
pub fn put_back(context: &mut libc::ucontext_t) {
    let Some(w) = watched() else { return };
    let rip = &mut context.uc_mcontext.gregs[REG_RIP as usize];
    let at = *rip as u64;
    let next = w.copies.partition_point(|(slot, _)| *slot <= at);
    let Some((slot, number)) = next.checked_sub(1).map(|i| w.copies[i]) else { return };
    if at - slot < ordain_wire::SLOT as u64 {
        let site = &w.sites[number].at;
        let behind = if at == slot { 0 } else { site.length.into() };
        *rip = (site.address + behind) as i64;
    }
}

impl Watched {
    /// A thread has come to an instruction.
    fn note(&mut self, number: usize, registers: &[i64; 23], me: ThreadId) {
        let watch = &control().watch;
        if watch.found.load(Relaxed) != 0 || !watch.trouble.is(Trouble::None) {
            return self.rest(number);
        }
        let site = self.sites[number].at;
        let (first, size) = (operand::address(&site, registers, sys::fs_base()), u64::from(site.size.max(1)));
        let calls = calls_on_stack(registers);
        let mut repeated = true;
        let mut at = first;
        while at < first.wrapping_add(size) {
            let behind = ((at | 7) + 1).min(first + size);
            let mask = (0xff_u32 >> (8 - (behind - at)) << (at & 7)) as u8;
            let clock = self.clock(me);
            let clocks = &self.clocks;
            let knows = |other: u32, clock: u32| clocks[me.index()].get(other as usize).is_some_and(|c| *c >= clock);
            match self.table.note(at >> 3, mask, (me.0, clock, site.address), calls, knows) {
                UseResult::New => repeated = false,
                UseResult::Again => {}
                UseResult::Shared { thread, site: other, calls: others } => {
                    tell(0, thread, other, others);
                    tell(1, me.0, site.address, calls);
                    watch.memory.store(at, Relaxed);
                    watch.found.store(1, Relaxed);
                    return unmodelled::note(Unmodelled::Atomics);
                }
                UseResult::NoRoom => return trouble(Trouble::TooMuch),
            }
            at = behind;
        }
        if self.reached >= MOST_REACHED {
            trouble(Trouble::TooMuch);
        }
        if repeated {
            let site = &mut self.sites[number];
            site.repeats += 1;
            if site.repeats >= site.most {
                self.rest(number);
            }
        }
    }

    /// Takes the breakpoint of an instruction away for a while.
    fn rest(&mut self, number: usize) {
        let site = &mut self.sites[number];
        if code::replace(site.at.address, site.at.first) {
            (site.rests, site.repeats, site.most) = (true, 0, MORE_REPEATS);
            self.resting.push(number);
        }
    }

    /// The time of a thread.
    fn clock(&mut self, thread: ThreadId) -> u32 {
        let number = thread.index();
        if self.clocks.len() <= number {
            self.clocks.resize_with(number + 1, Vec::new);
        }
        let clock = &mut self.clocks[number];
        if clock.len() <= number {
            clock.resize(number + 1, 0);
        }
        clock[number] = clock[number].max(1);
        clock[number]
    }
}

/// Tells one of two threads that use the same memory.
fn tell(which: usize, thread: u32, place: u64, calls: [u64; 3]) {
    let watch = &control().watch;
    watch.threads[which].store(thread, Relaxed);
    watch.places[which][0].store(place, Relaxed);
    for (call, to) in calls.into_iter().zip(&watch.places[which][1..]) {
        to.store(call, Relaxed);
    }
}

/// Calls that led to where a thread is, if it keeps frame pointers; else anything.
fn calls_on_stack(registers: &[i64; 23]) -> [u64; 3] {
    let mut calls = [0; 3];
    let stack = lifetimes::stack_of(engine().current);
    let (mut low, mut frame) = (registers[REG_RSP as usize] as u64, registers[REG_RBP as usize] as u64);
    for call in &mut calls {
        if frame < low || frame % 8 != 0 || !stack.contains(&frame) || !stack.contains(&(frame + 15)) {
            break;
        }
        // SAFETY: within the stack of the running thread, in the part that is in use.
        unsafe {
            *call = ((frame + 8) as *const u64).read();
            (low, frame) = (frame + 16, (frame as *const u64).read());
        }
    }
    calls
}

/// Another thread goes on: instructions that its predecessor has used too often have their breakpoints again.
pub fn switched() {
    let Some(w) = watched().filter(|w| !w.resting.is_empty()) else { return };
    if control().watch.found.load(Relaxed) == 0 && control().watch.trouble.is(Trouble::None) {
        for number in core::mem::take(&mut w.resting) {
            let site = &mut w.sites[number];
            site.rests = !code::replace(site.at.address, code::BREAKPOINT);
        }
    }
}

/// The running thread has made another one, which knows all that was before.
pub fn spawned(child: ThreadId) {
    let Some(w) = watched() else { return };
    let me = engine().me();
    w.clock(me);
    w.clock(child);
    let mut known = w.clocks[me.index()].clone();
    known.resize(known.len().max(child.index() + 1), 0);
    known[child.index()] = 1;
    w.clocks[child.index()] = known;
    w.clocks[me.index()][me.index()] += 1;
}

/// The running thread has joined another one.
pub fn joined(other: ThreadId) {
    let Some(w) = watched() else { return };
    let me = engine().me();
    w.clock(me);
    w.clock(other);
    let other = w.clocks[other.index()].clone();
    let mine = &mut w.clocks[me.index()];
    mine.resize(mine.len().max(other.len()), 0);
    for (mine, other) in mine.iter_mut().zip(&other) {
        *mine = (*mine).max(*other);
    }
}

/// Memory is given back: whatever is there next is something else.
pub fn forget(low: u64, length: u64) {
    if let Some(w) = watched() {
        w.table.forget(low, length);
    }
}

/// The running thread ends, and its thread-local storage with it.
pub fn forget_local() {
    /// More than the static storage of a thread takes.
    const ROOM: u64 = 64 << 10;
    if watched().is_some() {
        let base = sys::fs_base();
        forget(base.saturating_sub(ROOM), 2 * ROOM);
    }
}
