//! Outside a check every type behaves as std's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordain::cell::UnsafeCell;
use ordain::sync::atomic::{AtomicBool, AtomicI8, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use ordain::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError, channel, sync_channel};
use ordain::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore, TryLockError, Weak};
use ordain::thread;
use ordain::time::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(60);

/// Runs `f`, which panics, without the message.
fn panics<T>(f: impl FnOnce() -> T) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().map_or_else(String::new, |text| (*text).to_owned()),
    }
}

#[test]
fn mutex_excludes() {
    let mutex = std::sync::Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mutex = mutex.clone();
            thread::spawn(move || (0..1000).for_each(|_| *mutex.lock().unwrap() += 1))
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*mutex.lock().unwrap(), 4000);
    assert_eq!(std::sync::Arc::into_inner(mutex).unwrap().into_inner().unwrap(), 4000);
}

#[test]
fn mutex_attempts_fail_while_it_is_held() {
    let mutex = Mutex::from(1);
    let guard = mutex.lock().unwrap();
    thread::scope(|s| {
        s.spawn(|| {
            assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
            assert!(matches!(mutex.try_lock_for(SHORT), Err(TryLockError::WouldBlock)));
            assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked>, poisoned: false, .. }");
        });
    });
    drop(guard);
    assert_eq!(*mutex.try_lock().unwrap(), 1);
    assert_eq!(*mutex.try_lock_for(LONG).unwrap(), 1);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 1, poisoned: false, .. }");
}

#[test]
fn mutex_is_poisoned_by_a_panic_of_its_holder() {
    let mut mutex = Mutex::new(1);
    panics(|| {
        let _guard = mutex.lock();
        panic!("held");
    });
    assert!(mutex.is_poisoned());
    assert_eq!(**mutex.lock().unwrap_err().get_ref(), 1);
    assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
    assert!(mutex.get_mut().is_err());
    mutex.clear_poison();
    assert!(!mutex.is_poisoned());
    assert!(mutex.lock().is_ok());
    // A lock taken and released while the thread unwinds is not poisoned.
    struct Locks<'a>(&'a Mutex<i32>);
    impl Drop for Locks<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    panics(|| {
        let _locks = Locks(&mutex);
        panic!("not held");
    });
    assert_eq!(mutex.into_inner().unwrap(), 2);
}

#[test]
fn locks_hold_unsized_values() {
    let mutex: Box<Mutex<[i32]>> = Box::new(Mutex::new([1, 2, 3]));
    mutex.lock().unwrap()[1] = 5;
    assert_eq!(*mutex.lock().unwrap(), [1, 5, 3]);
    let rwlock: std::sync::Arc<RwLock<dyn std::fmt::Debug>> = std::sync::Arc::new(RwLock::new(7));
    assert_eq!(format!("{:?}", rwlock.read().unwrap()), "7");
}

#[test]
fn rwlock_has_many_readers_or_one_writer() {
    let lock = RwLock::new(1);
    let (first, second) = (lock.read().unwrap(), lock.read().unwrap());
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    assert!(matches!(lock.try_write_for(SHORT), Err(TryLockError::WouldBlock)));
    drop((first, second));
    let mut writer = lock.write().unwrap();
    *writer = 2;
    assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
    assert!(matches!(lock.try_read_for(SHORT), Err(TryLockError::WouldBlock)));
    drop(writer);
    assert_eq!(*lock.try_read_for(LONG).unwrap(), 2);
    panics(|| {
        let _guard = lock.read();
        panic!("reading");
    });
    assert!(!lock.is_poisoned());
    panics(|| {
        let _guard = lock.write();
        panic!("writing");
    });
    assert!(lock.is_poisoned());
    assert!(lock.read().is_err());
    lock.clear_poison();
    assert_eq!(lock.into_inner().unwrap(), 2);
}

