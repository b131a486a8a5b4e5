//! Sets of signals, and the order in which pending ones are taken.

use alloc::vec::Vec;
use core::ffi::c_int;

/// The first signal that is queued.
const FIRST_QUEUED: c_int = 32;

/// A signal, and what comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub(super) number: c_int,
    /// Where it comes from (`si_code`).
    pub(super) code: c_int,
    /// The value that comes with it.
    pub(super) value: usize,
    /// Who has sent it, or what child has ended.
    pub(super) process: c_int,
    /// Whether any thread may take it.
    pub(super) shared: bool,
}

/// The bit of a signal in sets.
pub(super) fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Signals that cannot be blocked.
pub(super) fn unblockable() -> u64 {
    bit(libc::SIGKILL) | bit(libc::SIGSTOP)
}

/// What a mask blocks of the signals that can be blocked.
pub fn blockable(mask: u64) -> u64 {
    mask & !unblockable()
}

/// The numbers of signals, as a set.
pub(super) fn set_of(list: &[Signal]) -> u64 {
    list.iter().fold(0, |set, s| set | bit(s.number))
}

/// Adds a signal to those that are pending: a second one of the same number only if that is queued.
pub(super) fn add(list: &mut Vec<Signal>, signal: Signal) {
    if signal.number >= FIRST_QUEUED || list.iter().all(|s| s.number != signal.number) {
        list.push(signal);
    }
}

/// The next signal that a mask lets through: as in the kernel, those for the thread come before those for the process, and of these the one
/// with the lowest number.
pub(super) fn take_next(list: &mut Vec<Signal>, mask: u64) -> Option<Signal> {
    let ready = list.iter().enumerate().filter(|(_, s)| mask & bit(s.number) == 0);
    let (place, _) = ready.min_by_key(|(place, s)| (s.shared, s.number, *place))?;
    Some(list.remove(place))
}

/// Takes the first signal of a number.
pub(super) fn remove(list: &mut Vec<Signal>, number: c_int) -> Option<Signal> {
    let place = list.iter().position(|s| s.number == number)?;
    Some(list.remove(place))
}

/// Signals that do nothing by default. Those of a terminal stop no program that has none.
pub(super) fn is_ignored_by_default(signal: c_int) -> bool {
    use libc::{SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
    matches!(signal, SIGCHLD | SIGCONT | SIGTSTP | SIGTTIN | SIGTTOU | SIGURG | SIGWINCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{SIGCHLD, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGUSR1};

    fn signal(number: c_int, value: usize, shared: bool) -> Signal {
        Signal { number, code: 0, value, process: 1, shared }
    }

    #[test]
    fn signals_have_bits() {
        assert_eq!((bit(1), bit(2), bit(64)), (1, 2, 1 << 63));
        assert_eq!(set_of(&[signal(1, 0, false), signal(64, 0, true), signal(1, 1, false)]), 1 | 1 << 63);
        assert_eq!(set_of(&[]), 0);
    }

    #[test]
    fn two_signals_cannot_be_blocked() {
        assert_eq!(blockable(u64::MAX), !(bit(SIGKILL) | bit(SIGSTOP)));
        assert_eq!(blockable(bit(SIGKILL)), 0);
        assert_eq!(blockable(bit(SIGUSR1)), bit(SIGUSR1));
    }

    #[test]
    fn only_signals_of_real_time_are_queued() {
        let mut pending = Vec::new();
        for value in 0..3 {
            add(&mut pending, signal(SIGUSR1, value, false));
            add(&mut pending, signal(34, value, false));
        }
        let of = |number| pending.iter().filter(move |s| s.number == number).map(|s| s.value).collect::<Vec<_>>();
        assert_eq!(of(SIGUSR1), [0]);
        assert_eq!(of(34), [0, 1, 2]);
    }

    #[test]
    fn the_lowest_signal_of_the_thread_comes_first() {
        let all = [signal(SIGINT, 0, true), signal(34, 1, false), signal(SIGTERM, 2, false), signal(34, 3, false)];
        let mut pending = all.to_vec();
        let mut order = Vec::new();
        while let Some(signal) = take_next(&mut pending, 0) {
            order.push(signal.value);
        }
        assert_eq!(order, [2, 1, 3, 0]);
    }

    #[test]
    fn what_is_blocked_stays() {
        let mut pending = vec![signal(SIGINT, 0, false), signal(SIGTERM, 1, true)];
        assert_eq!(take_next(&mut pending, bit(SIGINT) | bit(SIGTERM)), None);
        assert_eq!(take_next(&mut pending, bit(SIGINT)).map(|s| s.number), Some(SIGTERM));
        assert_eq!(pending, [signal(SIGINT, 0, false)]);
        assert_eq!(take_next(&mut Vec::new(), 0), None);
    }

    #[test]
    fn signals_are_taken_by_number() {
        let mut pending = vec![signal(34, 0, false), signal(SIGINT, 1, false), signal(34, 2, false)];
        assert_eq!(remove(&mut pending, 34).map(|s| s.value), Some(0));
        assert_eq!(remove(&mut pending, SIGTERM), None);
        assert_eq!(pending.iter().map(|s| s.value).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn some_signals_do_nothing_by_default() {
        assert!(is_ignored_by_default(SIGCHLD));
        assert!([SIGINT, SIGTERM, SIGUSR1, 34, 64].iter().all(|number| !is_ignored_by_default(*number)));
    }
}
