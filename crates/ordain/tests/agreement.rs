//! What programs can give back is known by reasoning, and all strategies and numbers of workers come to exactly that.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{outcomes, outcomes_of, quiet};
use ordain::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering::SeqCst};
use ordain::sync::mpsc::{channel, sync_channel};
use ordain::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore};
use ordain::{Strategy, Verdict, thread, thread_local};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

/// The program gives back these and nothing else.
#[track_caller]
fn gives<const N: usize>(expected: &[[i32; N]], program: fn() -> [i32; N]) {
    let expected: BTreeSet<[i32; N]> = expected.iter().copied().collect();
    assert_eq!(outcomes(program), expected);
    assert_eq!(outcomes_of(quiet().max_executions(1_000_000), program), expected, "portfolio");
    for (strategy, workers) in [(Strategy::Optimal, 2), (Strategy::Source, 3), (Strategy::Portfolio, 2)] {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
        let inner = seen.clone();
        let check = quiet().strategy(strategy).workers(workers);
        let report = check.run(move || {
            inner.lock().unwrap().insert(program());
        });
        report.expect_no_finding();
        assert_ne!(report.verdict, Verdict::Finding, "{report}");
        let seen = std::sync::Arc::into_inner(seen).unwrap().into_inner().unwrap();
        assert_eq!(seen, expected, "{strategy:?} with {workers} workers");
    }
}

/// Two threads do the same with what they share; gives back what came of each.
fn both<S: Send + Sync + 'static>(shared: S, first: fn(&S) -> i32, second: fn(&S) -> i32) -> [i32; 2] {
    let shared = std::sync::Arc::new(shared);
    let shared2 = shared.clone();
    let other = thread::spawn(move || first(&shared2));
    let own = second(&shared);
    [other.join().unwrap(), own]
}

fn attempt(lock: &Mutex<i32>) -> i32 {
    lock.try_lock().map_or(0, |mut value| std::mem::replace(&mut *value, 2) + 1)
}

fn count(x: &AtomicUsize) -> i32 {
    x.fetch_add(1, SeqCst);
    OWN.with(|own| own.replace(own.get() + 1) + 1)
}

fn add(x: &AtomicU8) -> i32 {
    x.fetch_add(200, SeqCst).into()
}

fn increment(x: &AtomicUsize) -> i32 {
    x.fetch_update(SeqCst, SeqCst, |old| Some(old + 1)).unwrap() as i32
}

#[test]
fn locks() {
    gives(&[[0], [1]], || {
        let lock = std::sync::Arc::new(Mutex::new(0));
        let lock2 = lock.clone();
        let other = thread::spawn(move || {
            let _guard = lock2.lock();
            panic!("while it is held");
        });
        let poisoned = lock.lock().is_err();
        assert!(other.join().is_err());
        [poisoned.into()]
    });
    gives(&[[0]], || {
        let lock = std::sync::Arc::new(RwLock::new(0));
        let lock2 = lock.clone();
        let other = thread::spawn(move || {
            let _guard = lock2.read();
            panic!("while it is read");
        });
        let poisoned = lock.write().is_err();
        assert!(other.join().is_err());
        [poisoned.into()]
    });
    gives(&[[1, 2], [2, 1]], || {
        let log = std::sync::Arc::new(Mutex::new(Vec::new()));
        let log2 = log.clone();
        let other = thread::spawn(move || log2.lock().unwrap().push(1));
        log.lock().unwrap().push(2);
        other.join().unwrap();
        let log = log.lock().unwrap();
        [log[0], log[1]]
    });
    gives(&[[1, 3], [3, 1], [0, 1], [1, 0]], || both(Mutex::new(0), attempt, attempt));
    gives(&[[1, 1], [1, 0]], || {
        both(RwLock::new(0), |lock| lock.read().is_ok().into(), |lock| lock.try_write().is_ok().into())
    });
    gives(&[[1, 1]], || both(RwLock::new(0), |lock| lock.read().is_ok().into(), |lock| lock.try_read().is_ok().into()));
}

