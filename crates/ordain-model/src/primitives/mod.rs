//! One model of each primitive.
//!
//! Each file answers four questions about its operations, as pure functions of words: can it be *served* now, how many
//! *alternatives* does it then have, which *footprint* has an alternative, and what does *apply*ing it do. Blocking, trying
//! and timing out follow from the first answer, the same for all, in [`choices`].

mod atomic;
mod barrier;
mod channel;
mod condvar;
mod count;
mod mutex;
mod once;
mod outside;
mod rwlock;
mod semaphore;
mod signal;
mod thread;

use crate::finding::Misuse;
use crate::footprint::{Access, Footprint};
use crate::names::{ObjectId, ThreadId};
use crate::operation::{Operation, Outcome, Wait};
use crate::state::{DESTROYED, FREED, State, View};

pub(crate) use mutex::{DEAD_OWNER, ROBUST};
pub use outside::Member;
pub(crate) use outside::is_asked_to_end;
pub use signal::ONCE as SIGNAL_ONCE;

/// Whether `op` of `thread` gets what it asks for. Operations that never have to wait are always served.
#[inline]
pub fn served(op: &Operation, thread: ThreadId, view: &impl View) -> bool {
    match *op {
        Operation::Lock { lock, .. } => mutex::served(lock, thread, view),
        Operation::ReadLock { lock, .. } => rwlock::read_served(lock, view),
        Operation::WriteLock { lock, .. } => rwlock::write_served(lock, view),
        Operation::WriteQueue { lock, wait: Wait::Block } => rwlock::queue_served(lock, view),
        Operation::WriteTurn { lock, .. } => rwlock::turn_served(lock, view),
        Operation::WriteByTicket { lock, ticket } => rwlock::ticket_served(lock, ticket, view),
        Operation::Woken { .. } => condvar::notified(thread, view),
        Operation::Acquire { semaphore, .. } => view.word(semaphore) > 0,
        Operation::OnceBegin { once, .. } => once::served(once, view),
        Operation::DestroyQueue { queue } => condvar::is_empty(queue, view),
        Operation::Send { channel, wait } => channel::send_served(channel, wait, view),
        Operation::SendTaken { channel, message, .. } => channel::taken_served(channel, message, view),
        Operation::Receive { channel, .. } => channel::receive_served(channel, view),
        Operation::Join { thread: target, .. } => thread::ended(target, view),
        Operation::Park { .. } => view.word(view.fixed().token(thread)) != 0,
        Operation::Sleep => !view.fixed().kind_time,
        Operation::Await { object, mask, .. } => view.word(object) & mask != 0,
        Operation::Poll { set, .. } => outside::ready(set, view),
        Operation::TakeSignal { signals, set, .. } => signal::is_there(signals, set, thread, view),
        _ => true,
    }
}

/// Whether a wait that may give up ends now for another reason: it is served, or its thread is to end.
pub fn ends(op: &Operation, thread: ThreadId, view: &impl View) -> bool {
    served(op, thread, view) || outside::breaks_off(op, thread, view)
}

/// How many outcomes `op` can have now; none means that it is blocked.
#[inline]
pub fn choices(op: &Operation, thread: ThreadId, view: &impl View) -> u32 {
    if signal::is_due(op, thread, view) {
        return 1;
    }
    if served(op, thread, view) {
        match *op {
            Operation::Notify { queue, count } | Operation::Requeue { queue, count, .. } => {
                condvar::alternatives(queue, count, view)
            }
            Operation::Choose { count } => count.max(1),
            Operation::Woken { .. } => 1 + u32::from(outside::may_end_woken(op, thread, view)),
            Operation::Signal { signals, thread, number } => signal::alternatives(signals, thread, number, view),
            _ => 1,
        }
    } else {
        // A wait for a time ends before it only if its front end has asked: what it gets must tell that from its time being over.
        let spurious = view.fixed().spurious
            && op.wait() != Some(Wait::Timed)
            && match *op {
                // The word of a barrier counts who has arrived, so nobody leaves it early.
                Operation::Woken { queue, .. } => view.fixed().param(queue) == 0,
                Operation::Park { .. } => true,
                _ => false,
            };
        u32::from(!waits(op, view) || spurious || outside::breaks_off(op, thread, view))
    }
}

