//! Data races on plain memory: found whenever nothing orders two accesses, and only then.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Plain, finding, verify};
use ordain::FindingKind::DataRace;
use ordain::cell::UnsafeCell;
use ordain::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use ordain::sync::{Barrier, Condvar, Mutex, Once, RwLock, Semaphore, mpsc};
use ordain::thread;
use std::sync::Arc;

/// A writer publishes plain memory with a flag; main reads it if the flag is up.
fn publish(store: Ordering, load: Ordering) {
    let (plain, flag) = (Plain::shared(), Arc::new(AtomicBool::new(false)));
    let (plain2, flag2) = (plain.clone(), flag.clone());
    let writer = thread::spawn(move || {
        plain2.write(7);
        flag2.store(true, store);
    });
    if flag.load(load) {
        assert_eq!(plain.read(), 7);
    }
    writer.join().unwrap();
    assert_eq!(plain.read(), 7);
}

#[test]
fn publication_needs_release_and_acquire() {
    use Ordering::{Acquire, Relaxed, Release, SeqCst};
    for (store, load) in [(Release, Acquire), (SeqCst, SeqCst), (SeqCst, Acquire), (Release, SeqCst)] {
        assert_eq!(verify(move || publish(store, load)).executions, 2);
    }
    for (store, load) in [(Relaxed, Relaxed), (Release, Relaxed), (Relaxed, Acquire), (Relaxed, SeqCst)] {
        finding(DataRace, move || publish(store, load));
    }
}

/// Publishes with relaxed accesses and fences.
fn publish_with_fences(release: bool, acquire: bool) {
    let (plain, flag) = (Plain::shared(), Arc::new(AtomicBool::new(false)));
    let (plain2, flag2) = (plain.clone(), flag.clone());
    let writer = thread::spawn(move || {
        plain2.write(7);
        if release {
            fence(Ordering::Release);
        }
        flag2.store(true, Ordering::Relaxed);
    });
    if flag.load(Ordering::Relaxed) {
        if acquire {
            fence(Ordering::Acquire);
        }
        plain.read();
    }
    writer.join().unwrap();
}

#[test]
fn fences_order_relaxed_accesses() {
    verify(|| publish_with_fences(true, true));
    finding(DataRace, || publish_with_fences(true, false));
    finding(DataRace, || publish_with_fences(false, true));
}

#[test]
fn a_fence_after_the_store_is_too_late() {
    finding(DataRace, || {
        let (plain, flag) = (Plain::shared(), Arc::new(AtomicBool::new(false)));
        let (plain2, flag2) = (plain.clone(), flag.clone());
        thread::spawn(move || {
            plain2.write(7);
            flag2.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        });
        if flag.load(Ordering::Acquire) {
            plain.read();
        }
    });
}

/// Someone else adds to the flag between the publication and its reader.
fn release_sequence(update: bool) {
    let (plain, flag) = (Plain::shared(), Arc::new(AtomicUsize::new(0)));
    let (plain2, flag2, flag3) = (plain.clone(), flag.clone(), flag.clone());
    thread::spawn(move || {
        plain2.write(7);
        flag2.store(1, Ordering::Release);
    });
    thread::spawn(move || {
        if update {
            flag3.fetch_add(1, Ordering::Relaxed);
        } else if flag3.load(Ordering::Relaxed) == 1 {
            flag3.store(2, Ordering::Relaxed);
        }
    });
    if flag.load(Ordering::Acquire) == 2 {
        plain.read();
    }
}

#[test]
fn updates_continue_a_release_sequence_and_stores_end_it() {
    verify(|| release_sequence(true));
    finding(DataRace, || release_sequence(false));
}

#[test]
fn compare_exchange_orders_by_the_ordering_of_its_outcome() {
    let race = |success, failure| {
        move || {
            let (plain, flag) = (Plain::shared(), Arc::new(AtomicBool::new(false)));
            let (plain2, flag2) = (plain.clone(), flag.clone());
            thread::spawn(move || {
                plain2.write(7);
                flag2.store(true, Ordering::Release);
            });
            if flag.compare_exchange(false, true, success, failure).is_err() {
                plain.read();
            }
        }
    };
    verify(race(Ordering::Relaxed, Ordering::Acquire));
    finding(DataRace, race(Ordering::AcqRel, Ordering::Relaxed));
}

#[test]
fn unordered_writes_race_in_the_only_class() {
    let found = finding(DataRace, || {
        let plain = Plain::shared();
        let plain2 = plain.clone();
        let other = thread::spawn(move || plain2.write(1));
        plain.write(2);
        other.join().unwrap();
    });
    assert_eq!(found.message().lines().count(), 3, "{found}");
    assert!(found.message().contains("main.1 writes at") && found.message().contains("main writes at"), "{found}");
}

#[test]
fn reads_do_not_race() {
    let report = verify(|| {
        let plain = Plain::shared();
        let plain2 = plain.clone();
        let other = thread::spawn(move || plain2.read());
        plain.read();
        other.join().unwrap();
    });
    assert_eq!(report.executions, 1);
}

#[test]
fn spawn_and_join_order() {
    verify(|| {
        let plain = Plain::shared();
        plain.write(1);
        let plain2 = plain.clone();
        let other = thread::spawn(move || {
            assert_eq!(plain2.read(), 1);
            plain2.write(2);
        });
        other.join().unwrap();
        assert_eq!(plain.read(), 2);
    });
    verify(|| {
        let plain = Plain::shared();
        thread::scope(|s| {
            s.spawn(|| plain.write(1));
        });
        assert_eq!(plain.read(), 1);
    });
}

