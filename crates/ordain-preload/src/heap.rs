//! The runtime's own heap, in shared memory: never in the program's, so that putting that back leaves it alone.
//!
//! Powers of two with free lists. What the runtime allocates is reused from execution to execution, so nothing cleverer pays.

use crate::sys;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::null_mut;

const CLASSES: usize = 48;
const CHUNK: usize = 1 << 24;

struct State {
    free: [*mut u8; CLASSES],
    next: *mut u8,
    end: *mut u8,
}

/// The heap.
pub struct Heap(UnsafeCell<State>);

// SAFETY: only the carrier allocates; prepared threads park before they could.
unsafe impl Sync for Heap {}

impl Heap {
    /// An empty heap.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(State { free: [null_mut(); CLASSES], next: null_mut(), end: null_mut() }))
    }
}

fn class(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(16).next_power_of_two().trailing_zeros() as usize
}

// SAFETY: blocks are aligned to their size class, disjoint, and large enough.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class(layout);
        if class >= CLASSES {
            return null_mut();
        }
        // SAFETY: one thread at a time, see above; free blocks hold the pointer to the next.
        unsafe {
            let state = &mut *self.0.get();
            let head = state.free[class];
            if !head.is_null() {
                state.free[class] = *(head as *mut *mut u8);
                return head;
            }
            let size = 1usize << class;
            if size >= CHUNK {
                return sys::map_shared(size);
            }
            let mut at = (state.next as usize + size - 1) & !(size - 1);
            if state.next.is_null() || at + size > state.end as usize {
                let chunk = sys::map_shared(CHUNK);
                if chunk.is_null() {
                    return null_mut();
                }
                (state.next, state.end) = (chunk, chunk.add(CHUNK));
                at = (chunk as usize + size - 1) & !(size - 1);
                if at + size > state.end as usize {
                    return null_mut();
                }
            }
            state.next = (at + size) as *mut u8;
            at as *mut u8
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class(layout);
        // SAFETY: the block is ours and free; it is large enough for a pointer.
        unsafe {
            let state = &mut *self.0.get();
            *(block as *mut *mut u8) = state.free[class];
            state.free[class] = block;
        }
    }
}
