//! Atomic memory cells. Word: the value as bits. A failed compare-and-exchange is a read.

use crate::names::ObjectId;
use crate::state::View;

pub(super) fn holds(cell: ObjectId, expected: u64, view: &impl View) -> bool {
    view.word(cell) == expected
}
