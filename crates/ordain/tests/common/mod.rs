//! What the tests of behaviour inside checks share.
//!
//! `outcomes` is the oracle: whatever a program can end with under plain depth-first search, the optimal search must reach too,
//! and nothing else.
#![allow(dead_code, clippy::unwrap_used, reason = "no test uses all of it; a test fails by panicking")]

use ordain::cell::UnsafeCell;
use ordain::{Check, Finding, FindingKind, Report, Strategy, Verdict};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// A check that writes no files.
pub(crate) fn quiet() -> Check {
    Check::new().schedule_directory(None)
}

/// Explores everything; nothing may be found.
pub(crate) fn verify(program: impl Fn() + 'static) -> Report {
    let report = quiet().run(program);
    report.expect_no_finding();
    assert_eq!(report.verdict, Verdict::Verified);
    assert_eq!(report.blocked, 0, "the optimal search cuts nothing short");
    report
}

/// As `verify`, for threads that share nothing: everything is explored, and the verdict says that nothing connects them.
pub(crate) fn verify_apart(program: impl Fn() + 'static) -> Report {
    let report = quiet().run(program);
    report.expect_no_finding();
    assert_explored(&report);
    assert_eq!((report.verdict, report.blocked), (Verdict::NoFinding, 0));
    assert!(report.to_string().contains("no two threads touched the same object"), "{report}");
    report
}

/// Nothing is left to be explored, whatever the verdict says.
fn assert_explored(report: &Report) {
    assert_eq!(report.estimate, Some(ordain::Estimate::exact(report.executions)), "{report}");
}

/// How many classes of schedules the program has.
pub(crate) fn classes(program: impl Fn() + 'static) -> u64 {
    verify(program).executions
}

/// The finding of a check, which must be of that kind.
pub(crate) fn finding_of(check: Check, kind: FindingKind, program: impl Fn() + 'static) -> Finding {
    let report = check.run(program);
    assert_eq!(report.verdict, Verdict::Finding, "{report}");
    let finding = report.findings[0].clone();
    assert_eq!(*finding.kind(), kind, "{finding}");
    finding
}

/// The finding of a check with default options, which must be of that kind.
pub(crate) fn finding(kind: FindingKind, program: impl Fn() + 'static) -> Finding {
    finding_of(quiet(), kind, program)
}

/// What the program can give back under one strategy. Nothing may be found.
pub(crate) fn outcomes_of<T: Ord + 'static>(check: Check, program: impl Fn() -> T + 'static) -> BTreeSet<T> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let inner = seen.clone();
    let report = check.run(move || {
        let outcome = program();
        inner.lock().unwrap().insert(outcome);
    });
    report.expect_no_finding();
    assert_explored(&report);
    Arc::into_inner(seen).expect("the check is over").into_inner().unwrap()
}

/// What the program can give back: the same by all exhaustive strategies.
pub(crate) fn outcomes<T, P>(program: P) -> BTreeSet<T>
where
    T: Ord + std::fmt::Debug + 'static,
    P: Fn() -> T + Clone + 'static,
{
    outcomes_with(quiet(), program)
}

/// As `outcomes`, with other options.
pub(crate) fn outcomes_with<T, P>(check: Check, program: P) -> BTreeSet<T>
where
    T: Ord + std::fmt::Debug + 'static,
    P: Fn() -> T + Clone + 'static,
{
    let expected = outcomes_of(check.clone().strategy(Strategy::Dfs), program.clone());
    for strategy in [Strategy::Optimal, Strategy::Source, Strategy::Dpor] {
        assert_eq!(outcomes_of(check.clone().strategy(strategy), program.clone()), expected, "{strategy:?}");
    }
    expected
}

/// What `f` panics with.
pub(crate) fn panic_text<T>(f: impl FnOnce() -> T) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().map_or_else(String::new, |text| (*text).to_owned()),
    }
}

/// A number that threads share without protection.
pub(crate) struct Plain(pub(crate) UnsafeCell<u32>);

// SAFETY: unsound on purpose; threads of a check never really run at the same time.
unsafe impl Sync for Plain {}

impl Plain {
    pub(crate) fn shared() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    #[track_caller]
    pub(crate) fn read(&self) -> u32 {
        // SAFETY: only one thread of a check runs at a time.
        self.0.with(|p| unsafe { *p })
    }

    #[track_caller]
    pub(crate) fn write(&self, value: u32) {
        // SAFETY: only one thread of a check runs at a time.
        self.0.with_mut(|p| unsafe { *p = value });
    }
}
