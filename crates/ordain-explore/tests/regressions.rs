//! Programs that were once explored wrongly, shrunk, each with what it taught; and small programs whose classes are known.

mod common;

use common::compare::check;
use common::{I, Opts, Program, count};
use ordain_explore::strategy::{Dfs, Optimal, Source};
use ordain_model::Wait::{Block, Interruptible, Timed, Try};
use ordain_model::mutex_kind;

/// Compares all strategies with plain search.
fn agree(program: &Program) {
    match check(program, 50_000, true) {
        Some(Ok(())) => {}
        Some(Err(why)) => panic!("{why}"),
        None => panic!("too many schedules"),
    }
}

fn threads(threads: Vec<Vec<I>>) -> Program {
    Program::new(threads)
}

#[test]
fn a_sleeping_transition_that_is_no_initial_does_not_cover_the_reversal() {
    agree(&threads(vec![vec![], vec![I::Yield, I::IsFinished(0)], vec![I::IsFinished(0)]]));
    agree(&threads(vec![vec![I::Store(0, 1), I::Load(1)], vec![I::Cas(1, 1, 1)], vec![I::Add(1), I::Cas(0, 1, 2)]]));
}

#[test]
fn a_wait_that_expires_in_kind_time_blocks_until_then() {
    let mut program = threads(vec![vec![I::Post(1)], vec![I::Acquire(1, Timed)]]);
    (program.semaphore, program.options.kind_time) = (0, true);
    agree(&program);
}

#[test]
fn a_sleep_that_a_signal_ends_in_kind_time_does_not_end_before_it() {
    let programs = [
        vec![vec![I::KillAny(2)], vec![I::Sleep]],
        vec![vec![I::Sleep], vec![I::KillAny(2)]],
        vec![vec![], vec![I::Sleep], vec![I::Kill(1, 2)]],
    ];
    for program in programs {
        agree(&Program { options: Opts { kind_time: true, ..Opts::default() }, ..threads(program) });
    }
}

#[test]
fn a_signal_that_is_ignored_keeps_threads_waiting_again() {
    let kind = Opts { kind_time: true, ..Opts::default() };
    // Whatever waits takes the signal, or it is gone.
    agree(&Program { options: kind, ..threads(vec![vec![I::Kill(1, 1), I::Ignore(1)], vec![I::Sleep]]) });
    agree(&threads(vec![vec![I::Kill(1, 1), I::Ignore(1)], vec![I::Park(Block)]]));
    agree(&threads(vec![vec![I::TakeSignal(2, Block)], vec![I::KillAny(2), I::Park(Block)], vec![I::Ignore(2)]]));
    // Who has taken it has nothing left that could be dropped.
    agree(&threads(vec![vec![I::TakeSignal(3, Block)], vec![I::KillAny(1), I::Ignore(1)]]));
    agree(&threads(vec![vec![I::KillAny(2), I::TakeSignal(3, Try)], vec![I::Ignore(2)]]));
}

#[test]
fn what_a_handler_interrupts_could_have_been_served_before_the_signal() {
    agree(&threads(vec![vec![I::Acquire(0, Block), I::Kill(1, 1)], vec![I::Acquire(0, Block)]]));
    agree(&threads(vec![vec![I::Lock(0, Block), I::Kill(1, 1)], vec![I::Lock(0, Block)]]));
    agree(&threads(vec![vec![I::Lock(0, Block), I::KillAny(1), I::Unlock(0)], vec![I::Lock(0, Block), I::Unlock(0)]]));
}

#[test]
fn a_step_taken_because_no_other_was_enabled_changes_places_with_none() {
    agree(&threads(vec![vec![], vec![I::SpinUntilSet(1)]]));
    agree(&threads(vec![vec![], vec![I::BareSpin(1)]]));
}

#[test]
fn a_withdrawn_offer_blocks_the_receiver() {
    let mut program = threads(vec![vec![I::Send(0, Timed)], vec![I::Receive(0, Block)]]);
    program.channels = vec![0];
    agree(&program);
}

#[test]
fn a_writer_comes_before_any_subset_of_independent_readers() {
    let reader = || vec![I::Read(0, Block), I::Release(0)];
    let program = threads(vec![vec![], reader(), reader(), vec![I::Write(0, Block), I::Release(0)]]);
    agree(&program);
    assert_eq!(count(&program, &mut Optimal::default()).executions, 4);
}

