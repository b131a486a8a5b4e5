//! Ordain for unmodified Linux programs: starts a program under control and runs plans on it.

pub mod backtrace;
pub mod binary;
pub mod doctor;
mod process;
mod shared;
mod target;

pub use ordain_wire::{Mode, ThreadRecord};
pub use process::{Launch, Patience};
pub use target::{Aftermath, Ended, Failure, ModeChange, Native};
