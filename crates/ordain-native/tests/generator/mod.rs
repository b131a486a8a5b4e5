//! Random programs in the words of `tests/programs/generated/interpreter.c`.
//!
//! A program takes its words from a few families only, so that its threads get in each other's way.

use std::fmt;

/// A program: what each thread does, main first.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Generated {
    /// Words of each thread.
    pub(crate) bodies: Vec<Vec<String>>,
}

impl fmt::Debug for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.arguments().join(" / "))
    }
}

/// Words that have to do with each other. A number in braces is a digit below it; words of one item stay together.
const FAMILIES: &[(&str, &[&str])] = &[
    ("mutex", &["lock.{4}", "lock.{2} unlock.{2}", "trylock.{4}", "timedlock.{4}", "unlock.{4}", "tick.{1}"]),
    (
        "cond",
        &[
            "lock.0 wait.{2}.0 unlock.0",
            "lock.0 timedwait.{2}.0 unlock.0",
            "lock.0 signal.{2} unlock.0",
            "signal.{2}",
            "broadcast.{2}",
            "lock.1 wait.0.1",
            "tick.{1}",
        ],
    ),
    (
        "rwlock",
        &[
            "rdlock.{2}",
            "wrlock.{2}",
            "tryrdlock.{2}",
            "trywrlock.{2}",
            "timedrdlock.{2}",
            "timedwrlock.{2}",
            "rwunlock.{2}",
            "rdlock.{2} rwunlock.{2}",
        ],
    ),
    ("spin", &["spinlock.{2}", "spintrylock.{2}", "spinunlock.{2}"]),
    ("semaphore", &["semwait.{2}", "semtrywait.{2}", "semtimedwait.{2}", "sempost.{2}", "semvalue.{2}"]),
    ("init", &["seminit.{2}", "semtrywait.{2}", "sempost.{2}", "semwait.{2}", "semvalue.{2}"]),
    ("stream", &["streamlock.{2}", "streamtry.{2}", "streamunlock.{2}", "print.{2}", "print.{2}", "tick.{1}"]),
    ("key", &["keyset", "keydelete", "tick.{1}"]),
    ("barrier", &["barrier", "tick.{1}"]),
    ("once", &["once", "tick.{1}"]),
    ("cancel", &["cancel.{T}", "cancelstate.{2}", "testcancel", "semwait.{2}", "sleep", "sempost.0", "tick.{1}"]),
    (
        "signal",
        &[
            "kill.{3}",
            "threadkill.{T}.{3}",
            "sigqueue.{2}.{3}",
            "raise.{3}",
            "block.{3}",
            "unblock.{3}",
            "block.{2} sigwait.{2}",
            "block.{2} sigtimedwait.{2}",
            "sigpending.{3}",
            "tick.{1}",
            "sleep",
            "semwait.0",
            "sempost.0",
        ],
    ),
    ("time", &["sleep", "yield", "tick.{2}"]),
    ("pipe", &["read.{2}", "write.{2}", "write.{2}", "closewrite.{1}", "pollread.{2}.{2}", "select"]),
    ("socket", &["send.{2}", "send.{2}", "recv.{2}.{2}", "shutdown.{2}"]),
    ("event", &["eventadd.{2}.{2}", "eventadd.{2}.{2}", "eventtake.{2}", "epoll.{2}", "select"]),
    (
        "file",
        &[
            "create.{2}",
            "unlink.{2}",
            "rename.0.1",
            "rename.1.0",
            "access.{2}",
            "size.{2}",
            "append.{2}",
            "mkdir",
            "rmdir",
            "open.{1} close",
        ],
    ),
    ("filelock", &["open.0 flock.{2}", "open.0 reclock.{2}", "funlock", "recunlock", "close", "tick.{1}"]),
    ("queue", &["msgsnd", "msgsnd", "msgrcv.{2}"]),
    ("posted", &["mqsend", "mqreceive.{2}"]),
    ("semop", &["semop.{2}.0", "semop.0.1", "semopcount"]),
    ("fork", &["fork.{2}", "lock.0 unlock.0", "tick.{1}"]),
    ("end", &["abort", "exit", "leave", "tick.{1}"]),
];

/// A small generator of random numbers, so that a seed means the same for ever (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    /// A number below `n`.
    pub(crate) fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

