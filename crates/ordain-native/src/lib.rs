//! Ordain for unmodified Linux programs: starts a program under control and runs plans on it.

pub mod backtrace;
pub mod binary;
mod callers;
mod check;
pub mod doctor;
mod finding;
pub mod gdb;
mod inputs;
mod process;
mod program;
pub mod record;
mod resources;
mod session;
mod settings;
mod shared;
mod target;
mod view;
mod watch;

pub use check::{Check, Fragments, LEVEL, Problem, Renewed, Repeated, Replayed, Report, blindness};
pub use finding::{Finding, command_line, describe_input, unescape};
pub use ordain_check::{FragmentResult, Observer, Progress, Resume, RunOptions, Settings};
pub use ordain_report::{Kind, Verdict};
pub use ordain_wire::{Mode, ThreadRecord};
#[doc(hidden)]
pub use process::runtime_image;
pub use process::{Launch, Patience};
pub use session::{ObjectNow, Session, State, ThreadNow};
pub use settings::{ProgramSettings, of_header, options};
pub use target::{Aftermath, Ended, Failure, ModeChange, Native};
