//! The attribute `#[ordain::test]`, used as a user would.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::{Arc, Mutex};
use std::num::ParseIntError;

/// Adds one to `x` in two threads; atomically or not.
fn count_in_two_threads(atomically: bool) -> usize {
    let add = move |x: &AtomicUsize| {
        if atomically {
            x.fetch_add(1, SeqCst);
        } else {
            x.store(x.load(SeqCst) + 1, SeqCst);
        }
    };
    let x = Arc::new(AtomicUsize::new(0));
    let y = x.clone();
    let other = ordain::thread::spawn(move || add(&y));
    add(&x);
    other.join().unwrap();
    x.load(SeqCst)
}

#[ordain::test]
fn a_right_program_passes() {
    assert_eq!(count_in_two_threads(true), 2);
}

#[ordain::test]
#[should_panic(expected = "ordain found: panic")]
fn a_wrong_program_fails() {
    assert_eq!(count_in_two_threads(false), 2);
}

/// The check is named like the test, module and all, so that the printed line replays it.
mod nested {
    #[ordain::test]
    #[should_panic(expected = "cargo test nested::the_name_is_that_of_the_test")]
    fn the_name_is_that_of_the_test() {
        panic!("schedules are in .ordain/nested.the_name_is_that_of_the_test/");
    }
}

#[ordain::test]
#[should_panic(expected = "ordain found: deadlock")]
fn a_deadlock_is_a_failure() {
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (a2, b2) = (a.clone(), b.clone());
    let other = ordain::thread::spawn(move || {
        let _b = b2.lock().unwrap();
        let _a = a2.lock().unwrap();
    });
    let guards = (a.lock().unwrap(), b.lock().unwrap());
    drop(guards);
    other.join().unwrap();
}

#[ordain::test]
fn a_result_may_be_returned() -> Result<(), ParseIntError> {
    let number: usize = "2".parse()?;
    assert_eq!(count_in_two_threads(true), number);
    Ok(())
}

#[ordain::test]
#[should_panic(expected = "the test returned an error: ParseIntError")]
fn an_error_is_a_failure() -> Result<(), ParseIntError> {
    let _: usize = "two".parse()?;
    Ok(())
}

#[ordain::test]
#[should_panic(expected = "for ever")]
fn a_function_may_never_return() -> ! {
    panic!("for ever");
}

#[ordain::test(strategy = "dfs", max_time = "10m", keep_going = false, spin_bound = 3, stack_size = 131_072)]
fn options_may_be_given() {
    assert_eq!(count_in_two_threads(true), 2);
}

#[ordain::test(strategy = "pct", pct_depth = 2, max_executions = 200, seed = 7)]
#[should_panic(expected = "strategy: pct;")]
fn samplers_find_lost_updates() {
    assert_eq!(count_in_two_threads(false), 2);
}

#[ordain::test(preemption_bound = 0)]
fn without_preemption_nothing_is_lost() {
    assert_eq!(count_in_two_threads(false), 2);
}

#[ordain::test(delay_bound = 1)]
#[should_panic(expected = "strategy: delay bound 1;")]
fn one_delay_loses_an_update() {
    assert_eq!(count_in_two_threads(false), 2);
}

#[ordain::test(spurious_wakeups, timeouts = "last", max_steps = 1000)]
#[should_panic(expected = "timeouts: last")]
fn flags_need_no_value() {
    ordain::thread::park();
    panic!("woken without a reason");
}

#[ordain::test(max_executions = 2, strategy = "optimal")]
fn a_spent_budget_is_no_failure() {
    assert_eq!(count_in_two_threads(true), 2);
}

#[ordain::test(max_executions = 1, strategy = "optimal", require = "verified")]
#[should_panic(expected = "ordain: `verified` was required, but the verdict is `no finding`")]
fn unless_more_is_required() {
    assert_eq!(count_in_two_threads(true), 2);
}

#[ordain::test(max_executions = 1, strategy = "optimal", require = "share=99%")]
#[should_panic(expected = "ordain: `share=99%` was required, but ")]
fn or_a_share() {
    assert_eq!(count_in_two_threads(true), 2);
}

#[ordain::test(require = "verified")]
fn what_is_reached_passes() {
    assert_eq!(count_in_two_threads(true), 2);
}

#[ordain::test]
#[ignore = "ignored tests are not run"]
fn other_attributes_keep_their_meaning() {
    unreachable!("this test is ignored");
}
