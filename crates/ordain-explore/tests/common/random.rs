//! Random programs over all primitives.

use super::{CELLS, I, Opts, Program};
use ordain_model::{Wait, mutex_kind};

/// A small generator of random numbers, so that a program is known by its seed.
pub struct Dice {
    state: u64,
    /// Whether programs are about few objects, and wait in all ways alike.
    focused: bool,
    /// What programs are about.
    topics: &'static [Topic],
}

impl Dice {
    pub fn new(seed: u64) -> Self {
        let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
        Self { state, focused: false, topics: &TOPICS[..COMMON_TOPICS] }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn wait(&mut self) -> Wait {
        match self.below(if self.focused { 4 } else { 8 }) {
            0 => Wait::Try,
            1 => Wait::Timed,
            2 => Wait::Interruptible,
            _ => Wait::Block,
        }
    }
}

impl Dice {
    /// As [`Dice::wait`], for locks: waiting for them cannot be broken off.
    fn lock_wait(&mut self) -> Wait {
        match self.wait() {
            Wait::Interruptible => Wait::Block,
            wait => wait,
        }
    }
}

/// How many topics all programs may be about. The others need several instructions that fit together, so programs about few things have them.
const COMMON_TOPICS: usize = 18;

/// Which primitives a program is about.
#[derive(Clone, Copy)]
pub enum Topic {
    Memory,
    Mutex,
    RwLock,
    Condvar,
    Semaphore,
    Barrier,
    Once,
    Channel,
    Park,
    Futex,
    Threads,
    Choice,
    Spin,
    Outside,
    Cancel,
    Signal,
    Share,
    Crash,
    Ready,
    Files,
}

const TOPICS: [Topic; 20] = [
    Topic::Memory,
    Topic::Mutex,
    Topic::RwLock,
    Topic::Condvar,
    Topic::Semaphore,
    Topic::Barrier,
    Topic::Once,
    Topic::Channel,
    Topic::Park,
    Topic::Futex,
    Topic::Threads,
    Topic::Choice,
    Topic::Spin,
    Topic::Outside,
    Topic::Cancel,
    Topic::Signal,
    Topic::Share,
    Topic::Crash,
    Topic::Ready,
    Topic::Files,
];

const SHIFTING: [Topic; 5] = [Topic::Share, Topic::Share, Topic::Spin, Topic::Spin, Topic::Signal];

fn instruction(dice: &mut Dice, topic: Topic, threads: usize, channels: usize, out: &mut Vec<I>) {
    if dice.focused && dice.chance(8) {
        out.push(I::Cancel(dice.below(threads)));
    }
    let one = dice.focused && dice.chance(80);
    let two = if one { 0 } else { dice.below(2) };
    let cell = if one { 0 } else { dice.below(CELLS) };
    // Only what waits for something from outside, for a thread or for a semaphore can be broken off.
    let any = dice.wait();
    let wait = if any == Wait::Interruptible { Wait::Block } else { any };
    match topic {
        Topic::Memory => out.push(match dice.below(7) {
            0 | 1 => I::Load(cell),
            2 | 3 => I::Store(cell, dice.below(3) as u64),
            4 => I::Add(cell),
            5 => I::Count(two, dice.chance(50)),
            _ => I::Cas(cell, dice.below(2) as u64, dice.below(3) as u64),
        }),
        Topic::Mutex => {
            out.push(I::Lock(two, wait));
            match dice.below(4) {
                0 => instruction(dice, Topic::Memory, threads, channels, out),
                1 => out.push(I::Lock(1 - two, dice.lock_wait())),
                _ => {}
            }
            if dice.chance(10) {
                out.push(I::MakeConsistent(two));
            }
            if dice.chance(if dice.focused { 60 } else { 90 }) {
                out.push(I::Unlock(two));
            }
            if dice.chance(60) {
                out.push(I::Unlock(1 - two));
            }
            match dice.below(20) {
                0 => out.push(I::Destroy(two)),
                1 => out.push(I::FreeMutex(two)),
                2 => out.push(I::InitMutex(two)),
                _ => {}
            }
        }
        Topic::RwLock => {
            out.push(if dice.chance(60) { I::Read(two, wait) } else { I::Write(two, wait) });
            match dice.below(5) {
                0 => instruction(dice, Topic::Memory, threads, channels, out),
                1 => out.push(I::Read(1 - two, dice.lock_wait())),
                2 => out.push(I::Write(1 - two, dice.lock_wait())),
                _ => {}
            }
            if dice.chance(90) {
                out.push(I::Release(two));
            }
            if dice.chance(60) {
                out.push(I::Release(1 - two));
            }
            if dice.chance(5) {
                out.push(I::InitRwLock(two));
            }
        }
        Topic::Condvar => match dice.below(if dice.focused { 11 } else { 8 }) {
            0..=2 => {
                out.push(I::Lock(two, Wait::Block));
                out.push(I::CondWait(cell, two, wait));
                out.push(I::Unlock(two));
            }
            3 | 4 => out.push(I::Notify(cell, if dice.chance(60) { 1 } else { u32::MAX })),
            5 if dice.chance(50) => out.push(I::DestroyCond(cell)),
            5 => out.push(I::InitCond(cell)),
            8 | 9 => out.extend([I::Lock(two, Wait::Try), I::Unlock(two)]),
            10 => out.push(I::Cancel(dice.below(threads))),
            _ => {
                out.push(I::Lock(two, Wait::Block));
                out.push(I::Notify(cell, 1));
                out.push(I::Unlock(two));
            }
        },
        Topic::Semaphore => {
            out.push(match dice.below(20) {
                0 => I::InitSemaphore(two),
                1..=7 => I::Post(two),
                _ => I::Acquire(two, any),
            });
        }
        Topic::Barrier => out.push(if dice.chance(10) { I::InitBarrier(two) } else { I::Barrier(two) }),
        Topic::Once => {
            out.push(match dice.below(10) {
                0..=4 => I::Once(two),
                5 | 6 => I::OnceFail(two),
                _ => I::OnceCheck(two),
            });
        }
        Topic::Channel => {
            let channel = dice.below(channels);
            out.push(match dice.below(10) {
                0..=3 => I::Send(channel, wait),
                4..=6 => I::Receive(channel, wait),
                7 => I::DropSender(channel),
                8 => I::CloneSender(channel),
                _ => I::DropReceiver(channel),
            });
        }
        Topic::Park => {
            out.push(if dice.chance(50) { I::Park(wait) } else { I::Unpark(dice.below(threads)) });
        }
        Topic::Futex => out.push(match dice.below(6) {
            0 | 1 => I::FutexWait(cell, dice.below(2) as u64, wait),
            2 => I::FutexWake(cell, 1 + dice.below(2) as u32),
            3 => I::Requeue(cell, 1 - cell),
            4 => I::Store(cell, dice.below(2) as u64),
            _ => I::FutexWake(cell, u32::MAX),
        }),
        Topic::Threads => out.push(match dice.below(9) {
            0 | 1 => I::IsFinished(dice.below(threads)),
            2..=4 => I::Join(dice.below(threads), any),
            5 => I::Detach(dice.below(threads)),
            6 => I::Spawn(dice.below(threads)),
            7 => I::Start,
            _ => I::Yield,
        }),
        Topic::Choice => out.push(match dice.below(4) {
            0 => I::Choose(2 + dice.below(2) as u32),
            1 => I::SkipIfOdd(1),
            2 => I::SkipIfFailed(1),
            _ => I::Sleep,
        }),
        Topic::Outside => out.push(match dice.below(10) {
            8 => I::Crash,
            0 | 1 => I::Raise(two),
            2 | 3 => I::Await(two, any),
            4 => I::Poll(any),
            5 | 6 => I::Cancel(dice.below(threads)),
            7 => I::TestCancel,
            _ => I::End,
        }),
        Topic::Cancel => match dice.below(8) {
            0..=2 => out.push(I::Cancel(dice.below(threads))),
            3 => out.push(I::TestCancel),
            4 => out.push(I::SetCancel(dice.chance(50))),
            5 => out.push(I::Acquire(two, any)),
            6 => out.push(I::Lock(two, if dice.chance(30) { Wait::Interruptible } else { Wait::Block })),
            _ => {
                let wait = if dice.chance(60) { Wait::Interruptible } else { Wait::Timed };
                out.extend([I::Lock(two, Wait::Block), I::CondWait(cell, two, wait), I::Unlock(two)]);
                if dice.chance(50) {
                    out.push(I::Notify(cell, 1));
                }
            }
        },
        Topic::Signal => out.push(match dice.below(9) {
            0 | 1 => I::Kill(dice.below(threads), 1 + two as u32),
            2 | 3 => I::KillAny(1 + two as u32),
            4 | 5 => I::Block(dice.below(4) as u64),
            6 if dice.focused && dice.chance(30) => I::HandleOnce,
            6 => I::Ignore(dice.below(3) as u64),
            7 => I::Sleep,
            _ => I::TakeSignal(1 + dice.below(3) as u64, any),
        }),
        Topic::Share => out.push(match dice.below(9) {
            0 => I::AddShare(two),
            1 => I::Count(two, true),
            2 => I::Store(cell, 1),
            3 => I::ShareSpin(two),
            4 => I::SkipIfOdd(1),
            _ => I::DropShare(two),
        }),
        Topic::Ready => out.push(match dice.below(10) {
            0..=2 => I::Feed(two),
            3 => I::Shut(two),
            4 | 5 => I::Watch(two),
            6 => I::Await(two, any),
            7 => I::Poll(any),
            _ => I::PollSet(any),
        }),
        Topic::Files => out.push(match dice.below(9) {
            0 | 1 => I::MakeName(two),
            2 => I::OpenName(two),
            3 | 4 => I::LookAtFile(two),
            5 | 6 => I::ChangeFile(two),
            7 => I::RemoveName(two),
            _ => I::LinkName(two, 1 - two),
        }),
        // What comes of a step decides whether the thread crashes.
        Topic::Crash => {
            let topic = if dice.chance(30) { Topic::Choice } else { TOPICS[dice.below(COMMON_TOPICS - 1)] };
            instruction(dice, topic, threads, channels, out);
            match dice.below(4) {
                0 => out.push(I::SkipIfOdd(1)),
                1 => out.push(I::SkipIfFailed(1)),
                2 => out.push(I::SkipUnlessFailed(1)),
                _ => {}
            }
            out.push(if dice.chance(80) { I::Crash } else { I::End });
        }
        Topic::Spin => match dice.below(16) {
            12 => out.push(I::UpdateSpin(cell)),
            13 => out.push(I::LateSpin(cell)),
            14 => out.push(I::Store(cell, 1)),
            10 => out.push(I::BusyUntilSet(0)),
            11 => out.push(I::BusyLoop(cell, 2 + dice.below(2))),
            9 => out.push(I::LongLoop(cell, 9 + dice.below(4))),
            0 => out.push(I::SpinUntilSet(cell)),
            1 => out.push(I::BareSpin(cell)),
            2 => out.extend([I::RetryLock(two), I::Unlock(two)]),
            3 => out.push(I::RetryReceive(dice.below(channels.min(2)))),
            4 => out.extend([I::Lock(two, Wait::Block), I::RetryWait(cell, two), I::Unlock(two)]),
            5 => out.push(I::Notify(cell, 1)),
            6 => out.push(I::Send(0, Wait::Block)),
            _ => out.push(I::Store(cell, 1)),
        },
    }
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    make(Dice::new(seed))
}

/// The program of a seed, about one or two primitives and few objects.
pub fn focused_program(seed: u64) -> Program {
    make(Dice { focused: true, topics: &TOPICS, ..Dice::new(seed) })
}

/// The program of a seed, about what is not the same wherever it comes: shares, of which one is the last, threads that spin and are held,
/// and signals that come meanwhile.
pub fn shifting_program(seed: u64) -> Program {
    make(Dice { focused: (seed / 8).is_multiple_of(2), topics: &SHIFTING, ..Dice::new(seed) })
}

fn make(mut dice: Dice) -> Program {
    let threads = 2 + dice.below(3);
    let mut channels = vec![u64::MAX, 1 + dice.below(2) as u64, 0];
    if dice.focused {
        let kind = dice.below(3);
        channels = vec![channels[kind]];
    }
    let most = if dice.focused { 2 } else { 3 };
    let about = dice.topics;
    let topics: Vec<Topic> = (0..1 + dice.below(most)).map(|_| about[dice.below(about.len())]).collect();
    let longest = if threads == 2 { 5 } else { 3 };
    let mut bodies = Vec::new();
    for _ in 0..threads {
        let mut body = Vec::new();
        for _ in 0..1 + dice.below(longest) {
            let topic = if dice.chance(15) { Topic::Choice } else { topics[dice.below(topics.len())] };
            instruction(&mut dice, topic, threads, channels.len(), &mut body);
        }
        bodies.push(body);
    }
    // Two threads that wait and keep each other busy go on for ever, and no search can end that; one is enough.
    let mut busy = bodies.iter_mut().flatten().filter(|i| matches!(i, I::BusyUntilSet(_)));
    busy.next();
    busy.for_each(|i| *i = I::Yield);
    if dice.focused && dice.chance(50) {
        // So that there may be no sender left.
        bodies.iter_mut().for_each(|body| body.push(I::DropSender(0)));
    }
    // Main mostly only spawns, so that there is room for interleaving among the others.
    if dice.chance(60) {
        bodies.insert(0, Vec::new());
        bodies.truncate(4);
    }
    // Some threads are spawned by others than main.
    for thread in 2..bodies.len() {
        if dice.chance(20) {
            let spawner = 1 + dice.below(thread - 1);
            let place = dice.below(bodies[spawner].len() + 1);
            bodies[spawner].insert(place, I::Spawn(thread));
        }
    }
    let kinds = [mutex_kind::NORMAL, mutex_kind::RECURSIVE, mutex_kind::ERROR_CHECKING, mutex_kind::ROBUST];
    let kind =
        |dice: &mut Dice| if dice.chance(if dice.focused { 25 } else { 70 }) { kinds[0] } else { kinds[dice.below(4)] };
    Program {
        threads: bodies,
        channels,
        barrier: 1 + dice.below(3) as u64,
        semaphore: dice.below(3) as u64,
        mutexes: vec![kind(&mut dice), kind(&mut dice)],
        prefers_writers: dice.chance(50),
        tickets: dice.chance(50),
        options: Opts { spurious: dice.chance(10), kind_time: dice.chance(10), turns: dice.chance(15) },
    }
}

/// Makes a program smaller as long as `fails` holds.
pub fn shrink(program: &Program, fails: &dyn Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let mut candidates = Vec::new();
        for thread in (0..best.threads.len()).rev() {
            if best.threads.len() > 1 {
                let mut smaller = best.clone();
                smaller.threads.remove(thread);
                candidates.push(smaller);
            }
            for i in 0..best.threads[thread].len() {
                let mut smaller = best.clone();
                smaller.threads[thread].remove(i);
                candidates.push(smaller);
            }
        }
        if best.options != Opts::default() {
            candidates.push(Program { options: Opts::default(), ..best.clone() });
        }
        match candidates.into_iter().find(|c| fails(c)) {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}