/// Whether the operation waits until it is served; in kind time, waits that can expire do so only if nobody can go on.
fn waits(op: &Operation, view: &impl View) -> bool {
    match op.wait() {
        Some(Wait::Block | Wait::Interruptible) => true,
        Some(Wait::Timed) => view.fixed().kind_time,
        Some(Wait::Try) => false,
        None => view.fixed().kind_time && *op == Operation::Sleep,
    }
}

/// Whether a signal keeps a thread from doing what it has announced, until it is taken.
#[inline]
pub fn is_signalled(op: &Operation, thread: ThreadId, view: &impl View) -> bool {
    signal::is_due(op, thread, view)
}

/// The footprint of `op` if it is executed now with this choice.
pub fn footprint(op: &Operation, thread: ThreadId, choice: u32, view: &impl View, out: &mut Footprint) {
    own_footprint(op, thread, choice, view, out);
    #[cfg(feature = "mutate")]
    crate::mutation::apply(op, thread, signal::is_due(op, thread, view), view.fixed(), out);
}

/// How many shares are left when `op` has given one up, if that is what it does.
pub fn shares_left(op: &Operation, view: &impl View) -> Option<u64> {
    match *op {
        Operation::DropShare { count, weak: false } => Some(count::left(count, view)),
        _ => None,
    }
}

/// Whether the value of a reference count is kept alive.
pub(crate) fn has_shares(count: ObjectId, view: &impl View) -> bool {
    count::is_shared(count, view)
}

/// Whether a channel has senders.
pub(crate) fn has_senders(channel: ObjectId, view: &impl View) -> bool {
    view.word(channel::senders(channel)) > 0
}

/// Adds what `op` touches but for signals and cancellation: what it waits for, if a handler runs in its place.
pub fn add_objects(op: &Operation, thread: ThreadId, view: &impl View, out: &mut Footprint) {
    object_footprint(op, thread, 0, view, out);
}

/// As [`footprint`], with the robust mutexes that a thread which ends still holds: only the present state knows them.
pub(crate) fn present_footprint(op: &Operation, thread: ThreadId, choice: u32, state: &State, out: &mut Footprint) {
    own_footprint(op, thread, choice, state, out);
    if *op == Operation::Exit {
        out.extend(state.robust(thread).map(Access::write));
    }
    #[cfg(feature = "mutate")]
    crate::mutation::apply(op, thread, signal::is_due(op, thread, state), &state.fixed, out);
}

fn own_footprint(op: &Operation, thread: ThreadId, choice: u32, view: &impl View, out: &mut Footprint) {
    out.clear();
    if signal::is_due(op, thread, view) {
        let mut normal = Footprint::new();
        object_footprint(op, thread, choice, view, &mut normal);
        signal::due_footprint(op, thread, &normal, view, out);
        return;
    }
    let looks = outside::looks(op, thread, view);
    if looks {
        out.push(outside::look(thread, view));
    }
    object_footprint(op, thread, choice, view, out);
    if looks && outside::breaks_off_at_once(op, thread, view) {
        // Who is to end gives up even if it could be served: the cancellation came first. It changes nothing, but could have been
        // served before it was cancelled, and then it matters when.
        out[1..].iter_mut().for_each(|access| *access = Access::read(access.object()));
    }
    signal::footprint(op, thread, choice, view, out);
}