#[test]
fn waiting() {
    gives(&[[1]], || [Condvar::new().wait_timeout(Mutex::new(0).lock().unwrap(), SHORT).unwrap().1.timed_out().into()]);
    gives(&[[0, 0], [0, 1], [1, 1]], || {
        // Whether the flag was up before, and whether it is in the end: a time-out may come at any moment.
        let shared = std::sync::Arc::new((Mutex::new(false), Condvar::new()));
        let shared2 = shared.clone();
        let other = thread::spawn(move || {
            *shared2.0.lock().unwrap() = true;
            shared2.1.notify_one();
        });
        let guard = shared.0.lock().unwrap();
        let before = *guard;
        let after = *shared.1.wait_timeout_while(guard, SHORT, |up| !*up).unwrap().0;
        other.join().unwrap();
        [before.into(), after.into()]
    });
    gives(&[[1, 0], [0, 1]], || {
        both(Barrier::new(2), |b| b.wait().is_leader().into(), |b| b.wait().is_leader().into())
    });
    gives(&[[1]], || {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        thread::park();
        other.join().unwrap();
        [1]
    });
    gives(&[[0], [1]], || {
        let x = std::sync::Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.store(1, SeqCst));
        thread::park_timeout(SHORT);
        let seen = x.load(SeqCst);
        other.join().unwrap();
        [seen as i32]
    });
    gives(&[[0], [1]], || {
        let other = thread::spawn(|| ());
        let finished = other.is_finished();
        other.join().unwrap();
        [finished.into()]
    });
    gives(&[[1, 0], [0, 1]], || both(Semaphore::new(1), |s| s.try_acquire().into(), |s| s.try_acquire().into()));
}

#[test]
fn channels() {
    gives(&[[1, 2], [2, 1]], || {
        let (sender, receiver) = channel();
        let sender2 = sender.clone();
        let other = thread::spawn(move || sender2.send(1).unwrap());
        sender.send(2).unwrap();
        let seen = [receiver.recv().unwrap(), receiver.recv().unwrap()];
        other.join().unwrap();
        seen
    });
    gives(&[[1, -1]], || {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(1).unwrap());
        [receiver.recv().unwrap_or(-1), receiver.recv().unwrap_or(-1)]
    });
    gives(&[[0, 0], [1, 0], [1, 1]], || {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || drop(receiver));
        let sent = [sender.send(1).is_ok().into(), sender.send(2).is_ok().into()];
        other.join().unwrap();
        sent
    });
    gives(&[[0, 0], [1, 0]], || {
        let (sender, receiver) = sync_channel(1);
        let other = thread::spawn(move || drop(receiver));
        let sent = [sender.send(1).is_ok().into(), sender.send(2).is_ok().into()];
        other.join().unwrap();
        sent
    });
    gives(&[[0, -1], [1, 1]], || {
        let (sender, receiver) = sync_channel(0);
        let other = thread::spawn(move || receiver.recv().unwrap_or(-1));
        let sent = sender.try_send(1).is_ok();
        drop(sender);
        [sent.into(), other.join().unwrap()]
    });
    gives(&[[-1], [7]], || {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || {
            let _ = sender.send(7);
        });
        let seen = receiver.recv_timeout(SHORT).unwrap_or(-1);
        drop(receiver);
        other.join().unwrap();
        [seen]
    });
    gives(&[[7]], || {
        /// Tells when it is dropped.
        struct Tells(ordain::sync::mpsc::Sender<i32>);
        impl Drop for Tells {
            fn drop(&mut self) {
                self.0.send(7).unwrap();
            }
        }
        let (sender, receiver) = channel();
        let other = thread::spawn(move || {
            let _tells = Tells(sender);
            panic!("it is unwound");
        });
        let seen = receiver.recv().unwrap();
        assert!(other.join().is_err());
        [seen]
    });
}

#[test]
fn initialisation() {
    gives(&[[1, 1], [2, 2]], || both(OnceLock::new(), |once| *once.get_or_init(|| 1), |once| *once.get_or_init(|| 2)));
    gives(&[[1, 0], [0, 1]], || {
        both(OnceLock::new(), |once| once.set(1).is_ok().into(), |once| once.set(2).is_ok().into())
    });
    gives(&[[0, 2], [1, 2]], || {
        both(OnceLock::new(), |once| once.get().map_or(0, |_| 1), |once| *once.get_or_init(|| 2))
    });
    gives(&[[1]], || {
        let count = std::sync::Arc::new(AtomicUsize::new(0));
        let count2 = count.clone();
        let lazy = std::sync::Arc::new(LazyLock::new(move || count2.fetch_add(1, SeqCst)));
        let lazy2 = lazy.clone();
        let other = thread::spawn(move || **lazy2);
        let _ = **lazy;
        other.join().unwrap();
        [count.load(SeqCst) as i32]
    });
    gives(&[[1, 1], [0, 0]], || {
        let once = std::sync::Arc::new(Once::new());
        let once2 = once.clone();
        let other = thread::spawn(move || once2.call_once(|| panic!("halfway")));
        let mut poisoned = false;
        once.call_once_force(|state| poisoned = state.is_poisoned());
        [poisoned.into(), other.join().is_err().into()]
    });
}