#[test]
fn condvar_wakes_and_expires() {
    static READY: Mutex<bool> = Mutex::const_new(false);
    static CHANGED: Condvar = Condvar::const_new();
    let (guard, result) = CHANGED.wait_timeout(READY.lock().unwrap(), SHORT).unwrap();
    assert!(!*guard);
    assert!(result.timed_out());
    let (guard, result) = CHANGED.wait_timeout_while(guard, SHORT, |ready| !*ready).unwrap();
    assert!(result.timed_out());
    drop(guard);
    let waiter = thread::spawn(|| *CHANGED.wait_while(READY.lock().unwrap(), |ready| !*ready).unwrap());
    *READY.lock().unwrap() = true;
    CHANGED.notify_all();
    assert!(waiter.join().unwrap());
    let (_, result) = CHANGED.wait_timeout_while(READY.lock().unwrap(), LONG, |ready| !*ready).unwrap();
    assert!(!result.timed_out());
}

#[test]
fn condvar_gives_the_poison_of_the_mutex() {
    let (waiting, condvar) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        let waiter = s.spawn(|| {
            let mut guard = waiting.lock().unwrap();
            *guard = true;
            condvar.wait_while(guard, |waiting| *waiting).is_err()
        });
        while !*waiting.lock().unwrap() {
            thread::yield_now();
        }
        panics(|| {
            let mut guard = waiting.lock().unwrap();
            *guard = false;
            panic!("held");
        });
        condvar.notify_one();
        assert!(waiter.join().unwrap());
    });
    waiting.clear_poison();
    assert!(condvar.wait_timeout(waiting.lock().unwrap(), SHORT).is_ok());
}

#[test]
fn barrier_has_one_leader() {
    let barrier = Barrier::new(3);
    let leaders = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| leaders.fetch_add(barrier.wait().is_leader().into(), Ordering::Relaxed));
        }
    });
    assert_eq!(leaders.into_inner(), 1);
    assert!(Barrier::new(0).wait().is_leader());
}

#[test]
fn semaphore_counts() {
    static SEMAPHORE: Semaphore = Semaphore::const_new(1);
    SEMAPHORE.acquire();
    assert!(!SEMAPHORE.try_acquire());
    assert!(!SEMAPHORE.acquire_timeout(SHORT));
    let waiter = thread::spawn(|| SEMAPHORE.acquire());
    SEMAPHORE.release(2);
    waiter.join().unwrap();
    assert!(SEMAPHORE.acquire_timeout(LONG));
    assert!(!SEMAPHORE.try_acquire());
}

#[test]
fn once_runs_once_and_is_poisoned() {
    static ONCE: Once = Once::const_new();
    let mut runs = 0;
    ONCE.call_once(|| runs += 1);
    ONCE.call_once(|| runs += 1);
    assert_eq!(runs, 1);
    assert!(ONCE.is_completed());

    let once = Once::new();
    panics(|| once.call_once(|| panic!("initialising")));
    assert!(!once.is_completed());
    assert!(panics(|| once.call_once(|| ())).contains("poisoned"));
    once.call_once_force(|state| assert!(state.is_poisoned()));
    assert!(once.is_completed());
}

#[test]
fn once_lock_is_written_once() {
    static CELL: OnceLock<String> = OnceLock::const_new();
    assert_eq!(CELL.get(), None);
    panics(|| CELL.get_or_init(|| panic!("initialising")));
    assert_eq!(CELL.get_or_init(|| "first".to_owned()), "first");
    assert_eq!(CELL.set("second".to_owned()), Err("second".to_owned()));
    assert_eq!(format!("{CELL:?}"), "OnceLock(\"first\")");

    let mut cell = OnceLock::from(1);
    *cell.get_mut().unwrap() += 1;
    assert_eq!(cell, cell.clone());
    assert_eq!(cell.take(), Some(2));
    assert_eq!(cell.get_mut(), None);
    assert_eq!(cell.set(3), Ok(()));
    assert_eq!(cell.into_inner(), Some(3));
    assert_eq!(format!("{:?}", OnceLock::<u8>::new()), "OnceLock(<uninit>)");
}

