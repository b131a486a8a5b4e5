//! Queues and semaphores of the kernel that threads of one process may share: those of System V, and queues of POSIX.
//!
//! A call that would wait is made so that it does not; if there is nothing, its thread waits until something has been done to the queue or
//! the semaphores, and tries again. The word of such an object has one bit for that, which moves with each change. Trying again is a step of
//! its own, on all that the call touches; so is beginning anew behind a handler, since nobody serves a thread that runs one.
//!
//! Semaphores and messages of System V are handed over: whoever changes them serves those that wait already, in their order, and nobody comes
//! between. So their calls are made by the thread that serves them; a bit above those of the changes tells the thread that waits. When the
//! queue or the set is removed, all who wait are told that.

use super::{files, numbers, object};
use crate::descriptors;
use crate::engine::{self, engine, step};
use crate::kernel;
use crate::sys::{call, syscall6};
use crate::time;
use crate::unmodelled::{self, Unmodelled};
use alloc::collections::BTreeMap;
use core::ffi::c_int;
use libc::{EAGAIN, EIDRM, ETIMEDOUT, IPC_NOWAIT, IPC_RMID, sembuf, timespec};
use ordain_model::names::mix;
use ordain_model::{Member, ObjectId, Operation, Outcome, ThreadId, Wait};

/// Keys of the objects: one for all names and numbers, and one for each queue or set.
const NAMES: u64 = 0x6970_636e;
const SEMAPHORES: u64 = 0x7365_6d73;
const MESSAGES: u64 = 0x6d73_6773;
const QUEUE: u64 = 0x6d71_7565;
/// Versions that are told apart.
const VERSIONS: u32 = 32;
/// Their bits.
const VERSION: u64 = (1 << VERSIONS) - 1;
/// More operations on semaphores at a time are not looked at.
const MOST_OPERATIONS: usize = 512;
const NO_MESSAGE: isize = -(libc::ENOMSG as isize);

/// Whether a system call is about queues, semaphores or shared memory of the kernel.
pub(super) fn is_one(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_semget
            | libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_semctl
            | libc::SYS_msgget
            | libc::SYS_msgsnd
            | libc::SYS_msgrcv
            | libc::SYS_msgctl
            | libc::SYS_shmget
            | libc::SYS_shmat
            | libc::SYS_shmdt
            | libc::SYS_shmctl
            | libc::SYS_mq_open
            | libc::SYS_mq_unlink
            | libc::SYS_mq_timedsend
            | libc::SYS_mq_timedreceive
            | libc::SYS_mq_getsetattr
    )
}

/// An object that threads wait for a change of.
pub(super) fn waited(key: u64) -> ObjectId {
    object(key, || 1)
}

/// The object of all names and numbers of queues, sets and segments.
pub(super) fn all_names() -> ObjectId {
    object(NAMES, || 0)
}

/// Orders a call with all others on the same object.
fn order(object: ObjectId) {
    order_members(&[(object, Member::WRITE)]);
}

fn order_members(members: &[(ObjectId, u64)]) {
    if engine().is_alone() {
        return;
    }
    let mut members = members.to_vec();
    super::add_children(&mut members);
    let set = crate::objects::set_of(&members);
    step(Operation::Access { set, looks: false });
}

/// Orders a call on an open queue with all others on it, and with who polls it.
fn order_queue(fd: c_int, object: ObjectId) {
    super::order(|touched| {
        numbers::add_use(touched, fd);
        touched.add(object, Member::WRITE);
        if let Some(polled) = descriptors::queue_object(fd) {
            touched.add(polled, Member::WRITE | Member::TELL);
        }
    });
    numbers::learn_if_closed(fd);
}

/// Makes a call on an open queue that does not wait, as a step, until it has something or gives up.
fn retry_queue(
    (fd, events): (c_int, i16),
    Waiting { waits, limit, restarts }: Waiting,
    mut call: impl FnMut() -> isize,
) -> isize {
    numbers::look_at_numbers();
    let object = queue(fd);
    let nothing = -(if waits { ETIMEDOUT } else { EAGAIN } as isize);
    loop {
        order_queue(fd, object);
        let result = call();
        if result >= 0 {
            changed(object);
            descriptors::queue_changed(fd);
        }
        if result != nothing || !waits {
            return result;
        }
        let thread = engine().me();
        files().queue_waits.retain(|w| w.thread != thread);
        files().queue_waits.push(QueueWait { object, thread, fd, events });
        let waited = await_change(object, limit, restarts);
        files().queue_waits.retain(|w| w.thread != thread);
        if let Err(error) = waited {
            return -(error as isize);
        }
    }
}

