//! State that threads share and that the kernel only keeps: the mask of new files, limits, users, options of descriptors. Each call
//! that changes or asks some of it is a step on its object, from the table of all calls ([`ordain_wire::SHARING`]).

use super::{Touched, numbers, object, order, tree};
use crate::descriptors;
use crate::engine::engine;
use crate::lessons::Lesson;
use crate::link;
use crate::signals;
use crate::sys::{self, call};
use crate::threads;
use crate::unmodelled::{self, Unmodelled};
use core::ffi::c_int;
use ordain_model::names::mix;
use ordain_model::{Member, ObjectId, ThreadId};
use ordain_wire::{Sharing, State, sharing};

const READ: u64 = Member::READ;
const WRITE: u64 = Member::WRITE;
/// What keys of state and of attributes of threads begin with.
const STATE: u64 = 0x7374_6174;
const THREAD: u64 = 0x6174_7472;
/// Whether the program is linked with a function that can change flags of descriptors.
static mut FLAGS_CHANGE: bool = false;

/// Numbers from here on are not known.
const KNOWN: usize = 512;
static mut TABLE: [Sharing; KNOWN] = [Sharing::Unfollowed; KNOWN];

/// Makes the table by numbers, once.
pub(super) fn prepare() {
    // SAFETY: only the carrier comes here.
    let table = unsafe { &mut *(&raw mut TABLE) };
    for (number, place) in table.iter_mut().enumerate() {
        *place = sharing(number as i64);
    }
    // SAFETY: only the carrier comes here.
    unsafe { FLAGS_CHANGE = signals::is_linked(&[c"fcntl", c"fcntl64", c"ioctl", c"syscall"]) };
}

fn sharing_of(number: i64) -> Sharing {
    let Some(number) = usize::try_from(number).ok().filter(|n| *n < KNOWN) else { return Sharing::Unfollowed };
    // SAFETY: only the carrier comes here, and nobody changes it any more.
    unsafe { (*(&raw const TABLE))[number] }
}

/// Whether other threads may notice a system call that nothing else follows.
pub fn is_shared(number: i64) -> bool {
    !matches!(sharing_of(number), Sharing::Own | Sharing::Memory | Sharing::Step) || makes_descriptor(number)
}

/// The object of a kind of state.
pub(super) fn state(kind: State) -> ObjectId {
    if kind == State::Directory { tree() } else { object(mix(STATE, kind as u64), || 0) }
}

/// The object of the attributes of a thread.
fn thread(thread: ThreadId) -> ObjectId {
    let lineage = engine().arbiter.names().lineage(thread);
    object(lineage.into_iter().map(u64::from).fold(THREAD, mix), || 0)
}

fn how(changes: bool) -> u64 {
    if changes { WRITE } else { READ }
}

/// Orders a call that asks or changes state of one kind.
pub fn order_state(kind: State, changes: bool) {
    order(|touched| {
        touched.looks = !changes;
        touched.add(state(kind), how(changes));
        if kind == State::Credentials && changes {
            // What paths lead to depends on who asks.
            touched.add(tree(), WRITE);
        }
    });
}

/// Orders a call that asks or changes attributes of the thread in a slot, or of all.
pub fn order_attributes(slot: Option<usize>, changes: bool) {
    if engine().is_alone() {
        return;
    }
    order(|touched| {
        touched.looks = !changes;
        let one = |n: usize| slot.is_none_or(|slot| slot == n);
        for (n, known) in engine().slots.iter().enumerate() {
            if one(n) && known.state == threads::State::Running {
                touched.add(thread(known.thread), how(changes));
            }
        }
    });
}

/// Orders a call that asks or changes what belongs to the opening of a descriptor, together with `others`.
pub fn order_opening_with(fd: c_int, changes: bool, mut others: impl FnMut(&mut dyn FnMut(ObjectId, u64))) {
    order(|touched| {
        touched.looks = !changes;
        numbers::add_opening(touched, fd, how(changes));
        others(&mut |object, how| touched.add(object, how));
    });
    numbers::learn_if_closed(fd);
}

/// Orders a call that asks or changes what belongs to the opening of a descriptor.
fn order_opening(fd: c_int, changes: bool) {
    order_opening_with(fd, changes, |_| {});
}

/// Orders a call that asks or changes what belongs to the descriptor itself.
fn order_number(fd: c_int, changes: bool) {
    order(|touched| {
        touched.looks = !changes;
        numbers::add_number(touched, fd, how(changes));
    });
    numbers::learn_if_closed(fd);
}

/// Orders a call that asks or changes what both ends of a connection have.
fn order_ends(fd: c_int, changes: bool) {
    order_opening_with(fd, changes, |add| {
        if let Some(object) = descriptors::object(fd) {
            add(object, if changes { WRITE | Member::TELL } else { READ });
        }
    });
}