/// The footprint of `op` but for signals and cancellation.
fn object_footprint(op: &Operation, thread: ThreadId, choice: u32, view: &impl View, out: &mut Footprint) {
    match *op {
        Operation::Spawn { .. }
        | Operation::Start
        | Operation::Sleep
        | Operation::Yield
        | Operation::Choose { .. }
        | Operation::Signal { .. }
        | Operation::BlockSignals { .. }
        | Operation::SetActions { .. }
        | Operation::TakeSignal { .. }
        | Operation::Look => {}
        Operation::Exit => out.push(Access::write(view.fixed().life(thread))),
        Operation::Detach { thread: target } => out.push(Access::write(view.fixed().life(target))),
        Operation::IsFinished { thread: target } => out.push(Access::read(view.fixed().life(target))),
        Operation::Join { thread: target, .. } => {
            out.push(read_or_write(view.fixed().life(target), thread::ended(target, view)));
        }
        Operation::Lock { lock, .. } => out.push(read_or_write(lock, mutex::takes(lock, thread, view))),
        Operation::Unlock { lock } | Operation::MakeConsistent { lock } => out.push(Access::write(lock)),
        Operation::ReadLock { lock, .. } => {
            out.push(Access::read(lock));
            out.extend(rwlock::tickets(lock, view).map(Access::read));
        }
        Operation::ReadUnlock { lock } => out.push(Access::read(lock)),
        Operation::WriteLock { lock, .. } => {
            out.push(Access::write(lock));
            out.extend(rwlock::tickets(lock, view).map(Access::read));
        }
        Operation::WriteTicket { lock } => out.extend(rwlock::tickets(lock, view).map(Access::write)),
        Operation::WriteQueue { lock, .. }
        | Operation::WriteTurn { lock, .. }
        | Operation::WriteByTicket { lock, .. }
        | Operation::WriteUnlock { lock } => out.push(Access::write(lock)),
        Operation::QueueWait { .. }
        | Operation::FutexWait { .. }
        | Operation::Woken { .. }
        | Operation::Notify { .. }
        | Operation::Requeue { .. } => condvar::footprint(op, thread, choice, view, out),
        Operation::Arrive { barrier } => barrier::footprint(barrier, thread, view, out),
        Operation::Acquire { semaphore, .. } => out.push(read_or_write(semaphore, view.word(semaphore) > 0)),
        Operation::Post { semaphore, .. } => out.push(Access::write(semaphore)),
        Operation::OnceBegin { once, force } => out.push(read_or_write(once, once::runs(once, force, view))),
        Operation::OnceEnd { once, .. } => out.push(Access::write(once)),
        Operation::OnceCheck { once } => out.push(Access::read(once)),
        Operation::Send { .. }
        | Operation::SendTaken { .. }
        | Operation::ReceiveReady { .. }
        | Operation::Receive { .. }
        | Operation::CloneSender { .. }
        | Operation::DropSender { .. }
        | Operation::DropReceiver { .. } => channel::footprint(op, view, out),
        Operation::Park { .. } => {
            let token = view.fixed().token(thread);
            out.push(read_or_write(token, view.word(token) != 0));
        }
        Operation::Unpark { thread: target } => out.push(Access::write(view.fixed().token(target))),
        Operation::Load { cell, .. } => out.push(Access::read(cell)),
        Operation::Store { cell, .. } | Operation::Update { cell, .. } => out.push(Access::write(cell)),
        Operation::CompareExchange { cell, expected, .. } => {
            out.push(read_or_write(cell, view.word(cell) == expected));
        }
        Operation::Count { count, observes } => out.push(read_or_write(count, observes)),
        Operation::AddShare { .. } | Operation::DropShare { .. } => count::footprint(op, view, out),
        Operation::Initialise { object, .. }
        | Operation::Destroy { object }
        | Operation::DestroyQueue { queue: object }
        | Operation::Free { object } => {
            out.push(Access::write(object));
        }
        Operation::Await { .. }
        | Operation::Poll { .. }
        | Operation::Access { .. }
        | Operation::Cancel { .. }
        | Operation::TestCancel
        | Operation::SetCancel { .. }
        | Operation::End
        | Operation::Crash => outside::footprint(op, thread, view, out),
    }
}