#[test]
fn lazy_lock_is_made_at_first_use() {
    static LAZY: LazyLock<Mutex<Vec<u32>>> = LazyLock::const_new(|| Mutex::new(vec![1]));
    LAZY.lock().unwrap().push(2);
    assert_eq!(*LAZY.lock().unwrap(), [1, 2]);

    let captured = "text".to_owned();
    let lazy = LazyLock::new(move || captured);
    assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
    assert_eq!(LazyLock::force(&lazy), "text");
    assert_eq!(*LazyLock::<u8>::default(), 0);

    static PANICS: LazyLock<u8> = LazyLock::const_new(|| panic!("first"));
    assert_eq!(panics(|| *PANICS), "first");
    assert!(panics(|| *PANICS).contains("poisoned"));
    let lazy = LazyLock::<u8, _>::new(|| panic!("first"));
    assert_eq!(panics(|| *lazy), "first");
    assert!(panics(|| *lazy).contains("poisoned"));
}

#[test]
fn arc_counts_references() {
    let mut arc = Arc::new(vec![1]);
    assert_eq!((Arc::strong_count(&arc), Arc::weak_count(&arc)), (1, 0));
    Arc::get_mut(&mut arc).unwrap().push(2);
    let weak = Arc::downgrade(&arc);
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
    assert!(Arc::get_mut(&mut arc).is_none());
    let other = weak.upgrade().unwrap();
    assert!(Arc::ptr_eq(&arc, &other));
    let arc = Arc::try_unwrap(arc).unwrap_err();
    Arc::make_mut(&mut { arc }).push(3);
    assert_eq!(*other, [1, 2]);
    assert_eq!(Arc::unwrap_or_clone(other), [1, 2]);
    assert!(weak.upgrade().is_none());
    assert!(weak.clone().ptr_eq(&weak));
    assert!(Weak::<u8>::new().upgrade().is_none());
}

#[test]
fn arc_make_mut_leaves_weak_references_behind() {
    let mut arc = Arc::new(1);
    let weak = Arc::downgrade(&arc);
    *Arc::make_mut(&mut arc) += 1;
    assert!(weak.upgrade().is_none());
    assert_eq!((*arc, Arc::weak_count(&arc), Arc::into_inner(arc)), (2, 0, Some(2)));
}

#[test]
fn arc_refers_to_itself_and_to_unsized_values() {
    struct Node(Weak<Node>);
    let node = Arc::new_cyclic(|weak| Node(weak.clone()));
    assert!(Arc::ptr_eq(&node, &node.0.upgrade().unwrap()));
    let text: Arc<str> = Arc::from("text");
    assert_eq!((&*text, text.to_string().as_str()), ("text", "text"));
    let object: Arc<dyn Fn() -> u32 + Send + Sync> = Arc::from(Box::new(|| 3u32) as Box<dyn Fn() -> u32 + Send + Sync>);
    assert_eq!(object(), 3);
    assert!(Arc::new(1) < Arc::from(2));
    assert_eq!(*Arc::<[u8]>::from(vec![1, 2]), [1, 2]);
}