/// A thread that waits for a queue of POSIX.
pub(super) struct QueueWait {
    object: ObjectId,
    thread: ThreadId,
    fd: c_int,
    events: i16,
}

impl QueueWait {
    /// Whether it still waits: it may have been left by a handler, or its thread may have ended.
    fn waits(&self) -> bool {
        let pending = engine().arbiter.pending(self.thread);
        pending.is_some_and(|(op, _)| matches!(op, Operation::Await { object, .. } if object == self.object))
    }
}

/// Whether threads wait for what another process may do to queues or semaphores of the kernel.
pub fn anyone_waits_for_kernel() -> bool {
    files().waiting.iter().any(Waiter::waits) || files().queue_waits.iter().any(QueueWait::waits)
}

/// Lets threads go on that wait for what another process has done meanwhile; false if there are none.
pub fn serve_from_outside() -> bool {
    for at in 0..files().waiting.len() {
        let waiter = &files().waiting[at];
        if !waiter.waits() {
            continue;
        }
        let (object, call) = (waiter.object, waiter.call);
        if call.is_handed_over() {
            // SAFETY: the call of a thread that waits.
            let result = unsafe { call.make() };
            if result != call.nothing() {
                files().waiting[at].tell(result);
                changed(object);
                return true;
            }
        // SAFETY: the same.
        } else if unsafe { call.has_room() } {
            changed(object);
            return true;
        }
    }
    for wait in files().queue_waits.iter().filter(|w| w.waits()) {
        let mut poll = libc::pollfd { fd: wait.fd, events: wait.events, revents: 0 };
        // SAFETY: asks without waiting.
        if unsafe { call!(libc::SYS_poll, &raw mut poll, 1, 0) } > 0 {
            changed(wait.object);
            return true;
        }
    }
    false
}

/// Something was changed: whoever waits looks again.
pub(super) fn changed(object: ObjectId) {
    let word = engine().arbiter.value(object);
    let next = if word >> (VERSIONS - 1) & 1 == 1 { 1 } else { (word & VERSION) << 1 };
    engine().set_value(object, word & !VERSION | next.max(1));
}

/// A call that waits for a queue or for semaphores of System V.
pub(super) struct Waiter {
    object: ObjectId,
    thread: ThreadId,
    /// The call, made so that it does not wait.
    call: Call,
    /// The bit of the object's word that tells it that it was served; the versions, if it looks again by itself.
    mask: u64,
    /// What the call comes to, once that is known.
    result: Option<isize>,
}

/// A system call of System V that does not wait.
#[derive(Clone, Copy)]
struct Call {
    number: i64,
    arguments: [usize; 6],
}

impl Call {
    /// What the kernel says if there is nothing.
    fn nothing(self) -> isize {
        if self.number == libc::SYS_msgrcv { NO_MESSAGE } else { -(EAGAIN as isize) }
    }

    /// Whether who changes the object makes it. Senders that wait for room look for themselves, and others may come before them.
    fn is_handed_over(self) -> bool {
        self.number != libc::SYS_msgsnd
    }

    unsafe fn make(self) -> isize {
        let [a, b, c, d, e, _] = self.arguments;
        let now = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: what the program asks for.
        unsafe {
            match self.number {
                // The flag to give up at once is with each operation: a limit of nothing does for all.
                libc::SYS_semtimedop => call!(libc::SYS_semtimedop, a, b, c, &raw const now),
                libc::SYS_msgsnd => call!(libc::SYS_msgsnd, a, b, c, d as c_int | IPC_NOWAIT),
                _ => call!(self.number, a, b, c, d, e as c_int | IPC_NOWAIT),
            }
        }
    }

    /// Whether a message that is to be sent has room, or would not wait for it.
    unsafe fn has_room(self) -> bool {
        let [queue, _, size, ..] = self.arguments;
        // SAFETY: zeroes are valid, and the kernel fills it in.
        unsafe {
            let mut status: libc::msqid_ds = core::mem::zeroed();
            let asked = call!(libc::SYS_msgctl, queue, libc::IPC_STAT, &raw mut status);
            asked < 0 || status.__msg_cbytes + size as u64 <= status.msg_qbytes
        }
    }

    /// The operations on semaphores.
    unsafe fn operations(self) -> &'static [sembuf] {
        let [_, b, c, ..] = self.arguments;
        if self.number != libc::SYS_semtimedop {
            return &[];
        }
        // SAFETY: the argument of a thread that waits.
        unsafe { core::slice::from_raw_parts(b as *const sembuf, c.min(MOST_OPERATIONS)) }
    }
}

