//! Scoped threads, as [`std::thread::scope`].
//!
//! At its end a scope joins the threads that nobody joined. Which of them it joins next may depend only on what its thread
//! knows (its own past, and the past of threads that it saw end), never on how far the others happen to have come.

use super::spawn::{Message, Run, held};
use super::{Builder, Thread};
use crate::rt;
use ordain_model::{Operation, ThreadId, Wait};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

/// A scope to start threads in that may borrow from outside it, as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    kind: Kind<'scope, 'env>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

enum Kind<'scope, 'env: 'scope> {
    Real(&'scope std::thread::Scope<'scope, 'env>),
    Modelled(Group),
}

/// Runs `f`, which may start threads that borrow, and waits for all of them.
///
/// # Panics
/// If a thread panicked that nobody joined.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    if !rt::active() {
        let mut place = None;
        return std::thread::scope(|real| {
            // SAFETY: std's scope lives until all its threads have ended. That is all the lifetime of a scope promises.
            let real = unsafe { extend_real(real) };
            let scope = place.insert(Scope { kind: Kind::Real(real), scope: PhantomData, env: PhantomData });
            // SAFETY: `place` lives longer than the call of `std::thread::scope`, which waits for all threads.
            f(unsafe { extend(scope) })
        });
    }
    let scope = Scope { kind: Kind::Modelled(Group::default()), scope: PhantomData, env: PhantomData };
    // SAFETY: `scope` lives until `join_all` below has waited for all threads. Unwinding comes by here only in the
    // tear-down of an execution, which ends threads before those that started them.
    let result = catch_unwind(AssertUnwindSafe(|| f(unsafe { extend(&scope) })));
    let message = if rt::active() { scope.join_all() } else { None };
    match (result, message) {
        (Err(payload), _) => resume_unwind(payload),
        (Ok(_), Some(message)) => panic!("a scoped thread panicked: {message}"),
        (Ok(value), None) => value,
    }
}

/// Lengthens the borrow of a std scope.
///
/// # Safety
/// The reference must not be used after the scope's threads have ended.
unsafe fn extend_real<'a, 'env>(scope: &'a std::thread::Scope<'a, 'env>) -> &'env std::thread::Scope<'env, 'env> {
    // SAFETY: only lifetimes change; the caller's promise.
    unsafe { std::mem::transmute(scope) }
}

/// Lengthens the borrow of a scope.
///
/// # Safety
/// The reference must not be used after the scope's threads have ended.
unsafe fn extend<'env>(scope: &Scope<'env, 'env>) -> &'env Scope<'env, 'env> {
    // SAFETY: only the lifetime changes; the caller's promise.
    unsafe { &*std::ptr::from_ref(scope) }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a thread that may borrow what outlives the scope.
    ///
    /// # Panics
    /// If the OS gives no thread.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("failed to spawn thread")
    }

    /// Waits for the threads that nobody joined. Says what the first that panicked said.
    #[track_caller]
    fn join_all(&self) -> Option<String> {
        match &self.kind {
            Kind::Real(_) => None,
            Kind::Modelled(group) => group.join_all(),
        }
    }
}

impl Builder {
    /// Starts a thread in a scope.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        match &scope.kind {
            Kind::Real(real) => {
                let handle = self.real().spawn_scoped(real, f)?;
                let thread = Thread::real(handle.thread().clone());
                Ok(ScopedJoinHandle { thread, kind: HandleKind::Real(handle) })
            }
            Kind::Modelled(group) => {
                assert!(rt::active(), "ordain: a destructor tried to start a thread while an execution was torn down");
                // SAFETY: the scope waits for the thread before what it may borrow ends.
                let (thread, run) = unsafe { self.start(f, true) };
                let member = group.add(run.thread, run.message());
                Ok(ScopedJoinHandle { thread, kind: HandleKind::Modelled(run, member) })
            }
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// The right to wait for a scoped thread, as [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    thread: Thread,
    kind: HandleKind<'scope, T>,
}

enum HandleKind<'scope, T> {
    Real(std::thread::ScopedJoinHandle<'scope, T>),
    Modelled(Run<T>, Claim),
}

// SAFETY: handles are made only for results that may be sent; a shared handle does not give the result away.
unsafe impl<T> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for ScopedJoinHandle<'_, T> {}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread to end; gives its result, or as `Err` what it panicked with.
    #[track_caller]
    pub fn join(self) -> super::Result<T> {
        match self.kind {
            HandleKind::Real(handle) => handle.join(),
            HandleKind::Modelled(run, mut claim) => {
                let result = run.join();
                claim.joined = true;
                result
            }
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
            HandleKind::Real(handle) => handle.is_finished(),
            HandleKind::Modelled(run, _) => run.is_finished(),
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

/// The modelled threads of a scope.
#[derive(Default)]
struct Group(Mutex<Vec<Arc<Member>>>);

/// A modelled thread of a scope.
struct Member {
    thread: ThreadId,
    /// Who started it.
    starter: ThreadId,
    /// What its panic says.
    message: Message,
    /// What became of its handle.
    fate: Mutex<Option<Fate>>,
}

/// What became of the handle of a scoped thread.
#[derive(Clone, Copy)]
struct Fate {
    /// Who joined the thread or dropped its handle.
    by: ThreadId,
    /// Whether the thread was joined.
    joined: bool,
}

/// The right to join a member; dropped with the handle.
struct Claim {
    member: Arc<Member>,
    joined: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if rt::active() {
            *held(&self.member.fate) = Some(Fate { by: rt::current(), joined: self.joined });
        }
    }
}

impl Group {
    fn add(&self, thread: ThreadId, message: Message) -> Claim {
        let member = Arc::new(Member { thread, starter: rt::current(), message, fate: Mutex::new(None) });
        held(&self.0).push(member.clone());
        Claim { member, joined: false }
    }

    /// Waits for the threads that nobody joined. Says what the first that panicked said.
    #[track_caller]
    fn join_all(&self) -> Option<String> {
        let mut message = None;
        // The threads whose past this thread knows.
        let mut known = vec![rt::current()];
        while let Some((member, joined)) = self.next(&known) {
            if !joined {
                rt::step(Operation::Join { thread: member.thread, wait: Wait::Block });
                let said = held(&member.message).take();
                if said.is_some() {
                    rt::panic_observed(member.thread);
                }
                message = message.or(said);
            }
            known.push(member.thread);
        }
        message
    }

    /// The next member to wait for, and whether it was joined: preferably one whose handle is known to be settled, for the
    /// others may yet be joined by the thread that has the handle.
    fn next(&self, known: &[ThreadId]) -> Option<(Arc<Member>, bool)> {
        let members = held(&self.0);
        let of = |starter: &ThreadId| {
            let starter = *starter;
            members.iter().filter(move |m| m.starter == starter && !known.contains(&m.thread))
        };
        let fate = |member: &Arc<Member>| held(&member.fate).filter(|fate| known.contains(&fate.by));
        let settled = known.iter().flat_map(of).find_map(|member| Some((member, fate(member)?.joined)));
        let next = settled.or_else(|| known.iter().flat_map(of).next().map(|member| (member, false)));
        next.map(|(member, joined)| (member.clone(), joined))
    }
}
