//! Descriptors on which threads of the program wait for each other: pipes, sockets, events, timers, locks on files.
//!
//! No call blocks the carrier. Ends that are connected share one object of the model; its word has a few bits for each end that say what
//! the end is ready for. They are asked from the kernel after each operation and told to the model; a call that would block waits for
//! its bits, and then makes the system call, which does not block any more. Files, terminals and everything that is connected to other
//! processes go straight through. Reads and writes inside the C library (`fgets`, `printf`) are not seen.

mod addresses;
mod elsewhere;
mod endpoints;
mod fifo;
mod files;
mod hosts;
mod identity;
mod interests;
mod outside;
mod pins;
mod polling;
mod ports;
mod queues;
mod selecting;
mod sockets;
mod timers;
mod transfer;

use crate::engine::{self, engine, step};
use crate::link::control;
use crate::objects;
use crate::process::note_descriptor;
use crate::real::c_result;
use crate::sys::{self, call};
use crate::time;
use crate::unmodelled::{self, Unmodelled};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use libc::{EAGAIN, pollfd};
use ordain_model::{Member, ObjectId, ObjectKind, Operation, Outcome, ThreadId, Wait};

pub use elsewhere::look_outside;
pub use endpoints::raw_close;
pub use files::raw_open;
pub use ports::stand_in;
pub use queues::{adopt_queue, queue_changed, queue_object};
pub use transfer::{raw_read, raw_read_many, raw_write, raw_write_many};

/// What an end is ready for: reading, writing, its end or an error, and the rest.
const IN: u64 = 1;
const OUT: u64 = 2;
const HUP: u64 = 4;
const OTHER: u64 = 8;
/// Bits of an end.
const WIDTH: usize = 4;
/// Most ends of one object; the bits above theirs tell who has opened a FIFO.
const MOST_ENDS: usize = 12;
/// An operation that may change anything about any end.
const ANY: u64 = u64::MAX;
/// Where objects are said to be that no call makes: bound addresses, and all sockets for datagrams.
const ADDRESSES: u64 = 2;
const DATAGRAMS: u64 = 3;

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pipe,
    Socket,
    Listener,
    Event,
    Timer,
    /// Number of the poll set.
    Epoll(usize),
    /// A device that gives random bytes.
    Random,
    /// Leads out of the program; its number.
    Outside(usize),
    /// A copy of a file of the kernel's, and who opened it.
    Frozen(ThreadId),
    /// A FIFO or a pipe that is open for reading and writing.
    Fifo,
    /// A queue for messages (`mq_open`), which is only polled here.
    Queue,
    /// Standard output (0) or standard error (1), if what is written there is compared.
    Output(usize),
}

/// What is known of a descriptor.
#[derive(Clone, Copy)]
struct Entry {
    kind: Kind,
    /// The group that it belongs to, if it is connected to one.
    group: Option<usize>,
    /// Which end of the group.
    end: usize,
    /// Carries bytes, not messages.
    stream: bool,
    /// How long it waits to receive and to send, in nanoseconds; for ever if zero.
    limits: [u64; 2],
}

impl Entry {
    fn new(kind: Kind) -> Self {
        Self { kind, group: None, end: 0, stream: true, limits: [0; 2] }
    }
}

/// Ends that are connected, and the object that stands for them.
struct Group {
    object: ObjectId,
    /// The descriptors of each end.
    ends: Vec<Vec<c_int>>,
    /// What is delivered may take a moment.
    slow: bool,
    /// Of a listener: connections that were not accepted yet, and how many there may be.
    queue: Vec<usize>,
    backlog: usize,
    /// Of a listener: its address, and the file if that is a name.
    address: Vec<u8>,
    file: Option<addresses::Identity>,
    listens: bool,
    /// Of a timer: when it expires and how often after that, and whether it has.
    timer: Option<(u64, u64)>,
    expired: u64,
    times: bool,
    /// Of a timer: how often it was set.
    setting: u32,
    /// Of a FIFO: how often it was opened for reading and for writing.
    openings: Option<[u32; 2]>,
}