impl Waiter {
    /// Whether it still waits: it may have been left by a handler, or its thread may have ended.
    fn waits(&self) -> bool {
        let pending = engine().arbiter.pending(self.thread);
        let awaits =
            |op| matches!(op, Operation::Await { object, mask, .. } if object == self.object && mask & self.mask != 0);
        self.result.is_none() && pending.is_some_and(|(op, _)| awaits(op))
    }

    /// The call has come to this.
    fn tell(&mut self, result: isize) {
        self.result = Some(result);
        if self.mask & VERSION == 0 {
            let word = engine().arbiter.value(self.object);
            engine().set_value(self.object, word | self.mask);
        }
    }
}

/// Something was changed: serves who waits, in the order in which they came.
fn serve(object: ObjectId) {
    changed(object);
    let mut at = 0;
    while at < files().waiting.len() {
        let waiter = &files().waiting[at];
        at += 1;
        if waiter.object != object || !waiter.call.is_handed_over() || !waiter.waits() {
            continue;
        }
        // SAFETY: the call of a thread that waits.
        let result = unsafe { waiter.call.make() };
        if result == waiter.call.nothing() {
            continue;
        }
        files().waiting[at - 1].tell(result);
        if result >= 0 {
            // It has changed something itself.
            at = 0;
        }
    }
}

/// The object is gone: who waits is told so.
fn remove(object: ObjectId) {
    for waiter in files().waiting.iter_mut().filter(|w| w.object == object) {
        if waiter.waits() {
            waiter.tell(-(EIDRM as isize));
        }
    }
    changed(object);
}

/// A bit of an object's word that tells nobody else anything; the versions, if there is none.
fn free_mask(object: ObjectId) -> u64 {
    let others = files().waiting.iter().filter(|w| w.object == object).fold(0, |bits, w| bits | w.mask);
    let used = others | engine().arbiter.value(object) | VERSION;
    if used == u64::MAX { VERSION } else { 1 << used.trailing_ones() }
}

/// The running thread begins to wait for what a call wants; gives the mask of the [`Waiter`].
fn begin_waiting(object: ObjectId, call: Call) -> u64 {
    let thread = engine().me();
    // A call that was served before the handler ran that makes this one still has its result to get.
    files().waiting.retain(|w| w.thread != thread || w.result.is_some());
    let mask = if call.is_handed_over() { free_mask(object) } else { VERSION };
    files().waiting.push(Waiter { object, thread, call, mask, result: None });
    mask
}

/// The running thread does not wait any more; gives what its call has come to, if that is known.
fn end_waiting(object: ObjectId, mask: u64) -> Option<isize> {
    let thread = engine().me();
    let at = files().waiting.iter().rposition(|w| (w.thread, w.object, w.mask) == (thread, object, mask))?;
    let waiter = files().waiting.remove(at);
    if waiter.mask & VERSION == 0 {
        let word = engine().arbiter.value(object);
        engine().set_value(object, word & !waiter.mask);
    }
    waiter.result
}

/// Makes a call of System V, and waits if it would.
fn make(object: ObjectId, call: Call, Waiting { waits, limit, restarts }: Waiting) -> isize {
    loop {
        order(object);
        // SAFETY: what the program asks for.
        let result = unsafe { call.make() };
        if result != call.nothing() || !waits {
            if result >= 0 {
                serve(object);
            }
            return result;
        }
        let mask = begin_waiting(object, call);
        // Of the versions, all but the present one.
        let waited = await_bits(object, mask & !(engine().arbiter.value(object) & VERSION), limit, restarts);
        if let Some(result) = end_waiting(object, mask) {
            return result;
        }
        if let Err(error) = waited {
            return -(error as isize);
        }
    }
}

/// Which of its operations a call on semaphores waits for, as these are now.
unsafe fn blocking(set: usize, operations: &[sembuf]) -> Option<&sembuf> {
    let mut values: BTreeMap<u16, i64> = BTreeMap::new();
    operations.iter().find(|operation| {
        // SAFETY: asks for a value.
        let now = || unsafe { call!(libc::SYS_semctl, set, operation.sem_num, libc::GETVAL) as i64 };
        let value = values.entry(operation.sem_num).or_insert_with(now);
        let blocks = operation.sem_op == 0 && *value != 0 || *value + i64::from(operation.sem_op) < 0;
        *value += i64::from(operation.sem_op);
        blocks
    })
}

