//! Starting threads and waiting for their results.

use super::Thread;
use crate::{home, rt};
use ordain_model::{Operation, Outcome, Wait};
use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Starts a thread, as [`std::thread::spawn`].
///
/// # Panics
/// If the OS gives no thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Starts threads with a name or a stack size, as [`std::thread::Builder`].
#[derive(Debug, Default)]
#[must_use = "a builder starts a thread only when told to"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Creates a builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the thread a name. Findings show it besides the name by birth.
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// Gives the thread a stack of that many bytes.
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = Some(size);
        self
    }

    /// Starts a thread.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if !rt::active() {
            let handle = self.real().spawn(f)?;
            let thread = Thread::real(handle.thread().clone());
            return Ok(JoinHandle { thread, kind: Kind::Real(handle) });
        }
        // SAFETY: `f` and its result borrow nothing.
        let (thread, run) = unsafe { self.start(f, false) };
        Ok(JoinHandle { thread, kind: Kind::Modelled(run) })
    }

    /// The same for a real thread.
    pub(super) fn real(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }

    /// Starts a modelled thread. Only when `rt::active()`.
    ///
    /// # Safety
    /// What `f` and its result borrow must live until the thread has ended.
    #[track_caller]
    pub(super) unsafe fn start<'a, F, T>(self, f: F, borrows: bool) -> (Thread, Run<T>)
    where
        F: FnOnce() -> T + 'a,
        T: 'a,
    {
        home::enter();
        let end = Arc::new(End { result: Mutex::new(None), message: OnceLock::new() });
        let body: Box<dyn FnOnce() + 'a> = {
            let end = end.clone();
            Box::new(move || run(f, end))
        };
        // SAFETY: only the lifetime changes, and the caller promises that it is long enough.
        let body: Box<dyn FnOnce()> = unsafe { std::mem::transmute(body) };
        let thread = rt::spawn(self.name.clone(), self.stack_size, borrows, body);
        (Thread::modelled(thread, self.name), Run { thread, end })
    }
}

/// The body of a modelled thread: runs `f` and leaves its result.
fn run<F: FnOnce() -> T, T>(f: F, end: Arc<End<T>>) {
    let result = catch(f);
    if let Err(payload) = &result {
        *held(end.message.get_or_init(Message::default)) = Some(message(&**payload));
    }
    *held(&end.result) = Some(result);
    // Drops the result if nobody can ask for it.
    let _ = catch(|| drop(end));
}

/// Runs `f` and reports its panic. What tears an execution down is let through.
fn catch<T>(f: impl FnOnce() -> T) -> super::Result<T> {
    let result = catch_unwind(AssertUnwindSafe(f));
    match result {
        Err(payload) if !rt::active() => resume_unwind(payload),
        Err(payload) => {
            rt::report_panic(&*payload);
            Err(payload)
        }
        ok => ok,
    }
}

/// What a panic says.
fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "Box<dyn Any>".to_owned()
    }
}

/// The content of a mutex that is never held across a step.
pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a modelled thread leaves.
struct End<T> {
    result: Mutex<Option<super::Result<T>>>,
    /// What its panic says, if it panicked; made when someone needs it.
    message: OnceLock<Message>,
}

/// What the panic of a thread says, if it panicked.
pub(super) type Message = Arc<Mutex<Option<String>>>;

/// A modelled thread and the end it will have.
pub(super) struct Run<T> {
    pub(super) thread: ordain_model::ThreadId,
    end: Arc<End<T>>,
}

impl<T> Run<T> {
    /// Waits for the thread and takes its result.
    #[track_caller]
    pub(super) fn join(&self) -> super::Result<T> {
        if rt::active() {
            rt::step(Operation::Join { thread: self.thread, wait: Wait::Block });
        }
        let result = held(&self.end.result).take();
        let result = result.unwrap_or_else(|| Err(Box::new("ordain: the execution ended before the thread did")));
        if result.is_err() && rt::active() {
            rt::panic_observed(self.thread);
        }
        result
    }

    /// What the thread's panic says, once it has ended.
    pub(super) fn message(&self) -> Message {
        self.end.message.get_or_init(Message::default).clone()
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub(super) fn is_finished(&self) -> bool {
        if rt::active() {
            rt::step(Operation::IsFinished { thread: self.thread }) == Outcome::DONE
        } else {
            held(&self.end.result).is_some()
        }
    }
}

/// The right to wait for a thread, as [`std::thread::JoinHandle`]. In a check, a panic of the thread is a finding unless
/// someone joins it.
pub struct JoinHandle<T> {
    thread: Thread,
    kind: Kind<T>,
}

enum Kind<T> {
    Real(std::thread::JoinHandle<T>),
    Modelled(Run<T>),
}

// SAFETY: handles are made only for results that may be sent; a shared handle does not give the result away.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Waits for the thread to end; gives its result, or as `Err` what it panicked with.
    #[track_caller]
    pub fn join(self) -> super::Result<T> {
        match self.kind {
            Kind::Real(handle) => {
                assert!(
                    !rt::active(),
                    "ordain: this thread was started outside the check; start it inside the closure"
                );
                handle.join()
            }
            Kind::Modelled(run) => run.join(),
        }
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.kind {
            Kind::Real(handle) => handle.is_finished(),
            Kind::Modelled(run) => run.is_finished(),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