fn read_or_write(object: ObjectId, write: bool) -> Access {
    if write { Access::write(object) } else { Access::read(object) }
}

/// Executes `op` with this choice: changes the state and says what the thread gets, and whether it misused the object.
/// The words of no object change but of those in the footprint.
pub(crate) fn apply(op: &Operation, thread: ThreadId, choice: u32, state: &mut State) -> (Outcome, Option<Misuse>) {
    let done = (Outcome::DONE, None);
    if signal::is_due(op, thread, state) {
        return (signal::take(op, thread, state), None);
    }
    if let Some(outcome) = outside::break_off(op, thread, choice, state) {
        return (outcome, None);
    }
    if let Some(object) = op.object()
        && may_be_destroyed(op)
        && let Some(word) = destroyed(op, object, state)
    {
        let freed = word & FREED != 0;
        let misuse = if freed { Misuse::UseAfterFree } else { Misuse::UseAfterDestroy };
        // Nobody joins a queue that is not there.
        let waits = matches!(op, Operation::QueueWait { .. } | Operation::Arrive { .. });
        return (truth(!waits), Some(misuse));
    }
    match *op {
        Operation::Spawn { child } => {
            signal::spawn(thread, child, state);
            done
        }
        Operation::Start | Operation::Look | Operation::Sleep | Operation::Yield | Operation::Count { .. } => done,
        Operation::AddShare { count, weak } => (count::add(count, weak, state), None),
        Operation::DropShare { count, weak } => (count::give_up(count, weak, state), None),
        Operation::Exit => {
            signal::exit(thread, state);
            thread::exit(thread, state)
        }
        Operation::Signal { .. }
        | Operation::BlockSignals { .. }
        | Operation::SetActions { .. }
        | Operation::TakeSignal { .. } => (signal::apply(op, thread, choice, state), None),
        Operation::Join { thread: target, .. } => thread::join(target, state),
        Operation::IsFinished { thread: target } => (truth(thread::ended(target, state)), None),
        Operation::Detach { thread: target } => thread::detach(target, state),
        Operation::Lock { lock, .. } => (mutex::lock(lock, thread, state), None),
        Operation::Unlock { lock } => mutex::unlock(lock, thread, state),
        Operation::MakeConsistent { lock } => mutex::make_consistent(lock, thread, state),
        Operation::ReadLock { lock, .. } => (rwlock::read_lock(lock, thread, state), None),
        Operation::WriteLock { lock, .. } => (rwlock::write_lock(lock, thread, state), None),
        Operation::WriteQueue { lock, .. } => (rwlock::write_queue(lock, thread, state), None),
        Operation::WriteTurn { lock, .. } => (rwlock::write_turn(lock, thread, state), None),
        Operation::WriteTicket { lock } => (rwlock::take_ticket(lock, state), None),
        Operation::WriteByTicket { lock, .. } => (rwlock::write_by_ticket(lock, thread, state), None),
        Operation::ReadUnlock { lock } => rwlock::unlock(lock, thread, true, state),
        Operation::WriteUnlock { lock } => rwlock::unlock(lock, thread, false, state),
        Operation::QueueWait { .. }
        | Operation::FutexWait { .. }
        | Operation::Woken { .. }
        | Operation::Notify { .. }
        | Operation::Requeue { .. } => condvar::apply(op, thread, choice, state),
        Operation::Arrive { barrier } => (barrier::apply(barrier, thread, state), None),
        Operation::Acquire { semaphore, .. } => (semaphore::acquire(semaphore, state), None),
        Operation::Post { semaphore, count, fails } => semaphore::post(semaphore, count, fails, state),
        Operation::OnceBegin { once, force } => (once::begin(once, thread, force, state), None),
        Operation::OnceEnd { once, complete } => once::end(once, thread, complete, state),
        Operation::OnceCheck { once } => (truth(state.word(once) == once::COMPLETE), None),
        Operation::Send { .. }
        | Operation::SendTaken { .. }
        | Operation::ReceiveReady { .. }
        | Operation::Receive { .. }
        | Operation::CloneSender { .. }
        | Operation::DropSender { .. }
        | Operation::DropReceiver { .. } => (channel::apply(op, state), None),
        Operation::Park { .. } => {
            let token = state.fixed.token(thread);
            let served = state.word(token) != 0;
            state.set(token, 0);
            (truth(served), None)
        }
        Operation::Unpark { thread: target } => {
            state.set(state.fixed.token(target), 1);
            done
        }
        Operation::Load { .. } | Operation::Store { .. } | Operation::Update { .. } => done,
        Operation::CompareExchange { cell, expected, .. } => (truth(atomic::holds(cell, expected, state)), None),
        Operation::Choose { .. } => (Outcome(u64::from(choice)), None),
        Operation::Initialise { object, word, param } => {
            state.initialise(object, word, param);
            done
        }
        Operation::Destroy { object } | Operation::DestroyQueue { queue: object } => thread::destroy(object, state),
        Operation::Free { object } => thread::free(object, state),
        Operation::Await { .. }
        | Operation::Poll { .. }
        | Operation::Access { .. }
        | Operation::Cancel { .. }
        | Operation::TestCancel
        | Operation::SetCancel { .. }
        | Operation::End
        | Operation::Crash => (outside::apply(op, thread, state), None),
    }
}