#[test]
fn atomics_compute_as_std() {
    static COUNT: AtomicU32 = AtomicU32::const_new(5);
    assert_eq!(COUNT.fetch_add(u32::MAX, Ordering::SeqCst), 5);
    assert_eq!(COUNT.swap(9, Ordering::AcqRel), 4);
    assert_eq!(COUNT.compare_exchange(1, 2, Ordering::SeqCst, Ordering::Relaxed), Err(9));
    assert_eq!(COUNT.compare_exchange(9, 2, Ordering::SeqCst, Ordering::Relaxed), Ok(9));
    assert_eq!(COUNT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |x| x.checked_sub(3)), Err(2));
    assert_eq!(COUNT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |x| Some(x + 1)), Ok(2));
    assert_eq!(COUNT.load(Ordering::Acquire), 3);

    let mut small = AtomicI8::new(-1);
    assert_eq!(small.fetch_nand(3, Ordering::Relaxed), -1);
    assert_eq!(small.fetch_max(7, Ordering::Relaxed), !3);
    *small.get_mut() -= 8;
    assert_eq!((format!("{small:?}"), small.into_inner()), ("-1".to_owned(), -1));

    let flag = AtomicBool::from(true);
    assert!(flag.fetch_not(Ordering::Relaxed));
    assert!(!flag.fetch_nand(true, Ordering::Relaxed));
    assert!(flag.fetch_and(false, Ordering::Relaxed));
    assert!(!flag.into_inner());

    let mut values = [1, 2];
    let pointer = AtomicPtr::new(values.as_mut_ptr());
    assert_eq!(pointer.fetch_ptr_add(1, Ordering::Relaxed), values.as_mut_ptr());
    assert_eq!(pointer.load(Ordering::Relaxed), &raw mut values[1]);
    fence(Ordering::SeqCst);
}

#[test]
fn atomics_refuse_orderings_that_do_not_exist() {
    let atomic = AtomicUsize::default();
    assert!(panics(|| atomic.load(Ordering::Release)).contains("release load"));
    assert!(panics(|| atomic.store(1, Ordering::Acquire)).contains("acquire store"));
    assert!(panics(|| atomic.compare_exchange(0, 1, Ordering::SeqCst, Ordering::AcqRel)).contains("failure"));
    assert!(panics(|| fence(Ordering::Relaxed)).contains("relaxed fence"));
}

#[test]
fn channels_deliver_in_order_and_disconnect() {
    let (sender, receiver) = channel();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    let other = sender.clone();
    thread::spawn(move || (0..3).for_each(|n| other.send(n).unwrap())).join().unwrap();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    sender.send(3).unwrap();
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [3]);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(receiver.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));

    let (sender, receiver) = channel();
    drop(receiver);
    assert_eq!(sender.send(1).unwrap_err().0, 1);
}

#[test]
fn bounded_channels_fill_up() {
    let (sender, receiver) = sync_channel(1);
    sender.send(1).unwrap();
    assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(receiver.recv(), Ok(1));
    let waiter = thread::spawn(move || (2..5).for_each(|n| sender.send(n).unwrap()));
    assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [2, 3, 4]);
    waiter.join().unwrap();
}

#[test]
fn channels_without_capacity_meet() {
    let (sender, receiver) = sync_channel(0);
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    let waiter = thread::spawn(move || {
        sender.send(2).unwrap();
        sender.send(3)
    });
    assert_eq!(receiver.recv(), Ok(2));
    drop(receiver);
    assert!(waiter.join().unwrap().is_err());
}

#[test]
fn threads_have_names_and_results() {
    let handle = thread::Builder::new()
        .name("worker".to_owned())
        .stack_size(1 << 20)
        .spawn(|| (thread::current().name().map(str::to_owned), thread::current().id()))
        .unwrap();
    let id = handle.thread().id();
    assert_eq!(handle.thread().name(), Some("worker"));
    assert_eq!(handle.join().unwrap(), (Some("worker".to_owned()), id));
    assert_ne!(id, thread::current().id());
    let payload = thread::spawn(|| panic!("text")).join().unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"text"));
    assert!(!thread::panicking());
}

#[test]
fn threads_park_and_sleep() {
    let start = Instant::now();
    thread::park_timeout(SHORT);
    thread::sleep(SHORT);
    assert!(start.elapsed() >= SHORT);
    let flag = std::sync::Arc::new(AtomicBool::new(false));
    let parked = thread::spawn({
        let flag = flag.clone();
        move || {
            while !flag.load(Ordering::Acquire) {
                thread::park();
            }
        }
    });
    flag.store(true, Ordering::Release);
    parked.thread().unpark();
    parked.join().unwrap();
    thread::yield_now();
    ordain::hint::spin_loop();
}

