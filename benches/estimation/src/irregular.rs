//! Programs whose threads do different things, and not the same things in every schedule.
//!
//! Each is a small piece of real concurrent code: what a thread does next depends on what it has seen. They are written against
//! the std-shaped types of Ordain, as a user's test would be.
#![allow(clippy::unwrap_used, reason = "a program under test fails by panicking")]

use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::mpsc::channel;
use ordain::sync::{Barrier, Condvar, Mutex, OnceLock, RwLock, Semaphore};
use ordain::thread;
use std::collections::VecDeque;
use std::sync::Arc;

type Body = Box<dyn FnOnce() + Send>;

/// Runs the bodies as threads and waits for them.
fn run_all(bodies: impl IntoIterator<Item = Body>) {
    let handles: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
    for handle in handles {
        handle.join().unwrap();
    }
}

/// Several numbers that threads share.
fn cells(n: usize) -> Arc<Vec<AtomicUsize>> {
    Arc::new((0..n).map(|_| AtomicUsize::new(0)).collect())
}

/// The next of a sequence of numbers that look random.
fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

/// `readers` look a value up and compute it if it is not there; `writers` invalidate it.
pub(crate) fn cache(readers: usize, writers: usize) {
    let value = Arc::new(RwLock::new(None));
    let read = (0..readers).map(|i| -> Body {
        let value = value.clone();
        Box::new(move || {
            if value.read().unwrap().is_none() {
                let mut value = value.write().unwrap();
                if value.is_none() {
                    *value = Some(i);
                }
            }
        })
    });
    let write = (0..writers).map(|_| -> Body {
        let value = value.clone();
        Box::new(move || *value.write().unwrap() = None)
    });
    run_all(read.chain(write).collect::<Vec<_>>());
}

/// `senders` send `messages` each to one receiver, which stops when all have hung up.
pub(crate) fn fan_in(senders: usize, messages: usize) {
    let (sender, receiver) = channel();
    for i in 0..senders {
        let sender = sender.clone();
        thread::spawn(move || {
            for message in 0..messages {
                sender.send((i, message)).unwrap();
            }
        });
    }
    drop(sender);
    assert_eq!(receiver.iter().count(), senders * messages);
}

/// Threads push onto a Treiber stack and pop from it, trying again if another was faster; nodes are numbered from one.
pub(crate) fn treiber(threads: usize, pushes: usize) {
    let head = Arc::new(AtomicUsize::new(0));
    let below = cells(threads * pushes + 1);
    run_all((0..threads).map(|t| -> Body {
        let (head, below) = (head.clone(), below.clone());
        Box::new(move || {
            for i in 0..pushes {
                let node = 1 + t * pushes + i;
                loop {
                    let top = head.load(SeqCst);
                    below[node].store(top, SeqCst);
                    if head.compare_exchange(top, node, SeqCst, SeqCst).is_ok() {
                        break;
                    }
                }
            }
            if t == 0 {
                loop {
                    let top = head.load(SeqCst);
                    if top == 0 {
                        break;
                    }
                    let under = below[top].load(SeqCst);
                    if head.compare_exchange(top, under, SeqCst, SeqCst).is_ok() {
                        break;
                    }
                }
            }
        })
    }));
}

/// A Michael-Scott queue: `enqueuers` put one item each, one thread takes up to `takes` away.
pub(crate) fn queue(enqueuers: usize, takes: usize) {
    let following = cells(enqueuers + 1);
    let ends = cells(2);
    let put = (1..=enqueuers).map(|node| -> Body {
        let (following, ends) = (following.clone(), ends.clone());
        Box::new(move || {
            loop {
                let tail = ends[1].load(SeqCst);
                match following[tail].compare_exchange(0, node, SeqCst, SeqCst) {
                    Ok(_) => {
                        let _ = ends[1].compare_exchange(tail, node, SeqCst, SeqCst);
                        return;
                    }
                    // Help whoever was faster.
                    Err(other) => drop(ends[1].compare_exchange(tail, other, SeqCst, SeqCst)),
                }
            }
        })
    });
    let take: Body = {
        let (following, ends) = (following.clone(), ends.clone());
        Box::new(move || {
            for _ in 0..takes {
                let head = ends[0].load(SeqCst);
                let after = following[head].load(SeqCst);
                if after == 0 {
                    return;
                }
                ends[0].store(after, SeqCst);
            }
        })
    };
    run_all(put.chain([take]).collect::<Vec<_>>());
}