/// Everything about descriptors; nothing of it survives an execution.
#[derive(Default)]
struct Descriptors {
    entries: Vec<Option<Entry>>,
    groups: Vec<Group>,
    epolls: Vec<polling::Epoll>,
    /// Sets that were polled before.
    sets: Vec<polling::Set>,
    /// What calls hold.
    pins: Vec<pins::Pin>,
    addresses: Option<ObjectId>,
    /// Sockets that were given an address.
    bound: Vec<addresses::Bound>,
    outsides: Vec<outside::Outside>,
    outside: Option<ObjectId>,
    /// Says what has gone out.
    sent: u64,
    datagrams: Option<usize>,
    /// Queues for messages, and their groups.
    queues: Vec<(u64, usize)>,
    /// FIFOs by device and number, and their groups.
    fifos: Vec<((u64, u64), usize)>,
    /// Descriptors that were sent and that nobody has received yet.
    flying: Vec<transfer::Flying>,
    /// A child process has everything too.
    shared: bool,
    /// What was known then of descriptors, by number: the object of their pipe or connection.
    adrift: Vec<(c_int, ObjectId)>,
    /// Threads that wait for other processes.
    waiters: Vec<elsewhere::Waiter>,
    /// A socket has an owner, who would get signals.
    owned: bool,
}

/// In the runtime's heap, so that children of the process in fork mode use the same memory one after the other.
static mut DESCRIPTORS: *mut Descriptors = core::ptr::null_mut();

fn descriptors() -> &'static mut Descriptors {
    // SAFETY: made before the program begins; only the carrier comes here, and no reference is kept across a step.
    unsafe { &mut *DESCRIPTORS }
}

/// Makes what is needed, once.
pub fn prepare() {
    let descriptors = Box::new(Descriptors::default());
    // SAFETY: only the carrier comes here.
    unsafe { DESCRIPTORS = Box::into_raw(descriptors) };
}

/// Begins an execution: only files are open.
pub fn begin() {
    pins::begin();
    let d = descriptors();
    d.entries.clear();
    d.groups.clear();
    d.epolls.clear();
    d.sets.clear();
    d.outsides.clear();
    d.fifos.clear();
    d.bound.clear();
    d.queues.clear();
    d.flying.clear();
    d.adrift.clear();
    (d.shared, d.owned) = (false, false);
    d.waiters.clear();
    (d.addresses, d.datagrams, d.outside, d.sent) = (None, None, None, 0);
    if control().compare_output.load(Relaxed) != 0 {
        d.entries.resize(3, None);
        (d.entries[1], d.entries[2]) = (Some(Entry::new(Kind::Output(0))), Some(Entry::new(Kind::Output(1))));
    }
}

/// A child process has everything too: from now on others may read and write, and the kernel alone knows. Queues of messages have names, so
/// that others could use them before.
pub fn share() {
    let d = descriptors();
    for (fd, entry) in (0..).zip(&mut d.entries) {
        if let Some(group) = entry.take_if(|e| e.kind != Kind::Queue).and_then(|e| e.group) {
            d.adrift.retain(|(known, _)| *known != fd);
            d.adrift.push((fd, d.groups[group].object));
        }
    }
    d.shared = true;
}

/// The object of the pipe or connection that a number led to when a child process got it too.
pub fn adrift_object(fd: c_int) -> Option<ObjectId> {
    descriptors().adrift.iter().find(|(known, _)| *known == fd).map(|(_, object)| *object)
}

/// The objects of everything that is open and on which threads may wait for each other.
pub fn all_objects() -> impl Iterator<Item = ObjectId> {
    let d = descriptors();
    d.groups.iter().map(|group| group.object).chain(d.epolls.iter().map(polling::Epoll::object))
}

/// Whether only the kernel knows what becomes of a descriptor, because a child process has or had it too. Files have objects of their own,
/// and what is printed is not compared.
pub fn is_adrift(fd: c_int) -> bool {
    descriptors().shared
        && entry(fd).is_none()
        && !matches!(fd, 1 | 2)
        && !matches!(file_kind(fd), libc::S_IFREG | libc::S_IFDIR | libc::S_IFCHR)
}

/// Orders the use of descriptors that only the kernel knows any more.
fn order_adrift(fds: &[c_int]) {
    if !engine().is_alone() {
        fds.iter().filter(|fd| is_adrift(**fd)).for_each(|fd| crate::files::order_use(*fd));
    }
}

/// Whether a descriptor is of a file of the kernel's. Its text is a copy that is the reader's own, and how long it is depends on the mode, so
/// reading it is no step; threads that share such a descriptor are not followed.
pub fn is_frozen(fd: c_int) -> bool {
    let Some(Entry { kind: Kind::Frozen(owner), .. }) = entry(fd) else { return false };
    if owner != engine().me() {
        unmodelled::note_if_shared(Unmodelled::KernelFiles);
    }
    true
}

