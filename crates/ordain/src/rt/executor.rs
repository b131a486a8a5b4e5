//! Runs executions: the coroutines, their stacks, and the switching between them.

pub(super) mod tear_down;

use super::{Sight, panics, strangers, watchdog};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ordain_explore::{Plan, Target};
use ordain_model::names::Birth;
use ordain_model::{
    Arbiter, End, Execution, Mark, Named, Names, ObjectId, ObjectKind, Operation, Options, Outcome, Site, ThreadId,
};
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use tear_down::TearDown;

std::thread_local! {
    /// Whether an execution runs on this OS thread and is not being torn down.
    pub(super) static ACTIVE: Cell<bool> = const { Cell::new(false) };
    /// The runtime of the execution that runs on this OS thread, its tear-down included.
    static RUNTIME: Cell<Option<NonNull<Runtime>>> = const { Cell::new(None) };
    /// Whether a thread of the program is being unwound in a tear-down.
    static ENDING: Cell<bool> = const { Cell::new(false) };
    /// Whether std counts a panic of a thread that was left for ever in the middle of unwinding.
    static MISCOUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Numbers of executions, never used twice in a process, so that objects of old ones are recognised.
static NEXT_EXECUTION: AtomicU64 = AtomicU64::new(1);

type Thread = Coroutine<(), (), (), DefaultStack>;

/// A panic of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Panicked {
    /// The thread.
    pub(crate) thread: ThreadId,
    /// What it said.
    pub(crate) message: String,
    /// Where: file, line, column.
    pub(crate) location: Option<(String, u32, u32)>,
    /// Whether another thread joined it and learned so.
    pub(crate) observed: bool,
}

/// What belongs to one modelled thread. Boxed, so that it stays in place.
#[derive(Default)]
struct Slot {
    coroutine: Option<Thread>,
    yielder: Option<NonNull<Yielder<(), ()>>>,
    stack_size: usize,
    name: Option<String>,
    locals: Vec<(usize, Box<dyn Any>)>,
    /// Whether it is unwinding, as far as its own panics go.
    panicking: bool,
    /// Whether it gave way while it was unwinding.
    unwinding: bool,
    /// Left for ever in the middle of a destructor.
    abandoned: bool,
    /// What it has done since it was to end, in units of [`STRENGTH`].
    spent: u64,
    /// Waits in a tear-down until another thread has given back what it holds.
    waits: bool,
    /// Whether it may use what is on the stacks of other threads.
    borrows: bool,
}

/// The state of the execution that runs.
pub(super) struct Runtime {
    pub(super) arbiter: Arbiter,
    /// The running thread.
    pub(super) current: ThreadId,
    /// The number of the execution.
    pub(super) number: u64,
    pub(super) panics: Vec<Panicked>,
    pub(super) end_hooks: Vec<Box<dyn FnOnce()>>,
    /// The plan of the execution, for as long as it runs.
    plan: Option<NonNull<Plan<'static>>>,
    /// Who is to run when the running thread gives way, and what its operation gives it.
    next: Option<ThreadId>,
    outcome: Outcome,
    /// The running thread is new and only runs up to its first operation.
    starting: bool,
    tearing_down: bool,
    /// Where the execution was cut short. It runs on to its end from there, because the program knows of no other; what happens then
    /// does not count.
    cut: Option<Cut>,
    /// Memory for the next cut.
    mark: Mark,
    #[allow(clippy::vec_box)] // Slots must stay in place while their coroutines run and others are added.
    slots: Vec<Box<Slot>>,
    /// Stacks that are not in use.
    stacks: Vec<(usize, DefaultStack)>,
    stack_size: usize,
    /// Accesses to plain memory that last.
    pub(super) uses: Vec<Use>,
    /// Who accessed plain memory by an exclusive borrow, and where.
    pub(super) exclusive: Vec<(ThreadId, Site)>,
    /// What the check does not see.
    pub(super) sight: Arc<Sight>,
    /// Objects made outside: their names, and the execution that last used them.
    externals: HashMap<u64, (ObjectId, u64)>,
    /// Threads that have a coroutine.
    left: usize,
    /// Threads that gave way while unwinding.
    unwinding: usize,
    /// The last panic that the hook saw and no thread has reported.
    last_panic: Option<Panicked>,
    watched: Arc<watchdog::Watched>,
}

