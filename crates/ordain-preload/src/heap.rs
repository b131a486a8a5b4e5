//! The runtime's own heaps: never the program's, so that putting that back leaves them alone.
//!
//! Two of them. The engine's is shared with children and always writable. The supervisor's holds what the search knows, and is
//! read-only while the program runs. Powers of two with free lists: what is allocated is reused from execution to execution, so
//! nothing cleverer pays.

use crate::sys::{self, call};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::null_mut;

const CLASSES: usize = 48;
/// Address space of the engine's heap: as much of this as there is. Children must find all of it mapped.
const ENGINE_SIZES: [usize; 4] = [1 << 37, 1 << 34, 1 << 32, 1 << 30];
/// Address space of the supervisor's heap, and how much of it is made usable at a time.
const RESERVED: usize = 1 << 38;
const GROWTH: usize = 1 << 21;

struct Arena {
    free: [*mut u8; CLASSES],
    next: *mut u8,
    end: *mut u8,
}

impl Arena {
    const fn new() -> Self {
        Self { free: [null_mut(); CLASSES], next: null_mut(), end: null_mut() }
    }
}

struct State {
    engine: Arena,
    supervisor: Arena,
    /// Where the supervisor's heap begins.
    base: *mut u8,
    /// The supervisor allocates.
    inside: bool,
    /// The supervisor's memory is read-only.
    shielded: bool,
}

/// The heaps. What is known of them is in shared memory too: children and the process that makes them use the same.
pub struct Heap(UnsafeCell<*mut State>);

// SAFETY: only the carrier allocates; prepared threads park before they could.
unsafe impl Sync for Heap {}

impl Heap {
    /// Empty heaps.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(null_mut()))
    }

    #[inline]
    fn state(&self) -> &'static mut State {
        // SAFETY: only the carrier comes here, and no reference is kept.
        unsafe {
            let place = &mut *self.0.get();
            if place.is_null() {
                let new = sys::map_shared(size_of::<State>()) as *mut State;
                if new.is_null() {
                    sys::exit_group(105);
                }
                new.write(State {
                    engine: Arena::new(),
                    supervisor: Arena::new(),
                    base: null_mut(),
                    inside: false,
                    shielded: false,
                });
                *place = new;
            }
            &mut **place
        }
    }
}

fn state() -> &'static mut State {
    crate::HEAP.state()
}

/// What `f` allocates is the supervisor's.
pub fn inside<R>(f: impl FnOnce() -> R) -> R {
    let was = core::mem::replace(&mut state().inside, true);
    let result = f();
    state().inside = was;
    result
}

/// What `f` allocates is the engine's.
pub unsafe fn outside<R>(f: impl FnOnce() -> R) -> R {
    let was = core::mem::replace(&mut state().inside, false);
    let result = f();
    state().inside = was;
    result
}

fn protect(rights: i32) {
    let s = state();
    if !s.base.is_null() {
        // SAFETY: the supervisor's own memory.
        unsafe { call!(sys::SYS_mprotect, s.base, s.supervisor.end as usize - s.base as usize, rights) };
    }
}

/// The program runs: the supervisor's memory is read-only, if `shielded`, and what is allocated is the engine's.
pub fn shield(shielded: bool) {
    let s = state();
    s.inside = false;
    if shielded && !s.shielded {
        s.shielded = true;
        protect(libc::PROT_READ);
    }
}

/// The supervisor goes on.
pub fn unshield() {
    let s = state();
    s.inside = true;
    // The program may have written over this: then the supervisor's next write ends the process.
    if core::mem::take(&mut s.shielded) {
        protect(libc::PROT_READ | libc::PROT_WRITE);
    }
}

/// Where the supervisor's memory is: it is not the program's.
pub fn supervisor_range() -> (usize, usize) {
    let base = state().base as usize;
    if base == 0 { (0, 0) } else { (base, base + RESERVED) }
}

/// Reserves the supervisor's memory, before a snapshot is taken. If `shared`, children write to it for their parent.
pub fn reserve(shared: bool) {
    let s = state();
    if !s.base.is_null() {
        return;
    }
    // SAFETY: new address space; it is made usable piece by piece.
    let at = unsafe {
        let sharing = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        call!(sys::SYS_mmap, sys::own_address(RESERVED), RESERVED, libc::PROT_NONE, flags, -1i32, 0)
    };
    if at > 0 {
        let base = (at as usize + GROWTH - 1) & !(GROWTH - 1);
        s.base = base as *mut u8;
        (s.supervisor.next, s.supervisor.end) = (s.base, s.base);
        // SAFETY: large pages make changing rights cheap; without them it only takes longer.
        unsafe { call!(libc::SYS_madvise, base, RESERVED - GROWTH, libc::MADV_HUGEPAGE) };
    }
}

fn class(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(16).next_power_of_two().trailing_zeros() as usize
}

impl State {
    unsafe fn allocate(&mut self, class: usize) -> *mut u8 {
        let inside = self.inside && !self.base.is_null();
        let arena = if inside { &mut self.supervisor } else { &mut self.engine };
        let head = arena.free[class];
        let size = 1usize << class;
        // SAFETY: one thread at a time; free blocks hold the pointer to the next; new ones are within mapped memory.
        unsafe {
            if !head.is_null() {
                arena.free[class] = *(head as *mut *mut u8);
                return head;
            }
            if inside {
                let at = (arena.next as usize + size - 1) & !(size - 1);
                if at + size > arena.end as usize {
                    let more = (at + size - arena.end as usize + GROWTH - 1) & !(GROWTH - 1);
                    if arena.end as usize + more > self.base as usize + RESERVED - GROWTH {
                        return null_mut();
                    }
                    let rights = libc::PROT_READ | libc::PROT_WRITE;
                    if call!(sys::SYS_mprotect, arena.end, more, rights) < 0 {
                        return null_mut();
                    }
                    arena.end = arena.end.add(more);
                }
                arena.next = (at + size) as *mut u8;
                return at as *mut u8;
            }
            if arena.next.is_null() {
                for size in ENGINE_SIZES {
                    let area = sys::map_shared(size);
                    if !area.is_null() {
                        (arena.next, arena.end) = (area, area.add(size));
                        break;
                    }
                }
            }
            let at = (arena.next as usize + size - 1) & !(size - 1);
            if arena.next.is_null() || at + size > arena.end as usize {
                return null_mut();
            }
            arena.next = (at + size) as *mut u8;
            at as *mut u8
        }
    }
}

// SAFETY: blocks are aligned to their size class, disjoint, and large enough.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class(layout);
        if class >= CLASSES {
            return null_mut();
        }
        // SAFETY: one thread at a time, see above.
        unsafe { self.state().allocate(class) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class(layout);
        // SAFETY: the block is ours and free; it is large enough for a pointer.
        unsafe {
            let state = self.state();
            let base = state.base as usize;
            let supervisor = base != 0 && (base..base + RESERVED).contains(&(block as usize));
            let arena = if supervisor { &mut state.supervisor } else { &mut state.engine };
            *(block as *mut *mut u8) = arena.free[class];
            arena.free[class] = block;
        }
    }
}
