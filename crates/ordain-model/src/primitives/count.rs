//! Reference counts.
//!
//! Word: shares that keep the value alive in the low half, weak ones above. Adding and giving up shares commute, but for the last one that
//! keeps the value alive: its thread drops the value, and everything that others did with it came before.

use crate::footprint::{Access, Footprint};
use crate::names::ObjectId;
use crate::operation::{Operation, Outcome};
use crate::state::{State, View};

const STRONG: u64 = 0xffff_ffff;
const WEAK: u64 = 1 << 32;

fn share(weak: bool) -> u64 {
    if weak { WEAK } else { 1 }
}

pub(super) fn footprint(op: &Operation, view: &impl View, out: &mut Footprint) {
    match *op {
        Operation::DropShare { count, weak: false } => out.push(Access::give_up(count, left(count, view))),
        Operation::AddShare { count, .. } | Operation::DropShare { count, .. } => out.push(Access::read(count)),
        _ => {}
    }
}

/// How many shares that keep the value alive are left when one is given up.
pub(super) fn left(count: ObjectId, view: &impl View) -> u64 {
    (view.word(count) & STRONG).saturating_sub(1)
}

/// Whether a share is left that keeps the value alive.
pub(super) fn is_shared(count: ObjectId, view: &impl View) -> bool {
    view.word(count) & STRONG != 0
}

pub(super) fn add(count: ObjectId, weak: bool, state: &mut State) -> Outcome {
    state.set(count, state.word(count).wrapping_add(share(weak)));
    Outcome::DONE
}

pub(super) fn give_up(count: ObjectId, weak: bool, state: &mut State) -> Outcome {
    state.set(count, state.word(count).wrapping_sub(share(weak)));
    Outcome::DONE
}
