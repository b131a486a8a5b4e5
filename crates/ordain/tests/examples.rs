//! The examples find what they say they find, and their repaired versions are verified.
#![allow(clippy::duplicate_mod, reason = "each example brings the frame that all share")]

mod common;

#[allow(dead_code, reason = "its main is for the terminal")]
#[path = "../examples/arc.rs"]
mod arc;
#[allow(dead_code, reason = "its main is for the terminal")]
#[path = "../examples/bounded_buffer.rs"]
mod bounded_buffer;
#[allow(dead_code, reason = "its main is for the terminal")]
#[path = "../examples/ring_buffer.rs"]
mod ring_buffer;
#[allow(dead_code, reason = "its main is for the terminal")]
#[path = "../examples/rwlock.rs"]
mod rwlock;
#[allow(dead_code, reason = "its main is for the terminal")]
#[path = "../examples/treiber_stack.rs"]
mod treiber_stack;

use common::{finding, verify};
use ordain::FindingKind::{DataRace, Deadlock, Panic};

#[test]
fn arc_needs_a_release_decrement() {
    let found = finding(DataRace, arc::buggy);
    assert!(found.message().contains("examples/arc.rs:"), "{found}");
    verify(arc::fixed);
}

#[test]
fn a_bounded_buffer_needs_two_condition_variables() {
    let found = finding(Deadlock, bounded_buffer::buggy);
    assert!(found.message().contains("waits to be woken from main/condvar#"), "{found}");
    verify(bounded_buffer::fixed);
}

#[test]
fn a_ring_buffer_must_not_take_one_too_many() {
    finding(DataRace, ring_buffer::buggy);
    verify(ring_buffer::fixed);
}

#[test]
fn a_rwlock_must_look_again() {
    finding(DataRace, rwlock::buggy);
    verify(rwlock::fixed);
}

#[test]
fn a_treiber_stack_must_count_changes() {
    let found = finding(Panic, treiber_stack::buggy);
    assert!(found.message().contains("every slot is in one place"), "{found}");
    verify(treiber_stack::fixed);
}
