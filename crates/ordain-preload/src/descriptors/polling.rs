//! Waiting for several descriptors at once: `poll` and `epoll`; `select` is built on that.
//!
//! The model waits for the bits of all ends; when one is there, the kernel is asked, without waiting, and its answer is the program's.
//! A poll set of the kernel (`epoll`) tells in which order descriptors have become ready, so whatever makes one ready writes the objects
//! of the sets that it is in. What is told once for each change (edge triggered, one shot) is known to the kernel alone: then the
//! word of the set says whether it has something to tell.

use super::{
    Entry, HUP, IN, Kind, WIDTH, bits, descriptors, elsewhere, entry, fail, insert, object_of, outside, pins, tell,
    timers,
};
use crate::context::interpose;
use crate::engine::{self, engine, step};
use crate::files;
use crate::link;
use crate::objects;
use crate::real::c_result;
use crate::signals;
use crate::sys::call;
use crate::time;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use libc::{EINVAL, epoll_event, pollfd, sigset_t, timespec};
use ordain_model::{Member, ObjectId, ObjectKind, Operation, Outcome, ThreadId, Wait};
use ordain_wire::Event;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// How long to wait for something from outside, in milliseconds, if threads of the program may do something, and if not.
const SHORT: c_int = 10;
const LONG: c_int = 500;
/// More rounds than this without an answer are a fault of the model.
const MOST_ROUNDS: usize = 10_000;

interpose! {
    poll => poll_some; __poll => poll_some; __poll_chk => poll_checked; ppoll => poll_masked; __ppoll_chk => poll_masked_checked;
    epoll_create => make_sized; epoll_create1 => make;
    epoll_ctl => change_interest;
    epoll_wait => wait_for; epoll_pwait => wait_masked; epoll_pwait2 => wait_masked_exactly;
}

/// A poll set. The value of its object: a bit for its version, and whether the kernel has something to tell.
pub(super) struct Epoll {
    pub(super) fd: c_int,
    object: ObjectId,
    /// Goes up when interests change.
    version: u32,
    interests: Vec<Interest>,
}

#[derive(Clone, Copy)]
struct Interest {
    fd: c_int,
    events: u32,
    data: u64,
}

impl Interest {
    /// Whether it is told once for each change, which only the kernel keeps track of.
    fn is_told_once(&self) -> bool {
        self.events & (libc::EPOLLET | libc::EPOLLONESHOT) as u32 != 0
    }
}

/// Bits of the versions of a poll set.
const VERSIONS: u32 = 32;
/// The bit of a poll set that has something to tell.
const TELLS: u64 = 1 << VERSIONS;

impl Epoll {
    /// The object of the poll set.
    pub(super) fn object(&self) -> ObjectId {
        self.object
    }

    /// Whether it has an interest in a number.
    pub(super) fn has(&self, fd: c_int) -> bool {
        self.interests.iter().any(|i| i.fd == fd)
    }

    /// Forgets a descriptor that was closed.
    pub(super) fn forget(&mut self, fd: c_int) {
        self.interests.retain(|i| i.fd != fd);
    }

    /// Whether the model asks the kernel if there is something to tell.
    fn asks(&self) -> bool {
        self.interests.iter().any(|i| i.is_told_once())
    }

    fn value(&self) -> u64 {
        let tells = self.asks() && super::ask(self.fd, libc::POLLIN, 0) != 0;
        1 << (self.version % VERSIONS) | if tells { TELLS } else { 0 }
    }

    /// What is waited for: another version, or something to tell.
    fn mask(&self) -> u64 {
        (TELLS - 1) & !(1 << (self.version % VERSIONS)) | if self.asks() { TELLS } else { 0 }
    }
}