/// An access to plain memory that lasts.
pub(super) struct Use {
    pub(super) thread: ThreadId,
    pub(super) cell: ObjectId,
    pub(super) write: bool,
    /// The number of the access.
    pub(super) begin: u32,
}

/// Where an execution was cut short.
struct Cut {
    /// Its state.
    mark: Mark,
    /// How many panics there had been.
    panics: usize,
}

/// Calls `f` with the runtime of the running execution. `f` must not make a step nor call code of the user.
#[inline]
pub(super) fn with<R>(f: impl FnOnce(&mut Runtime) -> R) -> R {
    let Some(mut runtime) = RUNTIME.get() else { not_running() };
    // SAFETY: the runtime outlives the execution, and the pointer is there only for as long; everything happens on one OS
    // thread, and `f` neither switches nor comes here again, so no other reference is in use.
    f(unsafe { runtime.as_mut() })
}

#[cold]
fn not_running() -> ! {
    panic!("ordain: used inside a check only, but no execution is running on this OS thread")
}

/// Whether an execution runs on this OS thread, its tear-down included.
pub(super) fn is_running() -> bool {
    RUNTIME.get().is_some()
}

/// As [`with`], also during a tear-down.
pub(super) fn with_running(f: impl FnOnce(&mut Runtime)) {
    if is_running() {
        with(f);
    }
}

impl Runtime {
    fn slot(&mut self, thread: ThreadId) -> &mut Slot {
        &mut self.slots[thread.index()]
    }

    pub(super) fn is_tearing_down(&self) -> bool {
        self.tearing_down
    }

    pub(super) fn given_name(&mut self, thread: ThreadId) -> Option<String> {
        self.slots.get(thread.index()).and_then(|s| s.name.clone())
    }

    pub(super) fn locals(&mut self) -> &mut Vec<(usize, Box<dyn Any>)> {
        let current = self.current;
        &mut self.slot(current).locals
    }

    /// Whether the running thread is unwinding. std counts panics for each OS thread; that number is right unless another
    /// modelled thread was left in the middle of unwinding.
    pub(super) fn is_panicking(&mut self) -> bool {
        let current = self.current;
        if self.unwinding == 0 && !MISCOUNTED.get() {
            self.slot(current).panicking = std::thread::panicking();
        }
        self.slot(current).panicking
    }

    /// The hook saw a panic.
    pub(super) fn note_panic(&mut self, message: String, location: Option<(String, u32, u32)>) {
        let thread = self.current;
        if let Some(slot) = self.slots.get_mut(thread.index()) {
            slot.panicking = true;
        }
        self.last_panic = Some(Panicked { thread, message, location, observed: false });
    }

    pub(super) fn report_panic(&mut self, payload: &(dyn Any + Send)) {
        let thread = self.current;
        self.slot(thread).panicking = false;
        let seen = self.last_panic.take_if(|p| p.thread == thread);
        let panic = seen.unwrap_or_else(|| Panicked {
            thread,
            message: panics::message(payload),
            location: None,
            observed: false,
        });
        self.panics.push(panic);
    }

    /// The name of an object made outside, and whether this is its first use in the execution.
    pub(super) fn external(&mut self, key: u64, kind: ObjectKind) -> (ObjectId, bool) {
        let number = self.number;
        let names = self.arbiter.names_mut();
        let entry = self.externals.entry(key).or_insert_with(|| (names.external(kind, key, 0), 0));
        let fresh = entry.1 != number;
        entry.1 = number;
        (entry.0, fresh)
    }

    /// Decides who moves next and applies the move. `None` when the execution is over.
    #[inline]
    fn decide(&mut self) -> Option<ThreadId> {
        let mut plan = self.plan?;
        if self.watched.is_late() {
            return self.break_off();
        }
        if self.cut.is_some() {
            return self.run_on();
        }
        // SAFETY: set by `Executor::run` to its own borrow of the plan, and taken back before that ends.
        let Some(transition) = unsafe { plan.as_mut() }.next(&mut self.arbiter) else { return self.run_on() };
        self.outcome = self.arbiter.apply(transition);
        Some(transition.thread)
    }