/// Threads take whichever of `locks` is free, and wait for the last one if none is.
pub(crate) fn try_locks(threads: usize, locks: usize, rounds: usize) {
    let locks: Arc<Vec<_>> = Arc::new((0..locks).map(|_| Mutex::new(0)).collect());
    run_all((0..threads).map(|_| -> Body {
        let locks = locks.clone();
        Box::new(move || {
            for _ in 0..rounds {
                match locks.iter().find_map(|lock| lock.try_lock().ok()) {
                    Some(mut free) => *free += 1,
                    None => *locks[locks.len() - 1].lock().unwrap() += 1,
                }
            }
        })
    }));
}

/// Workers take jobs from a queue and wait for more; jobs differ in size, and the larger ones make new ones.
pub(crate) fn work_queue(workers: usize, jobs: usize) {
    struct Queue {
        jobs: VecDeque<usize>,
        open: usize,
    }
    let queue = Queue { jobs: (0..jobs).map(|j| j % 3).collect(), open: jobs };
    let shared = Arc::new((Mutex::new(queue), Condvar::new()));
    run_all((0..workers).map(|_| -> Body {
        let shared = shared.clone();
        Box::new(move || {
            let mut queue = shared.0.lock().unwrap();
            while queue.open > 0 {
                let Some(size) = queue.jobs.pop_front() else {
                    queue = shared.1.wait(queue).unwrap();
                    continue;
                };
                drop(queue);
                queue = shared.0.lock().unwrap();
                if size > 1 {
                    queue.jobs.push_back(0);
                    queue.open += 1;
                    shared.1.notify_one();
                }
                queue.open -= 1;
            }
            shared.1.notify_all();
        })
    }));
}

/// Threads count, and use a value that whoever comes first computes from the count.
pub(crate) fn once(threads: usize) {
    let (value, count) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    run_all((0..threads).map(|_| -> Body {
        let (value, count) = (value.clone(), count.clone());
        Box::new(move || {
            count.fetch_add(1, SeqCst);
            let first = *value.get_or_init(|| count.load(SeqCst));
            for _ in first..2 {
                count.fetch_add(1, SeqCst);
            }
        })
    }));
}

/// Threads raise a number to `limit` in steps of their own: how often depends on the others.
pub(crate) fn climb(threads: usize, limit: usize) {
    let height = Arc::new(AtomicUsize::new(0));
    run_all((0..threads).map(|i| -> Body {
        let height = height.clone();
        Box::new(move || while height.fetch_add(i + 1, SeqCst) < limit {})
    }));
}

/// Threads meet at a barrier between phases, in which they count differently often.
pub(crate) fn phases(threads: usize, phases: usize) {
    let (barrier, count) = (Arc::new(Barrier::new(threads)), Arc::new(AtomicUsize::new(0)));
    run_all((0..threads).map(|i| -> Body {
        let (barrier, count) = (barrier.clone(), count.clone());
        Box::new(move || {
            for phase in 0..phases {
                for _ in 0..(i + phase) % 2 + 1 {
                    count.fetch_add(1, SeqCst);
                }
                if barrier.wait().is_leader() {
                    count.fetch_add(1, SeqCst);
                }
            }
        })
    }));
}

/// Users of three permits: every other one takes two, and gives up if there is no second.
pub(crate) fn permits(users: usize, rounds: usize) {
    let permits = Arc::new(Semaphore::new(3));
    run_all((0..users).map(|i| -> Body {
        let permits = permits.clone();
        Box::new(move || {
            for _ in 0..rounds {
                permits.acquire();
                let held = 1 + usize::from(i % 2 == 0 && permits.try_acquire());
                permits.release(held);
            }
        })
    }));
}