#[test]
fn what_commutes_is_not_seen_in_an_order() {
    agree(&threads(vec![
        vec![I::Write(1, Timed), I::Read(1, Block), I::Release(1), I::Write(1, Block), I::Write(1, Timed)],
        vec![I::Read(1, Block), I::Release(1)],
    ]));
}

#[test]
fn a_held_thread_whose_wait_may_expire_competes_for_the_lock() {
    agree(&threads(vec![vec![I::Lock(0, Block), I::Unlock(0)], vec![I::RetryLock(0), I::Unlock(0)]]));
    agree(&threads(vec![vec![I::Lock(0, Timed), I::Lock(0, Timed)], vec![I::Lock(0, Block), I::Unlock(0)]]));
}

#[test]
fn threads_that_wait_in_vain_do_not_wake_each_other() {
    let waiter = || vec![I::Lock(1, Block), I::RetryWait(1, 1)];
    agree(&threads(vec![waiter(), waiter()]));
    agree(&threads(vec![vec![I::RetryReceive(0)], vec![I::RetryReceive(0)]]));
    agree(&threads(vec![
        vec![I::Write(0, Timed), I::Release(0), I::SpinUntilSet(0)],
        vec![I::Write(0, Block), I::SpinUntilSet(0)],
    ]));
}

#[test]
fn a_long_loop_that_waits_for_nothing_is_explored_in_full() {
    let program = threads(vec![vec![I::Store(0, 1), I::Store(1, 1)], vec![I::LongLoop(0, 12), I::Load(1)]]);
    agree(&program);
    // The first store falls in one of 13 places among the loads, and the last load sees the second store or not.
    assert_eq!(count(&program, &mut Optimal::default()).executions, 26);
}

#[test]
fn a_park_fits_between_two_unparks() {
    agree(&threads(vec![vec![I::Unpark(1), I::Unpark(1)], vec![I::Park(Block)]]));
    agree(&threads(vec![vec![I::Unpark(2)], vec![], vec![I::Park(Block)], vec![I::Unpark(2)]]));
}

#[test]
fn nobody_leaves_a_barrier_spuriously() {
    let mut program = threads(vec![vec![I::Barrier(0)], vec![I::Barrier(0)], vec![I::Barrier(0)]]);
    program.options = Opts { spurious: true, ..Opts::default() };
    program.barrier = 3;
    agree(&program);
    // Main, main.1 and main.2 arrive in any order.
    assert_eq!(count(&program, &mut Optimal::default()).executions, 6);
}

#[test]
fn a_blocked_thread_at_the_end_could_have_gone_first() {
    // Two threads take two locks in opposite orders: one class each way, and the deadlock.
    let program = threads(vec![
        vec![I::Lock(0, Block), I::Lock(1, Block), I::Unlock(1), I::Unlock(0)],
        vec![I::Lock(1, Block), I::Lock(0, Block), I::Unlock(0), I::Unlock(1)],
    ]);
    agree(&program);
    assert_eq!(count(&program, &mut Optimal::default()).executions, 3);
}

#[test]
fn a_signal_picks_any_waiter() {
    let waiter = || vec![I::Lock(0, Block), I::CondWait(0, 0, Block), I::Unlock(0)];
    let program = threads(vec![vec![I::Notify(0, 1)], waiter(), waiter()]);
    agree(&program);
}

#[test]
fn robust_and_error_checking_mutexes() {
    for kind in [mutex_kind::RECURSIVE, mutex_kind::ERROR_CHECKING, mutex_kind::ROBUST] {
        let mut program = threads(vec![
            vec![I::Lock(0, Block), I::Lock(0, Try)],
            vec![I::Lock(0, Block), I::Lock(0, Timed), I::Unlock(0)],
        ]);
        program.mutexes = vec![kind; 2];
        agree(&program);
    }
}