    /// Ends the execution because the time is over. What was cut short before stays so.
    #[cold]
    fn break_off(&mut self) -> Option<ThreadId> {
        if self.cut.is_none() {
            self.arbiter.finish_with(End::Interrupted);
        }
        None
    }

    /// Decides who moves next in an execution that was cut short. `None` when it is over, whatever ended it.
    #[cold]
    fn run_on(&mut self) -> Option<ThreadId> {
        if self.cut.is_none() {
            if !matches!(self.arbiter.execution().end, End::Cut) {
                return None;
            }
            let mut mark = std::mem::take(&mut self.mark);
            self.arbiter.mark(&mut mark);
            self.cut = Some(Cut { mark, panics: self.panics.len() });
        }
        if self.arbiter.is_over_limit() {
            return None;
        }
        let transition = self.arbiter.first_enabled()?;
        self.outcome = self.arbiter.apply(transition);
        Some(transition.thread)
    }

    /// Forgets what happened behind a cut.
    fn forget_the_rest(&mut self) {
        if let Some(Cut { mark, panics }) = self.cut.take() {
            self.arbiter.cut_back(&mark);
            self.panics.truncate(panics);
            self.mark = mark;
        }
    }

    fn stack(&mut self, size: usize) -> std::io::Result<DefaultStack> {
        match self.stacks.iter().rposition(|s| s.0 == size) {
            Some(place) => Ok(self.stacks.swap_remove(place).1),
            None => DefaultStack::new(size),
        }
    }

    /// Puts a thread's coroutine in place; it runs when it is resumed.
    fn prepare(
        &mut self,
        thread: ThreadId,
        name: Option<String>,
        size: Option<usize>,
        borrows: bool,
        body: Box<dyn FnOnce()>,
    ) {
        let size = size.unwrap_or(self.stack_size);
        let stack = self.stack(size).unwrap_or_else(|error| {
            panic!(
                "ordain: no memory for the stack of a thread ({size} bytes): {error}. Check::stack_size sets how large they are"
            )
        });
        while self.slots.len() <= thread.index() {
            self.slots.push(Box::default());
        }
        let coroutine = Coroutine::with_stack(stack, move |yielder, ()| main_function(thread, yielder, body));
        self.left += 1;
        let slot = self.slot(thread);
        slot.coroutine = Some(coroutine);
        slot.stack_size = size;
        slot.name = name;
        (slot.panicking, slot.unwinding, slot.abandoned) = (false, false, false);
        (slot.waits, slot.borrows, slot.spent) = (false, borrows, 0);
    }

    /// The coroutine of a thread that is not running.
    fn coroutine(&mut self, thread: ThreadId) -> Option<NonNull<Thread>> {
        self.slots.get_mut(thread.index()).and_then(|s| s.coroutine.as_mut()).map(NonNull::from)
    }

    /// Takes back the stack of a coroutine that is done.
    fn retire(&mut self, thread: ThreadId) {
        let slot = self.slot(thread);
        let size = slot.stack_size;
        if let Some(coroutine) = slot.coroutine.take() {
            self.left -= 1;
            self.stacks.push((size, coroutine.into_stack()));
        }
    }
}