/// Threads move money between accounts; the pairs look random, and what is not there is not moved.
pub(crate) fn bank(threads: usize, transfers: usize, accounts: usize, seed: u64) {
    let all: Arc<Vec<_>> = Arc::new((0..accounts).map(|_| Mutex::new(1)).collect());
    let mut seed = seed;
    let plans: Vec<Vec<(usize, usize, usize)>> = (0..threads)
        .map(|_| {
            let one = |_| {
                let from = next(&mut seed) % accounts;
                (from, (from + 1 + next(&mut seed) % (accounts - 1)) % accounts, 1 + next(&mut seed) % 2)
            };
            (0..transfers).map(one).collect()
        })
        .collect();
    run_all(plans.into_iter().map(|plan| -> Body {
        let all = all.clone();
        Box::new(move || {
            for (from, to, amount) in plan {
                if *all[from].lock().unwrap() < amount {
                    continue;
                }
                let (mut low, mut high) = (all[from.min(to)].lock().unwrap(), all[from.max(to)].lock().unwrap());
                let (source, sink) = if from < to { (&mut low, &mut high) } else { (&mut high, &mut low) };
                if **source >= amount {
                    **source -= amount;
                    **sink += amount;
                }
            }
        })
    }));
}

/// Threads run for leader. The winner writes to each follower's place, and followers look whether it has.
pub(crate) fn election(threads: usize) {
    let (leader, places) = (Arc::new(AtomicUsize::new(0)), cells(threads));
    run_all((0..threads).map(|i| -> Body {
        let (leader, places) = (leader.clone(), places.clone());
        Box::new(move || {
            if leader.compare_exchange(0, i + 1, SeqCst, SeqCst).is_ok() {
                places.iter().for_each(|place| place.store(i + 1, SeqCst));
            } else if places[i].load(SeqCst) == 0 {
                places[leader.load(SeqCst) - 1].fetch_add(1, SeqCst);
            }
        })
    }));
}

/// A thread that sees a flag at one moment only does `work` steps more, against a thread that counts all the while.
pub(crate) fn rare(moment: usize, work: usize) {
    let (clock, count) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let ticks: Body = {
        let (clock, count) = (clock.clone(), count.clone());
        Box::new(move || {
            for _ in 0..2 * moment {
                clock.fetch_add(1, SeqCst);
            }
            for _ in 0..work {
                count.fetch_add(1, SeqCst);
            }
        })
    };
    let looks: Body = Box::new(move || {
        if clock.load(SeqCst) == moment && clock.load(SeqCst) == moment + 1 {
            for _ in 0..work {
                count.fetch_add(1, SeqCst);
            }
        }
    });
    run_all([ticks, looks]);
}

/// Threads insert keys into a table of locked buckets; two keys of one bucket make a thread go on to the next.
pub(crate) fn table(threads: usize, keys: usize, buckets: usize, seed: u64) {
    let all: Arc<Vec<_>> = Arc::new((0..buckets).map(|_| Mutex::new(None)).collect());
    let mut seed = seed;
    let plans: Vec<Vec<usize>> = (0..threads).map(|_| (0..keys).map(|_| next(&mut seed)).collect()).collect();
    run_all(plans.into_iter().map(|keys| -> Body {
        let all = all.clone();
        Box::new(move || {
            for key in keys {
                for step in 0..2 {
                    let mut bucket = all[(key + step) % all.len()].lock().unwrap();
                    if bucket.is_none() || *bucket == Some(key) {
                        *bucket = Some(key);
                        break;
                    }
                }
            }
        })
    }));
}

/// A writer changes two words under a version number; readers try again, at most twice, if it changed meanwhile.
pub(crate) fn versions(readers: usize, writes: usize) {
    let words = cells(3);
    let read = (0..readers).map(|_| -> Body {
        let words = words.clone();
        Box::new(move || {
            for _ in 0..2 {
                let before = words[0].load(SeqCst);
                if before % 2 == 1 {
                    continue;
                }
                let seen = (words[1].load(SeqCst), words[2].load(SeqCst));
                if words[0].load(SeqCst) == before {
                    assert_eq!(seen.0, seen.1);
                    return;
                }
            }
        })
    });
    let write: Body = {
        let words = words.clone();
        Box::new(move || {
            for _ in 0..writes {
                words.iter().for_each(|word| {
                    word.fetch_add(1, SeqCst);
                });
                words[0].fetch_add(1, SeqCst);
            }
        })
    };
    run_all(read.chain([write]).collect::<Vec<_>>());
}

/// Threads add a number they choose, as often as they chose.
pub(crate) fn choices(threads: usize, options: usize) {
    let sum = Arc::new(AtomicUsize::new(0));
    run_all((0..threads).map(|_| -> Body {
        let sum = sum.clone();
        Box::new(move || {
            let pick = ordain::choose(options);
            for _ in 0..pick {
                sum.fetch_add(pick, SeqCst);
            }
        })
    }));
}
