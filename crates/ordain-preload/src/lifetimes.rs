//! Memory whose life is over: freed blocks, unmapped pages, the stacks of threads that have ended, frames that were left.
//!
//! Giving back memory with objects in it is a step on each of them, so that using them before and after it are different classes.
//! That a function has returned is no step. So a frame that was left is noticed when something in it is used, and not in every
//! order in which that could happen.

use crate::context::{interpose_directly, noting};
use crate::engine::{engine, step};
use crate::objects;
use crate::real;
use crate::threads::{STACK, State};
use crate::watch;
use core::ffi::c_void;
use ordain_model::{Misuse, ObjectId, Operation};

type Free = unsafe extern "C" fn(*mut c_void);
type Reallocate = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Size = unsafe extern "C" fn(*mut c_void) -> usize;

/// The allocator's own functions: the C library's, or those of one that the program brings with it.
static mut REAL_FREE: Option<Free> = None;
static mut REAL_REALLOC: Option<Reallocate> = None;
static mut REAL_SIZE: Option<Size> = None;

/// Finds the allocator, before the program can use it through us.
pub fn find_allocator() {
    // SAFETY: symbols of these names have these types, or are not there; nobody else runs yet.
    unsafe {
        REAL_SIZE = core::mem::transmute::<usize, Option<Size>>(real::next(c"malloc_usable_size"));
        REAL_REALLOC = core::mem::transmute::<usize, Option<Reallocate>>(real::next(c"realloc"));
        REAL_FREE = core::mem::transmute::<usize, Option<Free>>(real::next(c"free"));
    }
}

interpose_directly! {
    free => free_block, REAL_FREE;
    realloc => resize_block, REAL_REALLOC;
}

/// The size of a block; zero if the allocator does not tell.
unsafe fn size_of_block(block: *mut c_void) -> usize {
    // SAFETY: the program's block.
    unsafe { (&raw const REAL_SIZE).read().map_or(0, |size| size(block)) }
}

unsafe extern "C" fn free_block(block: *mut c_void) {
    // SAFETY: the program's block, which the allocator takes back.
    unsafe {
        if !block.is_null() {
            end_within(block as u64, size_of_block(block) as u64);
        }
        if let Some(free) = (&raw const REAL_FREE).read() {
            free(block);
        }
    }
}

unsafe extern "C" fn resize_block(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the program's block.
    unsafe {
        let Some(reallocate) = (&raw const REAL_REALLOC).read() else { return core::ptr::null_mut() };
        let old = if block.is_null() { 0 } else { size_of_block(block) };
        let low = block as u64;
        if old >= size && size != 0 || engine().objects.first_within(low, low + old as u64).is_none() {
            // It stays where it is, or nothing is in it.
            let new = reallocate(block, size);
            if new != block {
                watch::forget(low, old as u64);
            }
            return new;
        }
        let mut ended = alloc::vec::Vec::new();
        while let Some(object) = engine().objects.first_within(low, low + old as u64) {
            ended.push((object, engine().objects.address(object), engine().arbiter.value(object)));
            end_life(object);
        }
        let new = reallocate(block, size);
        if new == block {
            for (object, address, word) in ended {
                engine().objects.come_back(object, address);
                engine().set_value(object, word);
            }
        } else {
            watch::forget(low, old as u64);
        }
        new
    }
}

/// Memory is given back: whatever was in it is no more.
pub fn end_within(low: u64, length: u64) {
    watch::forget(low, length);
    while let Some(object) = engine().objects.first_within(low, low.saturating_add(length)) {
        end_life(object);
    }
}

fn end_life(object: ObjectId) {
    step(Operation::Free { object });
    engine().objects.forget(object);
}

/// The running thread ends, and its stack with it.
pub fn end_stack() {
    let current = engine().current;
    if current != 0 {
        let stack = stack_of(current);
        end_within(stack.start, stack.end - stack.start);
        watch::forget_local();
    }
}

/// Where the stack of a slot is.
pub fn stack_of(number: usize) -> core::ops::Range<u64> {
    let e = engine();
    if number == 0 {
        let (bottom, size) = e.program.stack;
        return bottom..bottom + size as u64;
    }
    let top = e.slots[number].top();
    top.saturating_sub(STACK as u64)..top
}

/// Ends the execution if the step that the running thread has just made used an object whose memory is not there any more.
pub fn check_use(op: &Operation) {
    let Some(object) = op.object() else { return };
    objects::check_doubt(object);
    let e = engine();
    let address = e.objects.address(object);
    let execution = e.arbiter.execution();
    if let Some(at) = execution.misuses.last()
        && at.step as usize + 1 == execution.steps.len()
        && at.misuse == Misuse::UseAfterFree
    {
        objects::end_at(address, format_args!(""));
    }
    if let Some(slot) = e.objects.stack(object)
        && has_left(slot, address)
    {
        let kind = e.arbiter.names().kind(object).name();
        let message =
            format_args!("a {kind} was used that is in a function which has returned, on the stack of another thread");
        objects::end_at(address, message);
    }
}

/// The slot whose stack an address is on.
pub fn slot_with_stack(address: u64) -> Option<usize> {
    (0..engine().slots.len()).find(|slot| stack_of(*slot).contains(&address))
}

/// Whether another thread has left the frame on its stack that an address is in.
fn has_left(number: usize, address: u64) -> bool {
    /// What leaf functions may use below the stack pointer.
    const RED_ZONE: u64 = 128;
    let e = engine();
    let slot = &e.slots[number];
    let stack = slot.registers[1];
    // A thread that is on another stack for the moment keeps its frames.
    let is_on_it = stack_of(number).contains(&stack);
    number != e.current && slot.state == State::Running && is_on_it && address + RED_ZONE < stack
}