/// The object of a descriptor and of what it is connected with.
pub fn object(fd: c_int) -> Option<ObjectId> {
    entry(fd)?.group.map(object_of)
}

/// Whether a descriptor is one on which threads may wait for each other.
pub fn is_known(fd: c_int) -> bool {
    entry(fd).is_some_and(|e| e.group.is_some())
}

fn entry(fd: c_int) -> Option<Entry> {
    descriptors().entries.get(usize::try_from(fd).ok()?).copied().flatten()
}

fn entry_mut(fd: c_int) -> Option<&'static mut Entry> {
    descriptors().entries.get_mut(usize::try_from(fd).ok()?)?.as_mut()
}

/// Notes what a new descriptor is.
fn insert(fd: c_int, entry: Entry) {
    let Ok(index) = usize::try_from(fd) else { return };
    note_descriptor(fd);
    let d = descriptors();
    if d.entries.len() <= index {
        d.entries.resize(index + 1, None);
    }
    d.entries[index] = Some(entry);
    if let Some(group) = entry.group.and_then(|g| d.groups.get_mut(g)) {
        if group.ends.len() <= entry.end {
            group.ends.resize_with(entry.end + 1, Vec::new);
        }
        group.ends[entry.end].push(fd);
    }
}

/// Forgets a descriptor that was closed.
fn remove(fd: c_int) {
    let d = descriptors();
    let Some(entry) = entry(fd) else {
        if d.shared {
            // Threads may still wait for what it was before.
            d.groups.iter_mut().flat_map(|g| &mut g.ends).for_each(|fds| fds.retain(|f| *f != fd));
        }
        return;
    };
    d.entries[fd as usize] = None;
    if let Some(group) = entry.group.and_then(|g| d.groups.get_mut(g)) {
        group.ends[entry.end].retain(|f| *f != fd);
    }
    for epoll in &mut d.epolls {
        epoll.forget(fd);
    }
}

/// A new group, made by the running thread.
fn new_group(object: ObjectId) -> usize {
    let d = descriptors();
    d.groups.push(Group {
        object,
        ends: Vec::new(),
        slow: false,
        queue: Vec::new(),
        backlog: 0,
        address: Vec::new(),
        file: None,
        listens: false,
        timer: None,
        expired: 0,
        times: false,
        setting: 0,
        openings: None,
    });
    d.groups.len() - 1
}

/// A new group with an object of its own.
fn create_group() -> usize {
    new_group(objects::create(0, ObjectKind::Descriptor, 0))
}

fn object_of(group: usize) -> ObjectId {
    descriptors().groups[group].object
}

/// Orders what follows with everything else that is done to an object, and with what poll sets tell of it.
fn change(object: ObjectId) {
    let set = objects::set_of(&[(object, Member::WRITE | Member::TELL)]);
    step(Operation::Access { set, looks: false });
}

/// What poll says of a descriptor, as bits of its end.
fn bits(events: i16) -> u64 {
    let has = |mask: i16, bit: u64| if events & mask != 0 { bit } else { 0 };
    has(libc::POLLIN | libc::POLLRDNORM, IN)
        | has(libc::POLLOUT | libc::POLLWRNORM, OUT)
        | has(libc::POLLHUP | libc::POLLERR | libc::POLLNVAL, HUP)
        | has(libc::POLLPRI | libc::POLLRDHUP, OTHER)
}

/// Asks the kernel what a descriptor is ready for, waiting at most some milliseconds.
pub fn ask(fd: c_int, events: i16, milliseconds: c_int) -> i16 {
    let mut poll = pollfd { fd, events, revents: 0 };
    // SAFETY: one structure of our own.
    unsafe { call!(libc::SYS_poll, &raw mut poll, 1, milliseconds) };
    poll.revents
}

const ALL: i16 = libc::POLLIN | libc::POLLOUT | libc::POLLPRI | libc::POLLRDHUP;

/// The word of a group, as the kernel has it.
fn value(number: usize) -> u64 {
    let d = descriptors();
    let group = &d.groups[number];
    if group.times {
        return timers::value_of(group);
    }
    let mut word = 0;
    for (end, fds) in group.ends.iter().enumerate().take(MOST_ENDS) {
        // Who still waits at an end that was closed shall see that.
        let ready = fds.first().map_or(HUP, |fd| bits(ask(*fd, ALL, 0)));
        word |= ready << (WIDTH * end);
    }
    if let Some(openings) = group.openings {
        word |= fifo::turns(openings);
    }
    if group.listens {
        word = word & !OUT | if group.queue.len() <= group.backlog { OUT } else { 0 };
    }
    word
}