/// Orders a system call that nothing else follows, by the table.
pub fn order_call(number: i64, arguments: [usize; 6]) {
    if engine().is_alone() {
        return refuse_signals(number, arguments);
    }
    let [a, b, c, ..] = arguments;
    refuse_signals(number, arguments);
    if makes_descriptor(number) {
        numbers::take_number();
    }
    match sharing_of(number) {
        Sharing::Own | Sharing::Memory | Sharing::Step => {}
        // They ask by the number of a thread, and are answered elsewhere.
        Sharing::Asks(State::Threads) | Sharing::Changes(State::Threads) => {}
        Sharing::Asks(State::Descriptor) => order_ends(a as c_int, false),
        Sharing::Changes(State::Descriptor) => order_ends(a as c_int, true),
        Sharing::Asks(kind) => order_state(kind, false),
        Sharing::Changes(State::Limits) => order_limit(a, true),
        Sharing::Changes(kind) => order_state(kind, true),
        Sharing::Arguments => match number {
            libc::SYS_ioctl => order_request(a as c_int, b as u32),
            libc::SYS_fcntl => order_command(a as c_int, b as c_int),
            libc::SYS_prlimit64 => order_limit(b, c != 0),
            libc::SYS_personality => order_state(State::Options, a as u32 != u32::MAX),
            libc::SYS_prctl => order_option(a as c_int),
            _ => unmodelled::note(Unmodelled::KernelState),
        },
        Sharing::Unfollowed => unmodelled::note(Unmodelled::KernelState),
    }
}

/// Notes what a system call that nothing else follows has made.
pub fn after_call(number: i64, result: isize) {
    if makes_descriptor(number) {
        numbers::opened(result as c_int);
        if number == libc::SYS_memfd_create && result >= 0 {
            numbers::made_without_name(result as c_int);
        }
    }
}

/// Calls that make descriptors of kinds that have no model.
fn makes_descriptor(number: i64) -> bool {
    matches!(number, libc::SYS_memfd_create | libc::SYS_pidfd_open | libc::SYS_memfd_secret | libc::SYS_perf_event_open)
}

/// Orders a call about a limit of a resource. What else depends on it is followed for the number of descriptors alone.
fn order_limit(resource: usize, changes: bool) {
    let numbers_too = changes && resource as u32 == libc::RLIMIT_NOFILE;
    order(|touched| {
        touched.looks = !changes;
        touched.add(state(State::Limits), how(changes));
        if numbers_too {
            numbers::add_whole_table(touched);
        }
    });
    if changes && !matches!(resource as u32, libc::RLIMIT_NOFILE | libc::RLIMIT_CORE) {
        unmodelled::note(Unmodelled::KernelState);
    }
}

/// Orders an option of `prctl`. Those of a thread are its own, but for its name.
fn order_option(option: c_int) {
    match option {
        libc::PR_SET_NAME | libc::PR_GET_NAME => {
            order_attributes(Some(engine().current), option == libc::PR_SET_NAME);
        }
        libc::PR_GET_DUMPABLE | libc::PR_GET_CHILD_SUBREAPER | libc::PR_GET_THP_DISABLE => {
            order_state(State::Options, false);
        }
        libc::PR_SET_KEEPCAPS
        | libc::PR_SET_PDEATHSIG
        | libc::PR_GET_PDEATHSIG
        | libc::PR_SET_NO_NEW_PRIVS
        | libc::PR_SET_TSC
        | libc::PR_GET_TSC
        | libc::PR_SET_TIMERSLACK
        | libc::PR_GET_TIMERSLACK => {}
        _ if crate::attributes::is_harmless(option) || option == libc::PR_GET_KEEPCAPS => {}
        libc::PR_GET_NO_NEW_PRIVS => {}
        _ => order_state(State::Options, true),
    }
}

/// Orders a command of `fcntl` that is about flags or other state.
pub fn order_command(fd: c_int, command: c_int) {
    const F_GETOWNER_UIDS: c_int = 17;
    const F_GET_RW_HINT: c_int = 1035;
    const F_GET_FILE_RW_HINT: c_int = 1037;
    match command {
        libc::F_GETFD | libc::F_SETFD => order_number(fd, command == libc::F_SETFD),
        libc::F_SETFL => order_opening(fd, true),
        libc::F_GETFL | libc::F_GETOWN | 11 | 16 | F_GETOWNER_UIDS | libc::F_GETLEASE => order_opening(fd, false),
        libc::F_GETPIPE_SZ | libc::F_SETPIPE_SZ => order_ends(fd, command == libc::F_SETPIPE_SZ),
        libc::F_GET_SEALS | F_GET_RW_HINT | F_GET_FILE_RW_HINT => numbers::order_file(fd, None, Some(READ), true),
        libc::F_ADD_SEALS => numbers::order_file(fd, None, Some(WRITE), false),
        // Locks and copies are steps elsewhere.
        libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW => {}
        libc::F_OFD_GETLK | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {}
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {}
        _ => order_opening(fd, true),
    }
}