/// What a modelled thread runs.
fn main_function(thread: ThreadId, yielder: &Yielder<(), ()>, body: Box<dyn FnOnce()>) {
    with(|rt| rt.slot(thread).yielder = Some(NonNull::from(yielder)));
    let result = catch_unwind(AssertUnwindSafe(|| {
        body();
        loop {
            // A value that is dropped may make others.
            let Some(local) = with(|rt| rt.locals().pop()) else { break };
            drop(local);
        }
    }));
    if !ACTIVE.get() {
        // The execution is being torn down; whatever it was, it ends here.
        return;
    }
    if let Err(payload) = result {
        with(|rt| rt.report_panic(&*payload));
        // A payload may be anything, so dropping it may be, too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    }
    let exited = catch_unwind(AssertUnwindSafe(|| step(Operation::Exit, Site::default())));
    if exited.is_ok() && ACTIVE.get() {
        with(|rt| rt.next = rt.decide());
    }
}

/// Resumes a thread until it gives way or ends.
fn resume(thread: ThreadId) {
    let Some(mut coroutine) = with(|rt| {
        rt.current = thread;
        rt.coroutine(thread)
    }) else {
        return;
    };
    // SAFETY: the coroutine is in a boxed slot that stays in place; nothing takes it out or resumes it while it runs, because
    // only the thread that gave way last, or that spawned it, comes here.
    let result = unsafe { coroutine.as_mut() }.resume(());
    if matches!(result, CoroutineResult::Return(())) {
        with(|rt| rt.retire(thread));
    }
}

/// Gives way until resumed. In a tear-down, ends the thread.
fn give_way(thread: ThreadId) {
    let panicking = with(|rt| {
        let panicking = rt.is_panicking();
        if panicking {
            rt.slot(thread).unwinding = true;
            rt.unwinding += 1;
        }
        panicking
    });
    let Some(yielder) = with(|rt| rt.slot(thread).yielder) else { not_running() };
    // SAFETY: the yielder lives on the stack of the running coroutine.
    unsafe { yielder.as_ref() }.suspend(());
    if panicking {
        with(|rt| {
            rt.slot(thread).unwinding = false;
            rt.unwinding -= 1;
        });
    }
    // A thread that unwinds already goes on to do so; throwing again would end the process.
    if with(|rt| rt.tearing_down) && !panicking {
        resume_unwind(Box::new(TearDown));
    }
}

/// Announces an operation and waits until it was picked and applied.
pub(super) fn step(op: Operation, site: Site) -> Outcome {
    let (thread, next, outcome) = with(|rt| {
        let thread = rt.current;
        rt.watched.beat(site.0);
        rt.arbiter.announce(thread, op, site);
        if rt.starting {
            return (thread, None, Outcome::DONE);
        }
        let next = rt.decide();
        rt.next = next;
        (thread, next, rt.outcome)
    });
    if next == Some(thread) {
        return outcome;
    }
    give_way(thread);
    with(|rt| rt.outcome)
}

/// Makes a thread: the step, then its first run up to its first operation.
pub(super) fn spawn(
    name: Option<String>,
    stack_size: Option<usize>,
    borrows: bool,
    body: Box<dyn FnOnce()>,
    site: Site,
) -> ThreadId {
    let (parent, child) = with(|rt| (rt.current, rt.arbiter.next_child(rt.current)));
    step(Operation::Spawn { child }, site);
    with(|rt| {
        rt.prepare(child, name, stack_size, borrows, body);
        rt.starting = true;
    });
    resume(child);
    with(|rt| {
        rt.starting = false;
        rt.current = parent;
    });
    child
}

/// Runs a closure under plans: the target of the library.
pub(crate) struct Executor {
    runtime: Box<Runtime>,
    program: Rc<dyn Fn()>,
}

impl Executor {
    /// Prepares to run `program`, with stacks of `stack_size` bytes.
    pub(crate) fn new(options: Options, stack_size: usize, program: Rc<dyn Fn()>) -> Self {
        let runtime = Runtime {
            arbiter: Arbiter::new(options),
            current: ThreadId::MAIN,
            number: 0,
            panics: Vec::new(),
            end_hooks: Vec::new(),
            plan: None,
            next: None,
            outcome: Outcome::DONE,
            starting: false,
            tearing_down: false,
            cut: None,
            mark: Mark::default(),
            slots: Vec::new(),
            stacks: Vec::new(),
            stack_size,
            uses: Vec::new(),
            exclusive: Vec::new(),
            sight: Arc::default(),
            externals: HashMap::new(),
            left: 0,
            unwinding: 0,
            last_panic: None,
            watched: watchdog::watch(),
        };
        Self { runtime: Box::new(runtime), program }
    }

    /// The names of threads and objects, to give some.
    pub(crate) fn names_mut(&mut self) -> &mut Names {
        self.runtime.arbiter.names_mut()
    }

    /// Takes over the names of threads and objects from elsewhere, all of them in order; false if a number means something else here.
    pub(crate) fn take_over(&mut self, births: &[Named]) -> bool {
        if !self.runtime.arbiter.names_mut().agree(births) {
            return false;
        }
        for (number, birth, _) in births {
            if let Birth::External { key, .. } = birth {
                self.runtime.externals.entry(*key).or_insert((ObjectId(*number as u32), 0));
            }
        }
        true
    }

    /// Whether the program uses an object that was made outside and whose value all OS threads share, here or with another worker. Those
    /// of atomics start afresh in each execution.
    pub(crate) fn shares_values(&self) -> bool {
        let names = self.runtime.arbiter.names();
        let here = self.runtime.externals.values().any(|(object, _)| names.kind(*object) != ObjectKind::Atomic);
        let known = &self.runtime.sight.values;
        known.fetch_or(here, Relaxed) || here
    }

    /// Whether an access of the last execution was made by an exclusive borrow: something must have made sure that nobody else has one.
    pub(crate) fn is_exclusive(&self, access: &ordain_model::execution::PlainAccess) -> bool {
        self.runtime.exclusive.contains(&(access.thread, access.site))
    }

    /// What the check does not see of the program.
    pub(crate) fn sight(&self) -> &Arc<Sight> {
        &self.runtime.sight
    }

    /// From now on executions are broken off at this time, in their midst.
    pub(crate) fn set_deadline(&self, deadline: Option<Instant>) {
        watchdog::set_deadline(&self.runtime.watched, deadline);
    }

    /// Shares with others what the check does not see.
    pub(crate) fn with_sight(mut self, sight: &Arc<Sight>) -> Self {
        self.runtime.sight = sight.clone();
        self
    }

    /// Knows of a loop that is long.
    pub(crate) fn know_long_loop(&mut self, site: Site) {
        self.runtime.arbiter.know_long_loop(site);
    }

    /// The loops that are known to be long.
    pub(crate) fn long_loops(&self) -> &[Site] {
        self.runtime.arbiter.long_loops()
    }

    /// Panics of the last execution, in order.
    pub(crate) fn panics(&self) -> &[Panicked] {
        &self.runtime.panics
    }

    /// The name that a thread's Builder gave it, if any, in the last execution.
    pub(crate) fn given_name(&self, thread: ThreadId) -> Option<&str> {
        self.runtime.slots.get(thread.index()).and_then(|s| s.name.as_deref())
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        watchdog::unwatch(&self.runtime.watched);
    }
}

impl Target for Executor {
    fn run(&mut self, plan: &mut Plan<'_>) {
        let runtime = &mut *self.runtime;
        runtime.number = NEXT_EXECUTION.fetch_add(1, Relaxed);
        runtime.panics.clear();
        runtime.uses.clear();
        runtime.exclusive.clear();
        runtime.last_panic = None;
        runtime.tearing_down = false;
        runtime.unwinding = 0;
        if plan.is_anew() {
            runtime.arbiter.forget_long_loops();
        }
        // SAFETY: only the lifetime changes; the pointer is taken back below, before the borrow ends.
        let plan: NonNull<Plan<'static>> = unsafe { std::mem::transmute(NonNull::from(plan)) };
        runtime.plan = Some(plan);
        runtime.arbiter.begin();
        let program = self.program.clone();
        runtime.prepare(ThreadId::MAIN, None, None, false, Box::new(move || program()));
        runtime.watched.runs.store(true, Relaxed);
        RUNTIME.set(Some(NonNull::from(runtime)));
        ACTIVE.set(true);
        with(|rt| rt.next = Some(ThreadId::MAIN));
        while let Some(thread) = with(|rt| rt.next.take()) {
            resume(thread);
        }
        tear_down::end_all();
        with(|rt| {
            rt.forget_the_rest();
            if strangers::were_there(rt.number) {
                rt.sight.strangers.store(true, Relaxed);
            }
            rt.sight.look(rt.arbiter.execution());
        });
        RUNTIME.set(None);
        self.runtime.watched.runs.store(false, Relaxed);
        self.runtime.plan = None;
    }

    fn execution(&self) -> &Execution {
        self.runtime.arbiter.execution()
    }

    fn names(&self) -> &Names {
        self.runtime.arbiter.names()
    }
}
