//! A program with Rust's std alone: Mutex, Condvar, RwLock, mpsc, Barrier, OnceLock, scoped threads, park, locals.
//! Its output is always the same: nothing depends on time or on who is first.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock};
use std::thread;

fn mutex() {
    let count = Arc::new(Mutex::new(0));
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let count = count.clone();
            thread::spawn(move || (0..4).for_each(|_| *count.lock().unwrap() += 1))
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    println!("mutex: {}", count.lock().unwrap());
}

fn condvar() {
    let (turn, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        for parity in 0..2 {
            let (turn, changed) = (&turn, &changed);
            scope.spawn(move || {
                for _ in 0..3 {
                    let mut turn = changed.wait_while(turn.lock().unwrap(), |turn| *turn % 2 != parity).unwrap();
                    *turn += 1;
                    changed.notify_all();
                }
            });
        }
    });
    println!("condvar: {}", turn.into_inner().unwrap());
}

fn rwlock() {
    let value = RwLock::new(vec![1]);
    let torn = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 2..5 {
                value.write().unwrap().push(i);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                // Whatever the length is, the contents fit it.
                let value = value.read().unwrap();
                let (sum, length) = (value.iter().sum::<usize>(), value.len());
                torn.fetch_add(usize::from(sum != length * (length + 1) / 2), Ordering::Relaxed);
            });
        }
    });
    println!("rwlock: {:?}, {} torn", value.into_inner().unwrap(), torn.into_inner());
}

fn channels() {
    let (sender, receiver) = channel();
    let spawn = |i| {
        let sender = sender.clone();
        thread::spawn(move || sender.send(i).unwrap())
    };
    let senders: Vec<_> = (0..3).map(spawn).collect();
    drop(sender);
    let mut all: Vec<i32> = receiver.iter().collect();
    all.sort_unstable();
    for sender in senders {
        sender.join().unwrap();
    }
    // Without a buffer, a send waits for its receive.
    let (sender, receiver) = sync_channel(0);
    let feeder = thread::spawn(move || (0..3).for_each(|i| sender.send(i).unwrap()));
    let in_order: Vec<i32> = receiver.iter().collect();
    feeder.join().unwrap();
    println!("channels: {all:?} {in_order:?}");
}

fn barrier() {
    let (barrier, leaders) = (Barrier::new(3), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..2 {
                    leaders.fetch_add(usize::from(barrier.wait().is_leader()), Ordering::Relaxed);
                }
            });
        }
    });
    println!("barrier: {} leaders", leaders.into_inner());
}

fn park() {
    let flag = Arc::new(AtomicBool::new(false));
    let other = flag.clone();
    let sleeper = thread::spawn(move || {
        while !other.load(Ordering::Acquire) {
            thread::park();
        }
        "awake"
    });
    flag.store(true, Ordering::Release);
    sleeper.thread().unpark();
    println!("park: {}", sleeper.join().unwrap());
}

fn once_and_locals() {
    static ONCE: OnceLock<usize> = OnceLock::new();
    thread_local!(static LOCAL: Cell<usize> = const { Cell::new(1) });
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        for i in 0..3 {
            let sum = &sum;
            scope.spawn(move || {
                LOCAL.set(LOCAL.get() + i);
                sum.fetch_add(LOCAL.get() * ONCE.get_or_init(|| 10), Ordering::Relaxed);
            });
        }
    });
    println!("once and locals: {} {}", sum.into_inner(), LOCAL.get());
}

fn panics() {
    // A hook without output, since the text of a panic has the number of the thread.
    std::panic::set_hook(Box::new(|_| {}));
    let shared = Arc::new(Mutex::new(0));
    let other = shared.clone();
    let result = thread::spawn(move || {
        let _guard = other.lock().unwrap();
        panic!("on purpose");
    })
    .join();
    println!("panics: {}, poisoned {}", result.is_err(), shared.is_poisoned());
}

fn main() {
    mutex();
    condvar();
    rwlock();
    channels();
    barrier();
    park();
    once_and_locals();
    panics();
}