/// Orders a request of `ioctl`.
fn order_request(fd: c_int, request: u32) {
    const SIOCATMARK: u32 = 0x8905;
    const FIOGETOWN: u32 = 0x8903;
    const SIOCGPGRP: u32 = 0x8904;
    match u64::from(request) {
        libc::FIONREAD | libc::TIOCOUTQ => order_ends(fd, false),
        libc::FIONBIO => order_opening(fd, true),
        libc::FIOCLEX | libc::FIONCLEX => order_number(fd, true),
        _ if matches!(request, SIOCATMARK) => order_ends(fd, false),
        _ if matches!(request, FIOGETOWN | SIOCGPGRP) => order_opening(fd, false),
        _ if !is_terminal(fd) => {
            // Asking whether it is one; nothing else has these requests.
            if !matches!(u64::from(request), libc::TCGETS | libc::TIOCGWINSZ) {
                order_ends(fd, true);
            }
        }
        libc::TCGETS | libc::TIOCGWINSZ | libc::TIOCGPGRP | libc::TIOCGSID => order_state(State::Terminal, false),
        _ => order_state(State::Terminal, true),
    }
}

fn is_terminal(fd: c_int) -> bool {
    let mut settings = [0u8; 256];
    // SAFETY: asks a terminal for its settings, for which there is room.
    unsafe { call!(libc::SYS_ioctl, fd, libc::TCGETS, settings.as_mut_ptr()) == 0 }
}

/// A call on a descriptor asks whether it waits: a step in programs that can change that while there are other threads.
pub fn use_flags(fd: c_int) {
    // SAFETY: only the carrier comes here, and nobody changes it any more.
    if !engine().is_alone() && unsafe { FLAGS_CHANGE } {
        order_opening(fd, false);
    }
}

/// A socket was told how long its calls wait. Few programs do that while there are other threads: the first teaches the search that it
/// matters.
pub fn learn_that_limits_matter() {
    if !engine().is_alone() && !Lesson::Limits.is_known(engine()) {
        Lesson::Limits.learn(engine());
    }
}

/// A call on a descriptor asks how long it waits: a step in programs that change that while there are other threads.
pub fn use_limits(fd: c_int) {
    if !engine().is_alone() && Lesson::Limits.is_known(engine()) {
        order_opening(fd, false);
    }
}

/// The object of the mask of new files.
pub fn mask() -> ObjectId {
    state(State::Mask)
}

/// Adds what something new at a name depends on.
pub(super) fn add_mask(touched: &mut Touched) {
    touched.add(mask(), READ);
}

/// Refuses programs that ask the kernel for signals which are not modelled. Those of time that is used up may come anywhere.
fn refuse_signals(number: i64, [fd, b, c, ..]: [usize; 6]) {
    let is_of_time = |resource: usize| matches!(resource as u32, libc::RLIMIT_CPU | libc::RLIMIT_RTTIME);
    match number {
        libc::SYS_setrlimit if is_of_time(fd) => unmodelled::note(Unmodelled::KernelState),
        libc::SYS_prlimit64 if is_of_time(b) && c != 0 => unmodelled::note(Unmodelled::KernelState),
        // SAFETY: the program's variable.
        libc::SYS_ioctl if b as u64 == libc::FIOASYNC && c != 0 && unsafe { *(c as *const c_int) } != 0 => {
            refuse("ioctl with FIOASYNC");
        }
        // FIOSETOWN and SIOCSPGRP.
        libc::SYS_ioctl if matches!(b, 0x8901 | 0x8902) => refuse("ioctl with FIOSETOWN"),
        libc::SYS_fcntl => refuse_command(fd as c_int, b as c_int, c),
        _ => {}
    }
}

/// Refuses commands of `fcntl` that ask for signals.
pub fn refuse_command(fd: c_int, command: c_int, argument: usize) {
    const F_NOTIFY: c_int = 1026;
    match command {
        libc::F_SETFL if argument as c_int & libc::O_ASYNC != 0 => {
            // SAFETY: asks for flags. What is set already was not asked for by the program.
            let flags = unsafe { call!(sys::SYS_fcntl, fd, libc::F_GETFL) };
            if flags >= 0 && flags & libc::O_ASYNC as isize == 0 {
                refuse("fcntl with O_ASYNC");
            }
        }
        libc::F_SETLEASE if argument as c_int != libc::F_UNLCK as c_int => refuse("fcntl with F_SETLEASE"),
        F_NOTIFY if argument != 0 => refuse("fcntl with F_NOTIFY"),
        _ => {}
    }
}

fn refuse(what: &str) -> ! {
    link::refuse(format_args!(
        "the program asks the kernel for signals ({what}), which are not modelled: nothing could be said about who waits for them"
    ))
}