/// Whether something is ready that the model does not know of: the program has used a descriptor behind our back, by stdio.
pub fn is_behind() -> bool {
    (0..descriptors().groups.len()).any(is_group_behind)
}

/// Whether descriptors are in messages that nobody has received.
pub fn are_sent() -> bool {
    !descriptors().flying.is_empty()
}

/// Whether a group is ready for something that the model does not know of.
fn is_group_behind(group: usize) -> bool {
    /// Bits above say who has opened a FIFO.
    const READY: u64 = (1 << (WIDTH * MOST_ENDS)) - 1;
    value(group) & READY & !engine().arbiter.value(object_of(group)) != 0
}

/// Tells the model what a group is ready for, after a step that may have changed anything.
fn refresh(group: usize) {
    refresh_after(group, ANY);
}

/// Tells the model what a group is ready for, after a step that waited for these bits; and the poll sets that the step may have
/// given something to.
fn refresh_after(group: usize, mask: u64) {
    let value = value(group);
    tell(object_of(group), value);
    polling::tell_watchers(group, mask);
}

fn tell(object: ObjectId, value: u64) {
    if engine().arbiter.value(object) != value {
        engine().set_value(object, value);
    }
}

/// Lets something arrive at the other ends that was sent to them, if that may take a moment.
fn settle(number: usize, end: usize, events: i16) {
    let group = &descriptors().groups[number];
    if group.slow {
        let others = group.ends.iter().enumerate().filter(|(e, _)| *e != end);
        for fd in others.filter_map(|(_, fds)| fds.first()) {
            ask(*fd, events, 50);
        }
    }
}

/// The kernel says that it would block although it seemed ready: waits until someone has done something.
fn stall(entry: &Entry, bits: u64) {
    if let Some(group) = entry.group {
        let object = object_of(group);
        tell(object, engine().arbiter.value(object) & !(bits << (WIDTH * entry.end)));
    }
}

/// The kind of file behind a descriptor, as the kernel tells it; zero for events and the like. An ordinary file if it is not open.
fn file_kind(fd: c_int) -> u32 {
    // SAFETY: zeroes, and a structure of our own.
    unsafe {
        let mut state: libc::stat = core::mem::zeroed();
        if call!(libc::SYS_fstat, fd, &raw mut state) == 0 { state.st_mode & libc::S_IFMT } else { libc::S_IFREG }
    }
}

/// Whether calls on a descriptor do not wait.
fn is_nonblocking(fd: c_int) -> bool {
    crate::files::use_flags(fd);
    // SAFETY: asks for flags.
    unsafe { call!(sys::SYS_fcntl, fd, libc::F_GETFL) & libc::O_NONBLOCK as isize != 0 }
}

/// How long a call on a descriptor waits to receive (0) or to send (1), in nanoseconds; for ever if zero. The kernel looks when the call begins.
fn limit(fd: c_int, which: usize) -> u64 {
    crate::files::use_limits(fd);
    pins::reached(fd).1.map_or(0, |known| known.limits[which])
}

/// Waits until an end is ready for one of these, at most so long unless zero; gives an error if it gives up.
fn await_end(entry: &Entry, bits: u64, tries: bool, limit: u64) -> Result<(), c_int> {
    let Some(group) = entry.group else { return Ok(()) };
    await_bits(object_of(group), bits << (WIDTH * entry.end), tries, limit)
}

/// Waits until an object has one of these bits, at most so long unless zero; gives an error if it gives up.
fn await_bits(object: ObjectId, mask: u64, tries: bool, limit: u64) -> Result<(), c_int> {
    let wait = match (tries, limit != 0) {
        (true, _) => Wait::Try,
        (_, true) => Wait::Timed,
        _ => Wait::Interruptible,
    };
    if wait == Wait::Timed {
        time::wait_at_most(limit.max(1));
    }
    // Calls with a limit do not go on behind handlers.
    if engine::wait(Operation::Await { object, mask, wait }, wait != Wait::Timed)? == Outcome::FAILED {
        time::advance(limit);
        return Err(EAGAIN);
    }
    Ok(())
}

fn fail(error: c_int) -> c_int {
    c_result(-error as isize) as c_int
}