/// The poll sets that have an interest in a descriptor, each with what must be done for it to hear of that: directly, or through others.
fn watchers_of(group: usize) -> Vec<(usize, u64)> {
    let mut found: Vec<(usize, u64)> = Vec::new();
    for (number, epoll) in descriptors().epolls.iter().enumerate() {
        for interest in &epoll.interests {
            if let Some(known) = entry(interest.fd).filter(|e| e.group == Some(group)) {
                let mask = causes(&known, bits(interest.events as i16));
                match found.iter_mut().find(|f| f.0 == number) {
                    Some(known) => known.1 |= mask,
                    None => found.push((number, mask)),
                }
            }
        }
    }
    let mut at = 0;
    while let Some(&(inner, mask)) = found.get(at) {
        for outer in holders(inner) {
            match found.iter_mut().find(|f| f.0 == outer) {
                Some(known) => known.1 |= mask,
                None => found.push((outer, mask)),
            }
        }
        at += 1;
    }
    found
}

/// The poll sets that a poll set is in.
fn holders(inner: usize) -> Vec<usize> {
    let holds = |e: &Epoll| e.interests.iter().any(|i| number_of(i.fd) == Some(inner));
    let epolls = descriptors().epolls.iter().enumerate();
    epolls.filter(|(number, e)| *number != inner && holds(e)).map(|(number, _)| number).collect()
}

/// What others wait for before they do something that makes an end ready: writing for who wants to read, reading for who wants to write.
fn causes(known: &Entry, wanted: u64) -> u64 {
    let alone = matches!(known.kind, Kind::Event | Kind::Listener | Kind::Timer | Kind::Queue);
    let all_ends = descriptors().datagrams == known.group;
    let others = (0..super::MOST_ENDS).filter(|end| alone || all_ends || *end != known.end);
    others.fold(super::OTHER << (WIDTH * known.end), |mask, end| {
        let cause = if wanted & IN != 0 { super::OUT } else { 0 } | if wanted & super::OUT != 0 { IN } else { 0 };
        mask | cause << (WIDTH * end)
    })
}

/// Tells the model what the poll sets have to tell that a step on a group may have given something to.
pub(super) fn tell_watchers(group: usize, mask: u64) {
    if descriptors().epolls.is_empty() {
        return;
    }
    for (number, by) in watchers_of(group) {
        if by & mask != 0 {
            tell_epoll(number);
        }
    }
}

fn tell_epoll(number: usize) {
    let epoll = &descriptors().epolls[number];
    tell(epoll.object, epoll.value());
}

/// The groups in a poll set, and in those that are in it.
fn groups_in(number: usize, found: &mut Vec<usize>, depth: usize) {
    for interest in &descriptors().epolls[number].interests {
        match entry(interest.fd) {
            Some(Entry { kind: Kind::Epoll(inner), .. }) if depth < 5 => groups_in(inner, found, depth + 1),
            Some(Entry { group: Some(group), .. }) if !found.contains(&group) => found.push(group),
            _ => {}
        }
    }
}

/// A set that was polled before: by whom, what, and the object.
pub(super) struct Set {
    thread: ThreadId,
    members: Vec<(ObjectId, u64)>,
    object: ObjectId,
}

/// What is waited for.
#[derive(Default)]
struct Gathered {
    members: Vec<(ObjectId, u64)>,
    /// The poll set that is waited on.
    taken: Option<usize>,
    /// The timer that expires first, and all.
    timer: Option<(u64, usize)>,
    timers: Vec<usize>,
    /// What leads out of the program, and what is wanted of it.
    outside: Vec<(c_int, i16)>,
    /// There are descriptors that the model knows, and that it does not know.
    known: bool,
    unknown: bool,
    /// Those that it does not know.
    others: Vec<elsewhere::Wanted>,
}

impl Gathered {
    fn add(&mut self, object: ObjectId, mask: u64) {
        match self.members.iter_mut().find(|m| m.0 == object) {
            Some(member) => member.1 |= mask,
            None => self.members.push((object, mask)),
        }
    }

