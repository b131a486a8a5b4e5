//! The benchmark programs, written once against the concurrency API of std.
//!
//! Whoever includes this file has a module `tool` beside it, with the `thread`, `Arc`, `Mutex`, `Condvar` and `AtomicUsize` of
//! a tool, so every tool runs the same source. Each function is one test body: it panics if the program misbehaves.

use super::tool::{Arc, AtomicUsize, Condvar, Mutex, thread};
use std::sync::atomic::Ordering::SeqCst;

type Body = Box<dyn FnOnce() + Send>;

/// Runs the bodies as threads and waits for them.
fn run_all(bodies: Vec<Body>) {
    let handles: Vec<_> = bodies.into_iter().map(|body| thread::spawn(move || body())).collect();
    for handle in handles {
        handle.join().unwrap();
    }
}

/// One writer, which is main, and `n` readers of one variable: 2^n classes.
pub fn readers(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let readers = (0..n).map(|_| {
        let x = x.clone();
        thread::spawn(move || {
            let _ = x.load(SeqCst);
        })
    });
    let readers: Vec<_> = readers.collect();
    x.store(1, SeqCst);
    for reader in readers {
        reader.join().unwrap();
    }
}

/// Thread `i` sets element `i` of an array to its left neighbour plus one, and main looks for the last zero: (n+3)·2^(n-2) classes.
pub fn lastzero(n: usize) {
    let array: Arc<Vec<AtomicUsize>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
    let writers = (1..=n).map(|i| {
        let array = array.clone();
        thread::spawn(move || {
            let left = array[i - 1].load(SeqCst);
            array[i].store(left + 1, SeqCst);
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut last = n;
    while array[last].load(SeqCst) != 0 {
        last -= 1;
    }
    for writer in writers {
        writer.join().unwrap();
    }
}

/// `n` threads put four values each into a hash table of 128 places by compare-and-exchange: one class up to eleven threads, then
/// eight times as many with each.
pub fn indexer(n: usize) {
    const PLACES: usize = 128;
    let table: Arc<Vec<AtomicUsize>> = Arc::new((0..PLACES).map(|_| AtomicUsize::new(0)).collect());
    let bodies = (0..n).map(|id| -> Body {
        let table = table.clone();
        Box::new(move || {
            for message in 1..=4 {
                let value = message * 11 + id;
                let mut place = (value * 7) % PLACES;
                while table[place].compare_exchange(0, value, SeqCst, SeqCst).is_err() {
                    place = (place + 1) % PLACES;
                }
            }
        })
    });
    run_all(bodies.collect());
}

/// `n` threads write `k` times to a variable of their own: one class.
pub fn independent(n: usize, k: usize) {
    let bodies = (0..n).map(|_| -> Body {
        Box::new(move || {
            let x = AtomicUsize::new(0);
            for _ in 0..k {
                x.store(1, SeqCst);
            }
        })
    });
    run_all(bodies.collect());
}

/// `n` threads add to a locked counter `k` times: (nk)!/(k!)^n classes.
pub fn mutex_counter(n: usize, k: usize) {
    let counter = Arc::new(Mutex::new(0));
    let bodies = (0..n).map(|_| -> Body {
        let counter = counter.clone();
        Box::new(move || {
            for _ in 0..k {
                *counter.lock().unwrap() += 1;
            }
        })
    });
    run_all(bodies.collect());
    assert_eq!(*counter.lock().unwrap(), n * k);
}

/// `n` threads add `k` times by load and store. Updates get lost.
pub fn lost_update(n: usize, k: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let bodies = (0..n).map(|_| -> Body {
        let x = x.clone();
        Box::new(move || {
            for _ in 0..k {
                let old = x.load(SeqCst);
                x.store(old + 1, SeqCst);
            }
        })
    });
    run_all(bodies.collect());
    assert_eq!(x.load(SeqCst), n * k, "lost update");
}

/// Two locks in opposite orders, after `k` rounds in the same order. It can deadlock.
pub fn abba(k: usize) {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let bodies = [false, true].map(|swapped| -> Body {
        let locks = locks.clone();
        Box::new(move || {
            let (a, b) = (&locks.0, &locks.1);
            for _ in 0..k {
                let mut held = a.lock().unwrap();
                *held += 1;
                *b.lock().unwrap() += 1;
            }
            let (first, second) = if swapped { (b, a) } else { (a, b) };
            let _first = first.lock().unwrap();
            let _second = second.lock().unwrap();
        })
    });
    run_all(bodies.into());
}

/// `n` philosophers eat once. If `ordered`, the last takes the forks the other way round and nothing can happen (2^n-2 classes).
pub fn philosophers(n: usize, ordered: bool) {
    let forks: Arc<Vec<Mutex<usize>>> = Arc::new((0..n).map(|_| Mutex::new(0)).collect());
    let bodies = (0..n).map(|i| -> Body {
        let forks = forks.clone();
        Box::new(move || {
            let (mut left, mut right) = (i, (i + 1) % n);
            if ordered && left > right {
                std::mem::swap(&mut left, &mut right);
            }
            let mut first = forks[left].lock().unwrap();
            let mut second = forks[right].lock().unwrap();
            *first += 1;
            *second += 1;
        })
    });
    run_all(bodies.collect());
}

/// A buffer of one slot with one condition variable for both sides. Unless `good`, it wakes one waiter, and the wake-up can go to the
/// wrong side. `producers * items` must be a multiple of `consumers`.
pub fn buffer(producers: usize, consumers: usize, items: usize, good: bool) {
    let slot = Arc::new((Mutex::new(0), Condvar::new()));
    // A producer waits while the slot is full and fills it, a consumer the other way round.
    let side = |threads: usize, rounds: usize, waits_while: usize| -> Vec<Body> {
        let body = |_| -> Body {
            let slot = slot.clone();
            Box::new(move || {
                for _ in 0..rounds {
                    let mut level = slot.0.lock().unwrap();
                    while *level == waits_while {
                        level = slot.1.wait(level).unwrap();
                    }
                    *level = waits_while;
                    if good { slot.1.notify_all() } else { slot.1.notify_one() }
                }
            })
        };
        (0..threads).map(body).collect()
    };
    let mut bodies = side(producers, items, 1);
    bodies.extend(side(consumers, producers * items / consumers, 0));
    run_all(bodies);
    assert_eq!(*slot.0.lock().unwrap(), 0);
}

/// After `k` private steps of each thread, one has to run wholly between two neighbouring steps of the other for the bug to show.
pub fn needle(k: usize) {
    let cells = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let other = cells.clone();
    let writer = thread::spawn(move || {
        for i in 0..k {
            cells.1.store(i + 1, SeqCst);
        }
        cells.0.store(1, SeqCst);
        cells.0.store(2, SeqCst);
    });
    let reader = thread::spawn(move || {
        for _ in 0..k {
            let _ = other.1.load(SeqCst);
        }
        assert_ne!(other.0.load(SeqCst), 1, "needle found");
    });
    writer.join().unwrap();
    reader.join().unwrap();
}

/// Runs the program of that name.
pub fn run(name: &str, a: &[usize]) {
    match (name, a) {
        ("readers", [n]) => readers(*n),
        ("lastzero", [n]) => lastzero(*n),
        ("indexer", [n]) => indexer(*n),
        ("independent", [n, k]) => independent(*n, *k),
        ("mutex_counter", [n, k]) => mutex_counter(*n, *k),
        ("lost_update", [n, k]) => lost_update(*n, *k),
        ("abba", [k]) => abba(*k),
        ("philosophers", [n, ordered]) => philosophers(*n, *ordered != 0),
        ("buffer", [p, c, items, good]) => buffer(*p, *c, *items, *good != 0),
        ("needle", [k]) => needle(*k),
        _ => panic!("no program `{name}` with {} arguments", a.len()),
    }
}