/// How many threads wait for a semaphore of a set to be zero, or to grow.
fn count_waiting(object: ObjectId, set: usize, semaphore: usize, for_zero: bool) -> isize {
    let waiting = files().waiting.iter().filter(|w| w.object == object && w.waits());
    let counts = waiting.filter(|w| {
        // SAFETY: arguments of threads that wait.
        let operation = unsafe { blocking(set, w.call.operations()) };
        operation.is_some_and(|o| usize::from(o.sem_num) == semaphore && (o.sem_op == 0) == for_zero)
    });
    counts.count() as isize
}

/// What a command does to a queue or a set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    Asks,
    Changes,
    Removes,
    /// It is about whatever has a place in the kernel's tables.
    Unknown,
}

impl Command {
    fn of(number: i64, command: c_int) -> Self {
        let about_semaphores = number == libc::SYS_semctl;
        match command {
            IPC_RMID => Self::Removes,
            libc::IPC_STAT => Self::Asks,
            libc::IPC_SET => Self::Changes,
            libc::GETVAL | libc::GETALL | libc::GETPID | libc::GETNCNT | libc::GETZCNT if about_semaphores => {
                Self::Asks
            }
            libc::SETVAL | libc::SETALL if about_semaphores => Self::Changes,
            _ => Self::Unknown,
        }
    }
}

/// A command about a queue or a set of semaphores.
unsafe fn command(number: i64, object: ObjectId, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let what = if number == libc::SYS_semctl { c } else { b } as c_int;
    let does = Command::of(number, what);
    let counts = number == libc::SYS_semctl && matches!(what, libc::GETNCNT | libc::GETZCNT);
    match does {
        // Who gives up waiting only reads the object.
        Command::Asks if counts => order(object),
        Command::Asks => order_members(&[(object, Member::READ)]),
        Command::Changes => order(object),
        Command::Removes => order_members(&[(object, Member::WRITE), (all_names(), Member::WRITE)]),
        Command::Unknown => {
            unmodelled::note_if_shared(Unmodelled::KernelState);
            order_members(&[(object, Member::READ), (all_names(), Member::READ)]);
        }
    }
    // SAFETY: what the program asks for.
    let result = unsafe { syscall6(number, a, b, c, d, e, f) };
    match does {
        _ if result < 0 => result,
        Command::Asks if counts => count_waiting(object, a, b, what == libc::GETZCNT),
        Command::Changes => {
            serve(object);
            result
        }
        Command::Removes => {
            remove(object);
            result
        }
        _ => result,
    }
}

/// Waits for a change, at most so long unless zero; an error if it gives up. `restarts` if the call goes on behind handlers that want that:
/// it begins anew, so this returns then, too.
pub(super) fn await_change(object: ObjectId, limit: u64, restarts: bool) -> Result<(), c_int> {
    await_bits(object, VERSION & !engine().arbiter.value(object), limit, restarts)
}

/// Waits for one of these bits, as [`await_change`] does.
fn await_bits(object: ObjectId, mask: u64, limit: u64, restarts: bool) -> Result<(), c_int> {
    let wait = if limit != 0 { Wait::Timed } else { Wait::Interruptible };
    if wait == Wait::Timed {
        time::wait_at_most(limit);
    }
    loop {
        return match engine::wait_once(Operation::Await { object, mask, wait }, restarts)? {
            Some(Outcome::FAILED) => {
                time::advance(limit);
                Err(ETIMEDOUT)
            }
            // It was served before the handler ran.
            None if mask & VERSION == 0 && engine().arbiter.value(object) & mask != 0 => continue,
            _ => Ok(()),
        };
    }
}

/// How a call waits.
#[derive(Clone, Copy)]
struct Waiting {
    /// Whether it does.
    waits: bool,
    /// At most so long, unless zero.
    limit: u64,
    /// Whether it goes on behind handlers that want that: calls on queues of POSIX do, those of System V never.
    restarts: bool,
}

/// How long until a time of the program's, or how long it is.
unsafe fn span(time: *const timespec, absolute: bool) -> Option<u64> {
    // SAFETY: the program's argument.
    let time = unsafe { time.as_ref() }?;
    let whole = (time.tv_sec.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.max(0) as u64);
    Some(if absolute { whole.saturating_sub(time::now()) } else { whole })
}