    fn add_descriptor(&mut self, fd: c_int, events: i16, told_once: bool) {
        match pins::reached(fd).1 {
            Some(Entry { kind: Kind::Epoll(number), .. }) => self.add_epoll(number, false),
            Some(Entry { group: Some(group), end, kind, .. }) => {
                let mut mask = (bits(events) | HUP) << (WIDTH * end);
                if kind == Kind::Listener {
                    // The bit for writing means something else there.
                    mask &= !(super::OUT << (WIDTH * end));
                }
                if kind == Kind::Timer {
                    mask |= timers::changes(group);
                    self.timers.push(group);
                }
                // What is told once is in the word of the poll set.
                self.add(object_of(group), if told_once { 0 } else { mask });
                self.known = true;
                if let Some(when) = timers::deadline(group) {
                    self.timer = Some(self.timer.map_or((when, group), |t| t.min((when, group))));
                }
            }
            Some(Entry { kind: Kind::Outside(_), .. }) => self.outside.push((fd, events)),
            _ => {
                self.unknown = true;
                self.others.push((fd, events));
            }
        }
    }

    /// A poll set; `takes` if it is waited on itself, so that what it tells changes what it tells next.
    fn add_epoll(&mut self, number: usize, takes: bool) {
        let Some(epoll) = descriptors().epolls.get(number) else { return };
        self.add(epoll.object, epoll.mask() | if takes { Member::TAKE } else { 0 });
        if takes {
            self.taken = Some(number);
        }
        for interest in &epoll.interests {
            self.add_descriptor(interest.fd, interest.events as i16, interest.is_told_once());
        }
    }
}

/// The set of these members, made once for each thread.
fn set_of(members: &[(ObjectId, u64)]) -> ObjectId {
    let e = engine();
    let thread = e.me();
    if let Some(known) = descriptors().sets.iter().find(|s| s.thread == thread && s.members == members) {
        return known.object;
    }
    for (object, mask) in members {
        e.log(&Event::PollMember { object: *object, mask: *mask });
    }
    let set = e.arbiter.create_poll(thread, members);
    e.log(&Event::CreatePoll { thread, set });
    descriptors().sets.push(Set { thread, members: members.to_vec(), object: set });
    set
}

