//! The programs of `counts/` once more, for the Rust library.
//!
//! Each function makes the same operations in the same order as the C program of its name, so both must have the same
//! number of classes. Whoever includes this file depends on `ordain`; `run` takes the arguments of the C program.

use ordain::sync::{Barrier, Condvar, Mutex, RwLock, Semaphore};
use ordain::thread::{self, JoinHandle};
// Not `ordain::sync::Arc`: the C programs have no reference counts.
use std::sync::Arc;

fn join_all(handles: Vec<JoinHandle<()>>) {
    for handle in handles {
        handle.join().unwrap();
    }
}

/// `threads` threads each lock a mutex, count and unlock, `rounds` times.
pub fn mutex_counter(threads: usize, rounds: usize) {
    let count = Arc::new(Mutex::new(0));
    let work = || {
        let count = count.clone();
        thread::spawn(move || {
            for _ in 0..rounds {
                *count.lock().unwrap() += 1;
            }
        })
    };
    join_all((0..threads).map(|_| work()).collect());
}

/// `n` philosophers eat once; each takes the fork with the lower number first.
pub fn philosophers(n: usize) {
    let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..n).map(|_| Mutex::new(())).collect());
    let dine = |left: usize| {
        let forks = forks.clone();
        let right = (left + 1) % n;
        thread::spawn(move || {
            let first = forks[left.min(right)].lock().unwrap();
            let second = forks[left.max(right)].lock().unwrap();
            drop(second);
            drop(first);
        })
    };
    join_all((0..n).map(dine).collect());
}

/// A buffer of one slot with a condition variable for each side.
pub fn buffer(producers: usize, consumers: usize, items: usize) {
    struct Slot {
        full: Mutex<bool>,
        filled: Condvar,
        emptied: Condvar,
    }
    let slot = Arc::new(Slot { full: Mutex::new(false), filled: Condvar::new(), emptied: Condvar::new() });
    let gets = producers * items / consumers;
    let produce = || {
        let slot = slot.clone();
        thread::spawn(move || {
            for _ in 0..items {
                let mut full = slot.full.lock().unwrap();
                while *full {
                    full = slot.emptied.wait(full).unwrap();
                }
                *full = true;
                slot.filled.notify_one();
            }
        })
    };
    let consume = || {
        let slot = slot.clone();
        thread::spawn(move || {
            for _ in 0..gets {
                let mut full = slot.full.lock().unwrap();
                while !*full {
                    full = slot.filled.wait(full).unwrap();
                }
                *full = false;
                slot.emptied.notify_one();
            }
        })
    };
    let mut handles: Vec<_> = (0..producers).map(|_| produce()).collect();
    handles.extend((0..consumers).map(|_| consume()));
    join_all(handles);
}

/// `threads` threads each take and give back one of `permits` permits, `rounds` times.
pub fn semaphore(threads: usize, rounds: usize, permits: usize) {
    let semaphore = Arc::new(Semaphore::new(permits));
    let work = || {
        let semaphore = semaphore.clone();
        thread::spawn(move || {
            for _ in 0..rounds {
                semaphore.acquire();
                semaphore.release(1);
            }
        })
    };
    join_all((0..threads).map(|_| work()).collect());
}

/// `threads` threads meet at a barrier `rounds` times; the leader of each round counts it.
pub fn barrier(threads: usize, rounds: usize) {
    let shared = Arc::new((Barrier::new(threads), Mutex::new(0)));
    let work = || {
        let shared = shared.clone();
        thread::spawn(move || {
            for _ in 0..rounds {
                if shared.0.wait().is_leader() {
                    *shared.1.lock().unwrap() += 1;
                }
            }
        })
    };
    join_all((0..threads).map(|_| work()).collect());
}

/// `readers` threads read under a read-write lock, `writers` threads write under it, once each.
pub fn rwlock(readers: usize, writers: usize) {
    let value = Arc::new(RwLock::new(0));
    let read = || {
        let value = value.clone();
        thread::spawn(move || assert!(*value.read().unwrap() <= writers))
    };
    let write = || {
        let value = value.clone();
        thread::spawn(move || *value.write().unwrap() += 1)
    };
    let mut handles: Vec<_> = (0..readers).map(|_| read()).collect();
    handles.extend((0..writers).map(|_| write()));
    join_all(handles);
}

/// `n` threads each lock a mutex of their own.
pub fn independent(n: usize) {
    let locks: Arc<Vec<Mutex<()>>> = Arc::new((0..n).map(|_| Mutex::new(())).collect());
    let work = |i: usize| {
        let locks = locks.clone();
        thread::spawn(move || drop(locks[i].lock().unwrap()))
    };
    join_all((0..n).map(work).collect());
}

/// Runs the program of that name.
pub fn run(name: &str, args: &[usize]) {
    match (name, args) {
        ("mutex_counter", [threads, rounds]) => mutex_counter(*threads, *rounds),
        ("philosophers", [n]) => philosophers(*n),
        ("buffer", [producers, consumers, items]) => buffer(*producers, *consumers, *items),
        ("semaphore", [threads, rounds, permits]) => semaphore(*threads, *rounds, *permits),
        ("barrier", [threads, rounds]) => barrier(*threads, *rounds),
        ("rwlock", [readers, writers]) => rwlock(*readers, *writers),
        ("independent", [n]) => independent(*n),
        _ => panic!("no program `{name}` with {} arguments", args.len()),
    }
}