/// Makes such a call.
pub(super) unsafe fn system_call(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let waited = |kind: u64| waited(identity(kind, a as u64));
    // SAFETY: what the program asks for.
    unsafe {
        match number {
            libc::SYS_semop | libc::SYS_semtimedop => {
                let call = Call { number: libc::SYS_semtimedop, arguments };
                let waits = !call.operations().iter().any(|o| o.sem_flg & IPC_NOWAIT as i16 != 0);
                let limit = if number == libc::SYS_semtimedop { span(d as *const timespec, false) } else { None };
                let waiting = Waiting { waits: waits && limit != Some(0), limit: limit.unwrap_or(0), restarts: false };
                let result = make(waited(SEMAPHORES), call, waiting);
                if result == -(ETIMEDOUT as isize) { -(EAGAIN as isize) } else { result }
            }
            libc::SYS_semctl => command(number, waited(SEMAPHORES), arguments),
            libc::SYS_msgctl => command(number, waited(MESSAGES), arguments),
            libc::SYS_msgsnd | libc::SYS_msgrcv => {
                let flags = if number == libc::SYS_msgsnd { d } else { e } as c_int;
                let waiting = Waiting { waits: flags & IPC_NOWAIT == 0, limit: 0, restarts: false };
                make(waited(MESSAGES), Call { number, arguments }, waiting)
            }
            libc::SYS_mq_timedsend | libc::SYS_mq_timedreceive => {
                let flags = call!(libc::SYS_fcntl, a, libc::F_GETFL);
                let waits = flags >= 0 && flags & libc::O_NONBLOCK as isize == 0;
                let limit = span(e as *const timespec, true);
                // A time that is over: the kernel gives up at once.
                let past = timespec { tv_sec: 0, tv_nsec: 0 };
                let waiting = Waiting { waits: waits && limit != Some(0), limit: limit.unwrap_or(0), restarts: true };
                let events = if number == libc::SYS_mq_timedsend { libc::POLLOUT } else { libc::POLLIN };
                retry_queue((a as c_int, events), waiting, || call!(number, a, b, c, d, &raw const past))
            }
            libc::SYS_mq_getsetattr => {
                numbers::look_at_numbers();
                order_queue(a as c_int, queue(a as c_int));
                syscall6(number, a, b, c, d, e, f)
            }
            libc::SYS_shmat => {
                unmodelled::note_if_shared(Unmodelled::SharedMemory);
                order(all_names());
                kernel::make(number, [a, b, c, d, e, f])
            }
            libc::SYS_mq_open => {
                numbers::look_at_numbers();
                super::order(|touched| {
                    touched.add(all_names(), Member::WRITE);
                    numbers::add_table(touched);
                    super::state::add_mask(touched);
                });
                open(number, arguments)
            }
            _ => {
                order(all_names());
                open(number, arguments)
            }
        }
    }
}

/// Makes a call that opens or makes something, and takes down what it gives.
unsafe fn open(number: i64, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    // SAFETY: what the program asks for.
    unsafe {
        let result = syscall6(number, a, b, c, d, e, f);
        match number {
            libc::SYS_semget if result >= 0 => meet(SEMAPHORES, result as u64, a as u64),
            libc::SYS_msgget if result >= 0 => meet(MESSAGES, result as u64, a as u64),
            libc::SYS_mq_open if result >= 0 => {
                let text = core::ffi::CStr::from_ptr(a as *const core::ffi::c_char).to_bytes();
                let name = text.iter().fold(1, |h, c| mix(h, u64::from(*c)));
                numbers::opened(result as c_int);
                meet(QUEUE, inode(result as c_int), name);
                descriptors::adopt_queue(result as c_int, mix(QUEUE, name));
            }
            _ => {}
        }
        result
    }
}

/// A number that the kernel has given out stands for this name of the program's. What has none is known by how many there were before.
fn meet(kind: u64, number: u64, name: u64) {
    let count = files().met.len() as u64;
    let name = if name == libc::IPC_PRIVATE as u64 { mix(count, kind) } else { name };
    files().met.entry((kind, number)).or_insert(mix(kind, name));
}

/// What a number of the kernel's stands for: a key that is the same in every execution.
fn identity(kind: u64, number: u64) -> u64 {
    files().met.get(&(kind, number)).copied().unwrap_or_else(|| mix(kind, number))
}

fn inode(fd: c_int) -> u64 {
    // SAFETY: zeroes are valid, and the kernel fills it in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        if call!(libc::SYS_fstat, fd, &raw mut status) < 0 { 0 } else { status.st_ino }
    }
}

/// The object of an open queue.
fn queue(fd: c_int) -> ObjectId {
    waited(identity(QUEUE, inode(fd)))
}