/// Waits at most so long until `ask` has an answer other than zero. `gather` says what is waited for; `peek` says whether the kernel has an
/// answer, without taking it. `ask` is told what descriptors outside are ready for. Gives the smallest number if the kernel alone knows what
/// is waited for.
fn wait_until(
    timeout: Option<u64>,
    mut gather: impl FnMut(&mut Gathered),
    peek: impl Fn() -> bool,
    mut ask: impl FnMut(&[(c_int, i16)]) -> isize,
) -> isize {
    let end = timeout.map(|t| time::now().saturating_add(t));
    let mut looked = false;
    let mut met = timeout == Some(0);
    for _ in 0..MOST_ROUNDS {
        let mut gathered = Gathered::default();
        gather(&mut gathered);
        if !core::mem::replace(&mut met, true) && !gathered.timers.is_empty() {
            gathered.timers.iter().for_each(|group| timers::meet(*group));
            continue;
        }
        // Other processes may make ready what the model does not know.
        let unknown = core::mem::take(&mut gathered.others);
        let mixed = gathered.known && !unknown.is_empty() && timeout != Some(0);
        if mixed && descriptors().shared && timeout.is_none() {
            elsewhere::give_time(&unknown);
        }
        let now = time::now();
        let over = timeout == Some(0) || end.is_some_and(|e| e <= now);
        let mut came: Vec<(c_int, i16)> = Vec::new();
        if !gathered.outside.is_empty() {
            if !gathered.known && gathered.unknown && !over {
                return isize::MIN;
            }
            let left = end.map_or(-1, |e| e.saturating_sub(now).div_ceil(MILLISECOND).min(c_int::MAX as u64) as c_int);
            let patience = match () {
                () if over => 0,
                () if !gathered.known => left,
                () if crate::spin::others_can_go() => SHORT,
                () => LONG,
            };
            let ready = outside::ready(&gathered.outside, patience);
            came.extend(gathered.outside.iter().zip(ready).filter(|(_, r)| *r != 0).map(|((fd, _), r)| (*fd, r)));
            if !gathered.known {
                if came.is_empty() && !over {
                    time::advance(end.map_or(0, |e| e.saturating_sub(now)));
                }
                return ask(&came);
            }
        }
        let tries = over || !came.is_empty() || gathered.unknown && peek();
        if tries && !core::mem::replace(&mut looked, true) && !gathered.timers.is_empty() {
            gathered.timers.iter().for_each(|group| {
                timers::meet(*group);
                timers::look(*group);
            });
            continue;
        }
        if let Some((_, group)) = gathered.timer.filter(|(when, _)| *when <= now) {
            timers::expire(group);
            continue;
        }
        let mut span = end.map(|e| e.saturating_sub(now));
        let mut expires = None;
        if let Some((when, group)) = gathered.timer
            && span.is_none_or(|s| when.saturating_sub(now) <= s)
        {
            (span, expires) = (Some(when.saturating_sub(now)), Some(group));
        }
        let wait = match span {
            _ if tries => Wait::Try,
            Some(span) => {
                time::wait_at_most(span);
                Wait::Timed
            }
            None if !gathered.outside.is_empty() => {
                // Something may come from outside: time to look again.
                time::wait_at_most(MILLISECOND);
                Wait::Timed
            }
            None => Wait::Interruptible,
        };
        if !gathered.known && !tries && gathered.unknown {
            return isize::MIN;
        }
        let waiter = (mixed && !tries).then(|| elsewhere::begin(&unknown));
        waiter.into_iter().for_each(|object| gathered.add(object, 1));
        let waited = engine::wait(Operation::Poll { set: set_of(&gathered.members), wait }, false);
        waiter.into_iter().for_each(elsewhere::end);
        let outcome = match waited {
            Ok(outcome) => outcome,
            Err(error) => return -(error as isize),
        };
        match outcome {
            Outcome::FAILED if tries => {
                let answer = ask(&came);
                gathered.taken.into_iter().for_each(tell_epoll);
                return answer;
            }
            Outcome::FAILED => match (expires, span) {
                (Some(group), _) => timers::expire(group),
                (None, Some(span)) => {
                    time::advance(span);
                    return ask(&came);
                }
                (None, None) => {}
            },
            _ => {
                // If there is nothing to tell any more, because someone has read it, the set is told so here.
                let answer = ask(&came);
                gathered.taken.into_iter().for_each(tell_epoll);
                if answer != 0 || tries {
                    return answer;
                }
            }
        }
    }
    link::break_down(format_args!("descriptors seem ready, but the kernel says that they are not"))
}

/// Asks the kernel about descriptors; timers are ours, and what came from outside is known.
fn ask_poll(fds: &mut [pollfd], came: &[(c_int, i16)]) -> isize {
    let numbers: Vec<c_int> = fds.iter().map(|p| p.fd).collect();
    let is_outside = |fd: c_int| entry(fd).is_some_and(|e| matches!(e.kind, Kind::Outside(_)));
    fds.iter_mut().filter(|p| p.fd >= 0).for_each(|p| p.fd = if is_outside(p.fd) { -1 } else { pins::reached(p.fd).0 });
    // SAFETY: the program's list.
    let mut count = unsafe { call!(libc::SYS_poll, fds.as_mut_ptr(), fds.len(), 0) };
    fds.iter_mut().zip(numbers).for_each(|(poll, number)| poll.fd = number);
    for poll in fds.iter_mut().filter(|p| p.fd >= 0 && p.revents == 0) {
        if let Some((_, events)) = came.iter().find(|(fd, _)| *fd == poll.fd) {
            poll.revents = events & (poll.events | libc::POLLERR | libc::POLLHUP | libc::POLLNVAL);
            count += isize::from(poll.revents != 0);
            continue;
        }
        if poll.events & libc::POLLIN != 0 && is_ready_by_timer(poll.fd) {
            poll.revents = libc::POLLIN;
            count += 1;
        }
    }
    count
}

