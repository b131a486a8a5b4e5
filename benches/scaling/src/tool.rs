//! The types that the benchmark programs are written against.

pub(crate) use ordain::sync::atomic::AtomicUsize;
pub(crate) use ordain::sync::{Condvar, Mutex};
pub(crate) use ordain::thread;
pub(crate) use std::sync::Arc;