/// The outcome of a question, or of an attempt.
fn truth(yes: bool) -> Outcome {
    if yes { Outcome::DONE } else { Outcome::FAILED }
}

/// The word of an operation's object, or of the mutex that it gives back, if its life is over.
fn destroyed(op: &Operation, object: ObjectId, state: &State) -> Option<u64> {
    let lock = match op {
        Operation::QueueWait { lock, .. } => Some(state.word(*lock)),
        _ => None,
    };
    [Some(state.word(object)), lock].into_iter().flatten().find(|word| word & DESTROYED != 0)
}

/// Whether the word of the operation's object has a bit for its end. Words of cells are used in full.
fn may_be_destroyed(op: &Operation) -> bool {
    matches!(
        op,
        Operation::Lock { .. }
            | Operation::Unlock { .. }
            | Operation::ReadLock { .. }
            | Operation::WriteLock { .. }
            | Operation::WriteQueue { .. }
            | Operation::WriteTurn { .. }
            | Operation::WriteTicket { .. }
            | Operation::WriteByTicket { .. }
            | Operation::ReadUnlock { .. }
            | Operation::WriteUnlock { .. }
            | Operation::QueueWait { .. }
            | Operation::Notify { .. }
            | Operation::Acquire { .. }
            | Operation::Post { .. }
            | Operation::Arrive { .. }
            | Operation::OnceBegin { .. }
            | Operation::Destroy { .. }
            | Operation::DestroyQueue { .. }
    )
}

/// Whether serving another thread can keep `op` waiting that could have been served before. What can only be made possible, such
/// as joining a thread, does not compete. A thread that is `held` waits even if its wait may expire. Where there are signals, whatever
/// waits goes on when one comes, and waits again once that is ignored.
pub fn competes(op: &Operation, held: bool, view: &impl View) -> bool {
    (waits(op, view) || held) && (view.fixed().has_signals() || competes_for_object(op))
}

fn competes_for_object(op: &Operation) -> bool {
    matches!(
        op,
        Operation::Lock { .. }
            | Operation::ReadLock { .. }
            | Operation::WriteLock { .. }
            | Operation::WriteQueue { .. }
            | Operation::WriteTurn { .. }
            | Operation::Acquire { .. }
            | Operation::OnceBegin { .. }
            | Operation::DestroyQueue { .. }
            | Operation::Send { .. }
            | Operation::Receive { .. }
            | Operation::Await { .. }
            | Operation::Poll { .. }
            | Operation::TakeSignal { .. }
    )
}
