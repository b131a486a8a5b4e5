//! Ordain inside other people's programs.
//!
//! This library is preloaded into a program. All threads of the program run on one kernel thread, the *carrier*; each has its stack
//! and thread-local storage from a real but parked thread, its *donor*. Calls that synchronise come here, are announced to the
//! arbiter, and go on when the plan says so. The idea of donors keeps everything that a program or its libraries expect of a
//! thread true: `pthread_self`, `errno`, `thread_local`, exceptions, debuggers.
//!
//! Nothing here may call interposed functions, use the program's heap, or keep state that survives an execution by accident.
#![no_std]

extern crate alloc;

mod attributes;
mod cancellation;
mod children;
mod classes;
mod context;
mod credentials;
mod descriptors;
mod destructors;
mod dispatch;
mod engine;
mod environment;
mod files;
mod filter;
mod handles;
mod hash;
mod heap;
mod image;
mod inherited;
mod initialisation;
mod inputs;
mod kernel;
mod lessons;
mod lifetimes;
mod link;
mod loader;
mod maps;
mod memory;
mod objects;
mod outliving;
mod process;
mod random;
mod real;
mod scheduler;
mod server;
mod signals;
mod snapshot;
mod spin;
mod streams;
mod supervisor;
mod sync;
mod sys;
mod threads;
mod time;
mod trap;
mod unmodelled;
mod vdso;
mod watch;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap::new();

/// A failure of the runtime itself: told to the launcher, and the process ends.
#[panic_handler]
fn broken(info: &core::panic::PanicInfo<'_>) -> ! {
    link::break_down(format_args!("{info}"))
}