/// Two threads write plain memory, each inside a section that `enter` and `leave` make.
fn in_section<L: Sync + Send + 'static>(lock: fn() -> L, section: fn(&L, &dyn Fn())) -> impl Fn() {
    move || {
        let shared = Arc::new((lock(), Plain(UnsafeCell::new(0))));
        let shared2 = shared.clone();
        let other = thread::spawn(move || section(&shared2.0, &|| shared2.1.write(1)));
        section(&shared.0, &|| shared.1.write(2));
        other.join().unwrap();
    }
}

#[test]
fn locks_order() {
    let mutex = in_section(
        || Mutex::new(()),
        |mutex, write| {
            let _guard = mutex.lock().unwrap();
            write();
        },
    );
    assert_eq!(verify(mutex).executions, 2);
    let writers = in_section(
        || RwLock::new(()),
        |lock, write| {
            let _guard = lock.write().unwrap();
            write();
        },
    );
    assert_eq!(verify(writers).executions, 2);
    let semaphore = in_section(
        || Semaphore::new(1),
        |semaphore, write| {
            semaphore.acquire();
            write();
            semaphore.release(1);
        },
    );
    assert_eq!(verify(semaphore).executions, 2);
}

#[test]
fn a_semaphore_of_two_does_not_order() {
    finding(
        DataRace,
        in_section(
            || Semaphore::new(2),
            |semaphore, write| {
                semaphore.acquire();
                write();
                semaphore.release(1);
            },
        ),
    );
}

#[test]
fn writing_after_the_lock_is_released_races() {
    finding(
        DataRace,
        in_section(
            || Mutex::new(()),
            |mutex, write| {
                drop(mutex.lock().unwrap());
                write();
            },
        ),
    );
}

#[test]
fn an_attempt_that_failed_orders_nothing() {
    finding(
        DataRace,
        in_section(
            || Mutex::new(()),
            |mutex, write| {
                let _guard = mutex.try_lock();
                write();
            },
        ),
    );
}

#[test]
fn writers_are_ordered_with_readers() {
    verify(|| {
        let shared = Arc::new((RwLock::new(()), Plain(UnsafeCell::new(0))));
        let shared2 = shared.clone();
        let other = thread::spawn(move || {
            let _guard = shared2.0.write().unwrap();
            shared2.1.write(1);
        });
        {
            let _guard = shared.0.read().unwrap();
            shared.1.read();
        }
        other.join().unwrap();
    });
}

#[test]
fn messages_order() {
    verify(|| {
        let plain = Plain::shared();
        let plain2 = plain.clone();
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || {
            plain2.write(1);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        assert_eq!(plain.read(), 1);
        other.join().unwrap();
    });
    finding(DataRace, || {
        let plain = Plain::shared();
        let plain2 = plain.clone();
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || {
            sender.send(()).unwrap();
            plain2.write(1);
        });
        receiver.recv().unwrap();
        plain.read();
        other.join().unwrap();
    });
}

#[test]
fn a_rendezvous_orders_both_ways() {
    verify(|| {
        let (before, after) = (Plain::shared(), Plain::shared());
        let (before2, after2) = (before.clone(), after.clone());
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = thread::spawn(move || {
            before2.write(1);
            sender.send(()).unwrap();
            after2.read();
        });
        after.write(1);
        receiver.recv().unwrap();
        before.read();
        other.join().unwrap();
    });
}

#[test]
fn park_barrier_once_and_condvar_order() {
    verify(|| {
        let plain = Plain::shared();
        let plain2 = plain.clone();
        let main = thread::current();
        thread::spawn(move || {
            plain2.write(1);
            main.unpark();
        });
        thread::park();
        plain.read();
    });
    verify(|| {
        let plain = Plain::shared();
        let (plain2, barrier) = (plain.clone(), Arc::new(Barrier::new(2)));
        let barrier2 = barrier.clone();
        thread::spawn(move || {
            plain2.write(1);
            barrier2.wait();
        });
        barrier.wait();
        plain.read();
    });
    verify(|| {
        let shared = Arc::new((Once::new(), Plain(UnsafeCell::new(0))));
        let shared2 = shared.clone();
        thread::spawn(move || {
            shared2.0.call_once(|| shared2.1.write(1));
            assert_eq!(shared2.1.read(), 1);
        });
        shared.0.call_once(|| shared.1.write(1));
        assert_eq!(shared.1.read(), 1);
    });
    verify(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new(), Plain(UnsafeCell::new(0))));
        let shared2 = shared.clone();
        thread::spawn(move || {
            shared2.2.write(1);
            *shared2.0.lock().unwrap() = true;
            shared2.1.notify_one();
        });
        drop(shared.1.wait_while(shared.0.lock().unwrap(), |ready| !*ready).unwrap());
        shared.2.read();
    });
}

#[test]
fn an_exclusive_borrow_counts_as_a_write() {
    finding(DataRace, || {
        let plain = Plain::shared();
        let alias = plain.clone();
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        thread::spawn(move || {
            alias.read();
            drop(alias);
            flag2.store(true, Ordering::Relaxed);
        });
        if flag.load(Ordering::Relaxed)
            && let Some(mut plain) = Arc::into_inner(plain)
        {
            *plain.0.get_mut() = 1;
        }
    });
}
