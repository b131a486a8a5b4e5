//! The watch: some executions in which the atomic instructions of the program are watched, before a verdict is told.
//!
//! Level sync does not see these instructions. Threads that use them on the same memory may come to an understanding by them that no
//! schedule of visible calls tells about: then nothing is verified. Threads are known to follow each other if one made or joined the other;
//! an order by locks may be another one in another schedule, and does not count.

use crate::finding::NativeWords;
use crate::program::Program;
use crate::target::{Failure, Native};
use crate::watch::WatchResult;
use ordain_check::{Explorer as _, Watched};
use ordain_explore::strategy::Mixed;
use ordain_explore::{Lowest, Plan, Target, prefix_of, search};
use ordain_model::describe::Words as _;
use ordain_model::{End, Site, ThreadId};
use ordain_report::is_own;
use ordain_wire::Unmodelled;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Samples that are watched, beside the first execution.
const SAMPLES: u64 = 4;
/// No further sample is begun after this time.
const TIME: Duration = Duration::from_millis(500);
/// Why a program cannot be watched that does not do the same then.
const DIFFERS: &str = "it does something else when it is watched";

impl Program {
    /// Watches some executions of a program about which everything else holds.
    pub(crate) fn watch_atomics(&mut self, seed: u64, go_on: &mut dyn FnMut() -> bool) -> Result<Watched, Failure> {
        let begin = Instant::now();
        let mut watched = self.native.watched()?;
        watched.run(&mut Plan::new(&[], &mut Lowest));
        if let Some(retracted) = self.look_at_watched(&mut watched)? {
            return Ok(retracted);
        }
        let mut strategy = Mixed::new(seed);
        let mut drawn = 0;
        while drawn < SAMPLES && begin.elapsed() < TIME && self.native.unmodelled() == 0 {
            drawn += 1;
            search(&mut watched, &mut strategy, &mut |_: &mut Native, _| ControlFlow::Break(()));
            if let Some(retracted) = self.look_at_watched(&mut watched)? {
                return Ok(retracted);
            }
            if !go_on() {
                return Ok(Watched::Unfinished);
            }
        }
        Ok(Watched::Held)
    }

    /// Looks at an execution that was watched; gives what the verdict comes to if it is not told.
    fn look_at_watched(&mut self, watched: &mut Native) -> Result<Option<Watched>, Failure> {
        if watched.is_over() {
            return Ok(Some(Watched::Unfinished));
        }
        let WatchResult { shared, trouble } = watched.watch_result();
        let threads = watched.names().thread_count();
        if let Some(pair) = shared.filter(|pair| pair.iter().all(|(thread, _)| (*thread as usize) < threads)) {
            let words = NativeWords::new(watched);
            let [first, second] =
                pair.map(|(thread, places)| (watched.names().thread_name(ThreadId(thread)), place(&words, &places)));
            self.native.note_unmodelled(Unmodelled::Atomics.bit());
            self.atomics = Some(format!(
                "threads {} and {} use atomic instructions on the same memory ({}, {}): level sync does not see their order, so nothing \
                 is verified",
                first.0, second.0, first.1, second.1
            ));
            return Ok(None);
        }
        let why = match (trouble, watched.failure()) {
            (Some(trouble), _) => Some(trouble),
            (None, Some(failure)) => Some(failure.to_string()),
            (None, None) if matches!(watched.execution().end, End::Diverged(_)) => Some(DIFFERS.into()),
            (None, None) => None,
        };
        if let Some(why) = why {
            self.note_unwatched(&why);
            return Ok(None);
        }
        let Some(observation) = crate::finding::notice(watched, self.check.program.expect_status.into()) else {
            return Ok(None);
        };
        // The watch must not have caused it.
        watched.end_process();
        let steps = prefix_of(watched.execution());
        let again = self.in_fresh(true, |fresh| {
            fresh.run(&mut Plan::follow(&steps, &mut Lowest));
            fresh.observe_again(observation.kind)
        })?;
        if again.is_some_and(|again| again.is_like(&observation)) {
            return Ok(Some(Watched::Observed(observation)));
        }
        self.note_unwatched(DIFFERS);
        Ok(None)
    }

    /// The program could not be watched as a whole.
    fn note_unwatched(&mut self, why: &str) {
        self.native.note_unmodelled(Unmodelled::Unwatched.bit());
        self.atomics = Some(format!(
            "whether threads use atomic instructions on the same memory could not be seen ({why}), so nothing is verified"
        ));
    }
}

/// The innermost place in the program's own sources among an instruction and the calls that led to it.
fn place(words: &NativeWords<'_>, places: &[u64; 4]) -> String {
    // A call returns to the address behind it.
    let sites = places.iter().enumerate().map(|(i, at)| Site(at.wrapping_add(u64::from(i == 0))));
    let mut located = sites.filter(|site| site.0 > 1).filter_map(|site| words.place(site));
    let first = located.next();
    let own = first.clone().into_iter().chain(located).find(|place| place.line > 0 && is_own(&place.file));
    match own.or(first) {
        Some(place) if place.line > 0 => {
            let file = place.file.rsplit('/').next().unwrap_or(&place.file);
            format!("{file}:{}", place.line)
        }
        Some(place) => place.file,
        None => "unknown".into(),
    }
}