#[test]
fn reads_of_different_cells_commute() {
    let program = threads(vec![vec![I::Store(0, 1)], vec![I::Load(1), I::Load(0)], vec![I::Load(1), I::Load(0)]]);
    let all = count(&program, &mut Dfs::default());
    let optimal = count(&program, &mut Optimal::default());
    let source = count(&program, &mut Source::default());
    assert!(all.executions > optimal.executions);
    assert_eq!(optimal.executions, 4);
    assert_eq!(source.executions, 4);
}

#[test]
fn an_execution_that_is_cut_short_leaves_nothing_to_the_next() {
    let mut program = threads(vec![vec![], vec![], vec![], vec![I::Sleep]]);
    program.options.kind_time = true;
    agree(&program);
    assert_eq!(count(&program, &mut Optimal::default()).executions, 1);
}

#[test]
fn an_operation_may_depend_at_its_new_place_on_what_it_did_not_depend_on() {
    agree(&threads(vec![
        vec![I::FutexWait(1, 0, Block)],
        vec![I::Store(0, 0), I::Store(1, 1)],
        vec![I::FutexWake(1, u32::MAX)],
    ]));
    let mut program =
        threads(vec![vec![I::Receive(1, Try)], vec![I::Send(0, Block), I::Send(1, Block)], vec![I::DropSender(1)]]);
    program.channels = vec![u64::MAX, 1, 0];
    agree(&program);
    program.threads = vec![vec![I::Receive(2, Try)], vec![I::Send(2, Block)], vec![I::DropReceiver(2)]];
    agree(&program);
    program.threads =
        vec![vec![I::Send(1, Block)], vec![I::CloneSender(2), I::DropReceiver(1)], vec![I::Receive(1, Try)]];
    agree(&program);
    program.threads = vec![vec![I::Receive(2, Block)], vec![I::Send(2, Block)], vec![I::DropReceiver(2)]];
    agree(&program);
}

#[test]
fn what_spins_may_go_on_before_the_program_ends() {
    agree(&threads(vec![vec![I::End], vec![I::Store(0, 1)], vec![I::BusyUntilSet(0)]]));
}

#[test]
fn a_crash_comes_before_or_behind_what_others_are_about_to_do() {
    // Main crashes behind the step that made the other thread.
    agree(&threads(vec![vec![I::Crash], vec![]]));
    // With another outcome of its last step it does not crash.
    agree(&threads(vec![vec![], vec![I::Choose(3), I::SkipIfOdd(1), I::Crash]]));
    // Its last step commutes with what others release.
    agree(&threads(vec![vec![I::Read(1, Block), I::Crash], vec![I::Read(1, Block), I::Release(1)], vec![]]));
    // A thread that spins has seen only what the crashing thread did last.
    agree(&threads(vec![vec![], vec![I::Lock(0, Block), I::RetryWait(1, 0)], vec![I::Cancel(1), I::Crash]]));
    let mut program = threads(vec![vec![I::Sleep, I::Crash], vec![]]);
    program.options.kind_time = true;
    agree(&program);
}

#[test]
fn one_of_several_outcomes_of_a_step_crashes() {
    agree(&threads(vec![
        vec![],
        vec![I::Choose(3), I::SkipIfOdd(1), I::Choose(2), I::Crash],
        vec![I::Await(1, Timed)],
    ]));
    agree(&threads(vec![vec![I::Choose(3), I::SkipIfOdd(1), I::Choose(2), I::Crash], vec![I::Await(1, Timed)]]));
    agree(&threads(vec![
        vec![I::Lock(0, Try), I::SkipUnlessFailed(1), I::Crash, I::Unlock(0)],
        vec![I::Lock(0, Try), I::SkipUnlessFailed(1), I::Crash, I::Unlock(0)],
    ]));
    agree(&threads(vec![vec![I::Barrier(0)], vec![I::Barrier(0), I::Crash], vec![]]));
}

#[test]
fn a_crash_is_a_step_unless_all_others_are_known_to_have_ended() {
    // The other thread has ended in one order and not in the other, which is the same class.
    agree(&threads(vec![vec![I::Store(0, 1), I::Crash], vec![I::Load(1)]]));
    let joins = threads(vec![vec![I::Join(1, Block), I::Crash], vec![I::Join(2, Block)], vec![]]);
    agree(&threads(vec![vec![I::Join(1, Block), I::Crash], vec![I::Spawn(2), I::Join(2, Block)], vec![]]));
    agree(&joins);
}