/// Whether a timer has expired, or one in a poll set has.
fn is_ready_by_timer(fd: c_int) -> bool {
    match pins::reached(fd).1 {
        Some(Entry { kind: Kind::Epoll(number), .. }) => descriptors()
            .epolls
            .get(number)
            .is_some_and(|e| e.interests.iter().any(|i| i.events & IN as u32 != 0 && timers::has_expired(i.fd))),
        _ => timers::has_expired(fd),
    }
}

pub(super) fn poll_with(fds: &mut [pollfd], timeout: Option<u64>) -> isize {
    let list: Vec<(c_int, i16)> = fds.iter().filter(|p| p.fd >= 0).map(|p| (p.fd, p.events)).collect();
    let gather = |g: &mut Gathered| list.iter().for_each(|(fd, events)| g.add_descriptor(*fd, *events, false));
    let peek = || list.iter().any(|(fd, events)| entry(*fd).is_none() && super::ask(*fd, *events, 0) != 0);
    let numbers: Vec<c_int> = list.iter().map(|(fd, _)| *fd).collect();
    super::order_adrift(&numbers);
    let answer = pins::held(&numbers, || wait_until(timeout, gather, peek, |came| ask_poll(fds, came)));
    if answer != isize::MIN {
        return answer;
    }
    let milliseconds = timeout.map_or(-1, |t| t.div_ceil(MILLISECOND) as i64);
    if timeout.is_none()
        && descriptors().shared
        && let Err(error) = elsewhere::await_any(&list)
    {
        return -(error as isize);
    }
    // SAFETY: the program's list, of descriptors that are not ours.
    unsafe { call!(libc::SYS_poll, fds.as_mut_ptr(), fds.len(), milliseconds) }
}

unsafe fn list<'a>(fds: *mut pollfd, count: u64) -> &'a mut [pollfd] {
    if fds.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: the program's list.
    unsafe { core::slice::from_raw_parts_mut(fds, count as usize) }
}

unsafe extern "C" fn poll_some(fds: *mut pollfd, count: u64, timeout: c_int) -> c_int {
    let timeout = u64::try_from(timeout).ok().map(|t| t * MILLISECOND);
    // SAFETY: the program's list.
    c_result(poll_with(unsafe { list(fds, count) }, timeout)) as c_int
}

unsafe extern "C" fn poll_checked(fds: *mut pollfd, count: u64, timeout: c_int, _size: usize) -> c_int {
    // SAFETY: the program's list.
    unsafe { poll_some(fds, count, timeout) }
}

pub(super) unsafe fn span(time: *const timespec) -> Option<u64> {
    // SAFETY: the program's argument.
    let time = unsafe { time.as_ref() }?;
    Some((time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec.max(0) as u64))
}

/// Whether a limit is one that the kernel accepts.
pub(super) unsafe fn is_limit(time: *const timespec) -> bool {
    // SAFETY: the program's argument.
    unsafe { time.as_ref() }.is_none_or(|time| time.tv_sec >= 0 && time::is_valid(time))
}

pub(super) unsafe fn mask(set: *const sigset_t) -> Option<u64> {
    // SAFETY: the program's argument; the kernel knows its first word.
    unsafe { (set as *const u64).as_ref() }.copied()
}

unsafe extern "C" fn poll_masked(fds: *mut pollfd, count: u64, limit: *const timespec, set: *const sigset_t) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        if !is_limit(limit) {
            return fail(EINVAL);
        }
        c_result(signals::with_mask(mask(set), span(limit), true, |limit| poll_with(list(fds, count), limit))) as c_int
    }
}

unsafe extern "C" fn poll_masked_checked(
    fds: *mut pollfd,
    count: u64,
    limit: *const timespec,
    set: *const sigset_t,
    _size: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { poll_masked(fds, count, limit, set) }
}

unsafe extern "C" fn make_sized(size: c_int) -> c_int {
    if size <= 0 {
        return fail(EINVAL);
    }
    // SAFETY: what the program asks for.
    unsafe { make(0) }
}