impl Generated {
    /// The program of a seed, of some families only if they are named.
    pub(crate) fn new(seed: u64, only: &[String]) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let known: Vec<&(&str, &[&str])> =
            FAMILIES.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|o| o == name)).collect();
        let mut families: Vec<&[&str]> = Vec::new();
        for _ in 0..1 + dice.roll(2) {
            // Programs that end early hide what comes behind: seldom.
            let among = if known.len() < 2 || dice.roll(8) == 0 { known.len() } else { known.len() - 1 };
            families.push(known[dice.roll(among)].1);
        }
        let threads = 1 + dice.roll(3);
        let mut bodies: Vec<Vec<String>> = (0..=threads).map(|_| Vec::new()).collect();
        // The last thread is sometimes made and joined by another one than main.
        let nested = threads > 1 && dice.roll(3) == 0;
        let mut budget = 7;
        for (thread, body) in bodies.iter_mut().enumerate() {
            let known = known_to(thread, threads, nested);
            let most = if threads > 2 { 2 } else { 4 };
            for _ in 0..dice.roll(most + 1).min(budget) {
                let family = families[dice.roll(families.len())];
                let item = family[dice.roll(family.len())];
                let words: Vec<String> = item.split(' ').map(|word| fill(word, &known, &mut dice)).collect();
                // Words of one item are about the same objects.
                let digits = words[0].split_once('.').map(|(_, d)| d.to_owned());
                body.extend(words.into_iter().map(|w| match (&digits, w.split_once('.')) {
                    (Some(d), Some((name, own))) if own.len() == d.len() && item.contains(' ') => format!("{name}.{d}"),
                    _ => w,
                }));
                budget -= 1;
            }
        }
        for thread in (1..=threads).rev() {
            let parent = if nested && thread == threads { 1 } else { 0 };
            let join = ["join", "join", "tryjoin", "timedjoin"][dice.roll(4)];
            bodies[parent].insert(0, format!("spawn.{thread}"));
            bodies[parent].push(format!("{join}.{thread}"));
        }
        Self { bodies }
    }

    /// The program that was written as by `{:?}`.
    pub(crate) fn parse(text: &str) -> Self {
        let bodies = text.split('/').map(|body| body.split_whitespace().map(str::to_owned).collect()).collect();
        Self { bodies }
    }

    /// Arguments for the interpreter.
    pub(crate) fn arguments(&self) -> Vec<String> {
        self.bodies.iter().map(|body| body.join(" ")).collect()
    }

    /// Whether it has a word that begins so.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.bodies.iter().flatten().any(|w| w.starts_with(word))
    }

    /// The smallest program that still fails, as far as leaving out words leads.
    pub(crate) fn shrink(&self, fails: &mut dyn FnMut(&Self) -> bool) -> Self {
        let mut best = self.clone();
        loop {
            let mut smaller = None;
            'search: for body in 0..best.bodies.len() {
                for word in 0..best.bodies[body].len() {
                    let mut candidate = best.clone();
                    let gone = candidate.bodies[body].remove(word);
                    if let Some(thread) = gone.strip_prefix("spawn.") {
                        // Nobody can join, cancel or signal a thread that is not there.
                        for other in &mut candidate.bodies {
                            other.retain(|w| !about_thread(w) || !w.contains(&format!(".{thread}")));
                        }
                    } else if gone.contains("join") {
                        continue;
                    }
                    if fails(&candidate) {
                        smaller = Some(candidate);
                        break 'search;
                    }
                }
            }
            match smaller {
                Some(candidate) => best = candidate,
                None => return best,
            }
        }
    }
}

fn about_thread(word: &str) -> bool {
    ["join", "tryjoin", "timedjoin", "cancel.", "threadkill"].iter().any(|w| word.starts_with(w))
}

/// The threads that one can name: those that are surely made when it runs, and not joined before it has ended. Main makes them in order,
/// and joins the last one first.
fn known_to(thread: usize, threads: usize, nested: bool) -> Vec<usize> {
    let by_main = if nested { threads - 1 } else { threads };
    match thread {
        0 => (1..=by_main).collect(),
        1 if nested => vec![1, threads],
        _ if thread > by_main => vec![1, thread],
        _ => (1..=thread).collect(),
    }
}

/// Puts digits into a word. `{T}` is a thread that main makes before it does anything else.
fn fill(word: &str, known: &[usize], dice: &mut Dice) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, (range, after))) = rest.split_once('{').and_then(|(b, r)| Some((b, r.split_once('}')?))) {
        let digit = match range {
            "T" => known[dice.roll(known.len())],
            n => dice.roll(n.parse().expect("a number")),
        };
        out.push_str(before);
        out.push_str(&digit.to_string());
        rest = after;
    }
    out.push_str(rest);
    out
}