thread_local! {
    static OWN: Cell<i32> = const { Cell::new(0) };
}

#[test]
fn threads() {
    gives(&[[1], [2]], || {
        let x = AtomicI64::new(0);
        thread::scope(|s| {
            s.spawn(|| x.store(1, SeqCst));
            s.spawn(|| x.store(2, SeqCst));
        });
        [x.load(SeqCst) as i32]
    });
    gives(&[[1, 1]], || both(AtomicUsize::new(0), count, count));
    gives(&[[0], [1]], || {
        // A sleep orders nothing.
        let x = std::sync::Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || {
            thread::sleep(SHORT);
            y.store(1, SeqCst);
        });
        thread::sleep(Duration::from_secs(60));
        let seen = x.load(SeqCst);
        other.join().unwrap();
        [seen as i32]
    });
}

#[test]
fn shares() {
    gives(&[[1, 0], [0, 1]], || {
        let value = Arc::new(5);
        let value2 = value.clone();
        let other = thread::spawn(move || Arc::into_inner(value2).is_some());
        let own = Arc::into_inner(value).is_some();
        [other.join().unwrap().into(), own.into()]
    });
    gives(&[[0, 0], [1, 0], [0, 1]], || {
        let value = Arc::new(5);
        let value2 = value.clone();
        let other = thread::spawn(move || Arc::try_unwrap(value2).is_ok());
        let own = Arc::try_unwrap(value).is_ok();
        [other.join().unwrap().into(), own.into()]
    });
    gives(&[[0], [1]], || {
        let value = Arc::new(5);
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || drop(value));
        let there = weak.upgrade().is_some();
        other.join().unwrap();
        [there.into()]
    });
    gives(&[[1], [2], [3]], || {
        let value = Arc::new(5);
        let (second, third) = (value.clone(), value.clone());
        let others = [thread::spawn(move || drop(second)), thread::spawn(move || drop(third))];
        let count = Arc::strong_count(&value);
        others.into_iter().for_each(|other| other.join().unwrap());
        [count as i32]
    });
}

#[test]
fn atomics() {
    gives(&[[0, 200], [200, 0]], || both(AtomicU8::new(0), add, add));
    gives(&[[144]], || {
        let x = std::sync::Arc::new(AtomicU8::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.fetch_add(200, SeqCst));
        x.fetch_add(200, SeqCst);
        other.join().unwrap();
        [x.load(SeqCst).into()]
    });
    gives(&[[1, 0], [0, 1]], || {
        both(
            AtomicI64::new(-1),
            |x| x.compare_exchange(-1, 5, SeqCst, SeqCst).is_ok().into(),
            |x| x.compare_exchange(-1, 6, SeqCst, SeqCst).is_ok().into(),
        )
    });
    gives(&[[0, 3], [5, 0]], || {
        both(AtomicUsize::new(0), |x| x.fetch_max(3, SeqCst) as i32, |x| x.fetch_max(5, SeqCst) as i32)
    });
    gives(&[[0, 1], [1, 0], [1, 1]], || {
        // Store buffering: not both read the old value.
        both(
            (AtomicUsize::new(0), AtomicUsize::new(0)),
            |x| {
                x.0.store(1, SeqCst);
                x.1.load(SeqCst) as i32
            },
            |x| {
                x.1.store(1, SeqCst);
                x.0.load(SeqCst) as i32
            },
        )
    });
    gives(&[[0, 0], [0, 1], [1, 1]], || {
        // Message passing: who sees the second value sees the first.
        let cells = std::sync::Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let cells2 = cells.clone();
        let other = thread::spawn(move || {
            cells2.0.store(1, SeqCst);
            cells2.1.store(1, SeqCst);
        });
        let (second, first) = (cells.1.load(SeqCst), cells.0.load(SeqCst));
        other.join().unwrap();
        [second as i32, first as i32]
    });
    gives(&[[0, 1], [1, 0]], || both(AtomicUsize::new(0), increment, increment));
}