unsafe extern "C" fn make(flags: c_int) -> c_int {
    files::take_number();
    // SAFETY: what the program asks for.
    let fd = c_result(unsafe { call!(libc::SYS_epoll_create1, flags) }) as c_int;
    if fd >= 0 {
        files::opened(fd);
        let object = objects::create(0, ObjectKind::Descriptor, 1);
        let d = descriptors();
        d.epolls.push(Epoll { fd, object, version: 0, interests: Vec::new() });
        let number = d.epolls.len() - 1;
        insert(fd, Entry::new(Kind::Epoll(number)));
    }
    fd
}

fn number_of(fd: c_int) -> Option<usize> {
    match entry(fd)?.kind {
        Kind::Epoll(number) => Some(number),
        _ => None,
    }
}

unsafe extern "C" fn change_interest(set: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    files::look_at_numbers();
    let Some(number) = number_of(set) else {
        // SAFETY: what the program asks for.
        return c_result(unsafe { call!(libc::SYS_epoll_ctl, set, operation, fd, event) }) as c_int;
    };
    order_interest(number, fd);
    // SAFETY: the program's argument, which the kernel reads too; it need not be there when an interest is given up.
    let (result, events, data) = unsafe {
        let result = call!(libc::SYS_epoll_ctl, set, operation, fd, event);
        if event.is_null() { (result, 0, 0) } else { (result, (*event).events, (*event).u64) }
    };
    if result < 0 {
        return c_result(result) as c_int;
    }
    let mut groups = groups_behind(fd);
    let epoll = &mut descriptors().epolls[number];
    epoll.forget(fd);
    epoll.version += 1;
    if operation != libc::EPOLL_CTL_DEL {
        epoll.interests.push(Interest { fd, events, data });
    }
    tell_epoll(number);
    holders(number).into_iter().for_each(tell_epoll);
    groups.retain(|group| descriptors().groups.len() > *group);
    for group in groups {
        let watchers: Vec<_> =
            watchers_of(group).iter().map(|(n, mask)| (descriptors().epolls[*n].object, *mask)).collect();
        let set = if watchers.is_empty() { 0 } else { u64::from(objects::set_of(&watchers).0) };
        tell(object_of(group).watchers(), set);
    }
    0
}

/// The groups that a descriptor leads to.
fn groups_behind(fd: c_int) -> Vec<usize> {
    match entry(fd) {
        Some(Entry { kind: Kind::Epoll(inner), .. }) => {
            let mut groups = Vec::new();
            groups_in(inner, &mut groups, 0);
            groups
        }
        Some(Entry { group: Some(group), .. }) => alloc::vec![group],
        _ => Vec::new(),
    }
}

/// Orders a change of an interest with everything that a poll set and those around it tell, and with what makes the descriptor ready.
fn order_interest(number: usize, fd: c_int) {
    let mut members: Vec<(ObjectId, u64)> = alloc::vec![(descriptors().epolls[number].object, Member::WRITE)];
    members.extend(holders(number).iter().map(|n| (descriptors().epolls[*n].object, Member::WRITE)));
    for group in groups_behind(fd) {
        members.push((object_of(group), Member::READ));
        members.push((object_of(group).watchers(), Member::WRITE));
    }
    step(Operation::Access { set: objects::set_of(&members), looks: false });
}

/// The object of a poll set.
pub(super) fn object(number: usize) -> ObjectId {
    descriptors().epolls[number].object
}

/// Leaves out what the kernel tells of descriptors outside: what is recorded counts. Gives how many are left.
fn without_outside(number: usize, out: *mut epoll_event, count: isize) -> isize {
    let interests = &descriptors().epolls[number].interests;
    let is_outside = |fd: c_int| entry(fd).is_some_and(|e| matches!(e.kind, Kind::Outside(_)));
    if count <= 0 || !interests.iter().any(|i| is_outside(i.fd)) {
        return count;
    }
    let mut kept = 0;
    for place in 0..count {
        // SAFETY: what the kernel has filled in.
        unsafe {
            let event = out.offset(place).read_unaligned();
            let data = event.u64;
            if interests.iter().any(|i| i.data == data && !is_outside(i.fd)) {
                out.offset(kept).write_unaligned(event);
                kept += 1;
            }
        }
    }
    kept
}