#[test]
fn scoped_threads_borrow_and_nest() {
    let mut values = vec![1, 2, 3];
    let count = AtomicUsize::new(0);
    let sum = thread::scope(|s| {
        s.spawn(|| {
            s.spawn(|| count.fetch_add(1, Ordering::Relaxed));
            count.fetch_add(1, Ordering::Relaxed);
        });
        let named = thread::Builder::new().name("summer".to_owned());
        let handle = named.spawn_scoped(s, || values.iter().sum::<i32>()).unwrap();
        assert_eq!(handle.thread().name(), Some("summer"));
        handle.join().unwrap()
    });
    values.push(sum);
    assert_eq!((values.as_slice(), count.into_inner()), ([1, 2, 3, 6].as_slice(), 2));
}

#[test]
fn scopes_pass_on_panics_that_nobody_joined() {
    let text = panics(|| {
        thread::scope(|s| {
            s.spawn(|| panic!("inside"));
        })
    });
    assert!(text.contains("a scoped thread panicked"));
    let joined = thread::scope(|s| s.spawn(|| panic!("inside")).join().is_err());
    assert!(joined);
}

ordain::thread_local! {
    /// Counts.
    static COUNT: Cell<u32> = const { Cell::new(1) };
    static LIST: RefCell<Vec<u32>> = RefCell::new(vec![COUNT.get()]);
    pub(crate) static TEXT: String = init()
}

/// Has the name that a macro might have used.
fn init() -> String {
    "text".to_owned()
}

#[test]
fn thread_locals_belong_to_their_thread() {
    COUNT.set(5);
    LIST.with_borrow_mut(|list| list.push(6));
    let other = thread::spawn(|| (COUNT.replace(7), LIST.take())).join().unwrap();
    assert_eq!(other, (1, vec![7]));
    assert_eq!((COUNT.take(), LIST.replace(Vec::new())), (5, vec![5, 6]));
    LIST.set(vec![1]);
    assert_eq!(LIST.with_borrow(Vec::len), 1);
    assert_eq!(TEXT.try_with(String::len), Ok(4));
}

#[test]
fn thread_locals_are_gone_after_their_end() {
    struct Last(std::sync::mpsc::Sender<bool>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.send(LAST.try_with(|_| ()).is_err()).unwrap();
        }
    }
    ordain::thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || LAST.set(Some(Last(sender)))).join().unwrap();
    assert_eq!(receiver.recv(), Ok(true));
}

#[test]
fn cells_give_access() {
    let mut cell = UnsafeCell::new(1);
    // SAFETY: no other thread uses the cell.
    cell.with_mut(|p| unsafe { *p += 1 });
    *cell.get_mut() += 1;
    // SAFETY: no other thread uses the cell.
    assert_eq!(cell.with(|p| unsafe { *p }), 3);
    assert_eq!(cell.into_inner(), 3);
}

#[test]
fn instants_are_ordered() {
    let start = Instant::now();
    let later = start + LONG;
    assert!(later > start);
    assert_eq!(later - start, LONG);
    assert_eq!(start.duration_since(later), Duration::ZERO);
    assert_eq!(start.checked_duration_since(later), None);
    assert_eq!(later - LONG, start);
}

#[test]
fn auto_traits_are_those_of_std() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Mutex<Cell<u8>>>();
    sync::<Mutex<Cell<u8>>>();
    sync::<ordain::sync::MutexGuard<'_, u8>>();
    sync::<ordain::sync::RwLockWriteGuard<'_, u8>>();
    send::<ordain::sync::mpsc::Receiver<Cell<u8>>>();
    sync::<ordain::sync::mpsc::Sender<Cell<u8>>>();
    send::<thread::JoinHandle<*const u8>>();
    sync::<thread::JoinHandle<*const u8>>();
    send::<AtomicPtr<u8>>();
    sync::<AtomicPtr<u8>>();
    sync::<LazyLock<u8, Box<dyn FnOnce() -> u8 + Send>>>();
    sync::<thread::LocalKey<*const u8>>();
    sync::<thread::Scope<'_, '_>>();
}
