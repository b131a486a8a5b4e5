//! Ordain
pub mod cell;
pub mod hint;
pub mod sync;
pub mod thread;
pub mod time;

mod home;
mod rt;
