//! How commands end, and the exit statuses for that.

use crate::problem::{self, Problem};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The table of exit statuses, for the help of commands. `docs/ci.md` has the same.
pub(crate) const STATUSES: &str = "\
Exit status:
  0    what was asked for was reached: verified, or nothing found within the given limits
  1    a finding, whatever else happens
  2    wrong use, the program cannot be checked, or a file that was asked for cannot be written
  3    nothing found, but less was reached than --require says, or almost nothing was visible
  130  stopped by Ctrl-C before that, 143 by SIGTERM, or 129 by SIGHUP; what was done so far is told and kept";

/// The signal that asked for an end.
static SIGNAL: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// How a command ended that could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// What was asked for was reached.
    Clean,
    /// Something was found.
    Finding,
    /// Nothing was found, but what is required was not reached.
    Unmet,
}

/// A flag that Ctrl-C, SIGTERM and a terminal that goes away (SIGHUP) set; the second of them ends the process at once. The command ends with the status of the signal then,
/// unless it has found something.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let received = SIGNAL.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: whoever asks a second time is heard before the first is noted. Without handlers the
        // signal ends the command, as always.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.clone());
        let _ = signal_hook::flag::register_usize(signal, received.clone(), signal as usize);
        let _ = signal_hook::flag::register(signal, stop.clone());
    }
    stop
}

/// What a command came to whose result could perhaps not be written somewhere: that is told, and a finding stays one.
pub(crate) fn despite(written: Result<(), Problem>, outcome: Result<Outcome, Problem>) -> Result<Outcome, Problem> {
    match written {
        // Whoever read standard output has seen enough.
        Ok(()) | Err(Problem::OutputClosed) => outcome,
        Err(problem) => {
            problem::tell(problem);
            if matches!(outcome, Ok(Outcome::Finding)) { outcome } else { Err(Problem::Reported) }
        }
    }
}

/// The exit status of a command that came to this.
pub(crate) fn status(result: &Result<Outcome, Problem>) -> ExitCode {
    let signal = SIGNAL.get().map_or(0, |signal| signal.load(Relaxed));
    ExitCode::from(match (result, u8::try_from(signal)) {
        (Ok(Outcome::Finding), _) => 1,
        (_, Ok(signal @ 1..)) => 128 | signal,
        // Whoever read the output has seen enough.
        (Ok(Outcome::Clean) | Err(Problem::OutputClosed), _) => 0,
        (Ok(Outcome::Unmet), _) => 3,
        (Err(_), _) => 2,
    })
}