#[test]
fn threads_that_do_the_same_are_told_apart() {
    // One of the others has ended before the crash: which one makes two classes.
    agree(&threads(vec![vec![], vec![], vec![], vec![I::Crash]]));
}

#[test]
fn who_is_cancelled_changes_nothing_that_it_waits_for() {
    // It ends whether the lock is free or not.
    agree(&threads(vec![vec![I::Cancel(1), I::Lock(0, Block), I::Unlock(0)], vec![I::Lock(0, Interruptible)]]));
    agree(&threads(vec![vec![I::Cancel(1), I::Post(0)], vec![I::Acquire(0, Interruptible)], vec![I::Kill(1, 1)]]));
    // It could have taken what somebody else took since.
    agree(&threads(vec![
        vec![I::Acquire(0, Block)],
        vec![I::Spawn(2), I::Cancel(2)],
        vec![I::Acquire(0, Interruptible)],
    ]));
    agree(&threads(vec![vec![I::Acquire(0, Timed)], vec![I::Acquire(0, Interruptible)], vec![I::Cancel(1)]]));
    agree(&threads(vec![
        vec![I::Cancel(1), I::Cancel(2)],
        vec![I::Acquire(0, Interruptible)],
        vec![I::Acquire(0, Interruptible)],
    ]));
    agree(&threads(vec![
        vec![I::Cancel(1)],
        vec![I::Lock(1, Block), I::CondWait(1, 1, Interruptible), I::Unlock(1)],
        vec![I::Lock(1, Block), I::Notify(1, 1), I::Unlock(1)],
    ]));
}

#[test]
fn who_is_cancelled_while_it_spins_does_not_go_on_in_vain() {
    // It has seen that it is cancelled when it began to wait, and ends where it would be held.
    agree(&threads(vec![vec![], vec![I::BusyLoop(0, 2), I::Lock(0, Block), I::RetryWait(1, 0)], vec![I::Cancel(1)]]));
}

#[test]
fn a_destroyed_mutex_keeps_nobody_waiting() {
    agree(&threads(vec![vec![I::Lock(0, Timed), I::Unlock(0)], vec![I::Destroy(0), I::Lock(0, Block)]]));
    agree(&threads(vec![vec![I::Destroy(0), I::Lock(0, Block), I::Unlock(0)], vec![I::Lock(0, Block)]]));
}

#[test]
fn waiting_with_a_mutex_that_was_freed_is_a_misuse() {
    for kind in [mutex_kind::NORMAL, mutex_kind::ROBUST] {
        let mut program =
            threads(vec![vec![I::Lock(1, Block), I::CondWait(1, 1, Block)], vec![I::FreeMutex(1), I::Lock(1, Block)]]);
        program.mutexes = vec![kind; 2];
        agree(&program);
    }
}

#[test]
fn threads_that_spawn_threads() {
    agree(&threads(vec![
        vec![I::Join(2, Block)],
        vec![I::Lock(0, Block), I::CondWait(0, 0, Timed), I::Store(0, 2), I::Unlock(0)],
        vec![I::Spawn(3), I::Join(3, Try), I::SkipUnlessFailed(1), I::Join(3, Block)],
        vec![I::Lock(0, Block), I::Store(0, 1), I::Unlock(0)],
    ]));
}

/// Whose share is the last makes the class, and the order of the others does not.
#[test]
fn threads_that_give_up_shares_have_a_class_each() {
    for threads in 2..=5 {
        let program = Program::new(vec![vec![I::DropShare(0)]; threads]);
        let summary = count(&program, &mut Optimal::default());
        assert_eq!((summary.executions, summary.blocked), (threads as u64, 0));
    }
}

/// A wait that expires may do so again as soon as another thread has used the lock, also while that one has it.
#[test]
fn a_thread_that_spins_on_a_timed_lock_gives_up_again_before_the_lock_is_free() {
    agree(&threads(vec![vec![I::Lock(0, Block), I::RetryWait(1, 0)], vec![I::RetryLock(0)]]));
}

#[test]
fn shares_that_are_added_while_others_are_given_up() {
    agree(&threads(vec![vec![I::DropShare(0)], vec![I::AddShare(0), I::DropShare(0), I::Count(0, true)]]));
}