fn wait_with(set: c_int, out: *mut epoll_event, most: c_int, timeout: Option<u64>) -> isize {
    // SAFETY: the program's memory.
    let direct =
        |milliseconds: i64| unsafe { call!(libc::SYS_epoll_wait, pins::reached(set).0, out, most, milliseconds) };
    let real = timeout.map_or(-1, |t| t.div_ceil(MILLISECOND) as i64);
    let wait_directly = || {
        if timeout.is_none()
            && descriptors().shared
            && let Err(error) = elsewhere::await_any(&[(set, libc::POLLIN)])
        {
            return -(error as isize);
        }
        direct(real)
    };
    let Some(number) = number_of(set) else { return wait_directly() };
    if most <= 0 {
        return -(EINVAL as isize);
    }
    let ask = |came: &[(c_int, i16)]| {
        let mut count = without_outside(number, out, direct(0));
        for interest in &mut descriptors().epolls[number].interests {
            let Some((fd, ready)) = came.iter().copied().find(|(fd, _)| *fd == interest.fd) else { continue };
            let ready = ready & (interest.events as i16 | libc::POLLERR | libc::POLLHUP);
            let ready = if interest.is_told_once() { outside::news(fd, ready) } else { ready };
            if ready != 0 && interest.events != 0 && (0..most as isize).contains(&count) {
                // SAFETY: there is room.
                unsafe {
                    out.offset(count).write_unaligned(epoll_event { events: ready as u16 as u32, u64: interest.data })
                };
                count += 1;
                if interest.events & libc::EPOLLONESHOT as u32 != 0 {
                    interest.events = 0;
                }
            }
        }
        for interest in &descriptors().epolls[number].interests {
            if (0..most as isize).contains(&count)
                && interest.events & IN as u32 != 0
                && timers::has_expired(interest.fd)
            {
                // SAFETY: there is room.
                unsafe {
                    out.offset(count).write_unaligned(epoll_event { events: libc::EPOLLIN as u32, u64: interest.data })
                };
                count += 1;
            }
        }
        count
    };
    let peek = || super::ask(pins::reached(set).0, libc::POLLIN, 0) != 0;
    super::order_adrift(&[set]);
    let answer = pins::held(&[set], || wait_until(timeout, |g| g.add_epoll(number, true), peek, ask));
    if answer == isize::MIN { wait_directly() } else { answer }
}

unsafe extern "C" fn wait_for(set: c_int, out: *mut epoll_event, most: c_int, timeout: c_int) -> c_int {
    c_result(wait_with(set, out, most, u64::try_from(timeout).ok().map(|t| t * MILLISECOND))) as c_int
}

unsafe extern "C" fn wait_masked(
    set: c_int,
    out: *mut epoll_event,
    most: c_int,
    timeout: c_int,
    signals_blocked: *const sigset_t,
) -> c_int {
    let timeout = u64::try_from(timeout).ok().map(|t| t * MILLISECOND);
    // SAFETY: the program's arguments.
    let mask = unsafe { mask(signals_blocked) };
    c_result(signals::with_mask(mask, timeout, false, |limit| wait_with(set, out, most, limit))) as c_int
}

unsafe extern "C" fn wait_masked_exactly(
    set: c_int,
    out: *mut epoll_event,
    most: c_int,
    limit: *const timespec,
    signals_blocked: *const c_void,
) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        if !is_limit(limit) {
            return fail(EINVAL);
        }
        let mask = mask(signals_blocked as *const sigset_t);
        c_result(signals::with_mask(mask, span(limit), false, |limit| wait_with(set, out, most, limit))) as c_int
    }
}
