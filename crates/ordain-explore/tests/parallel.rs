//! Divided and interrupted searches against undivided ones: simulated workers, with delays, losses, repetitions and deaths.
//!
//! `ORDAIN_PROGRAMS` sets how many programs (3,000 unless told), `ORDAIN_FIRST_SEED` where they begin.

mod common;

use common::{I, Interpreter, Program, explore, random};
use ordain_explore::frontier::{
    Accepted, Connection, Controller, Divisible, Done, Explored, Pace, Rule, SharedController, Task, explore_connected,
    explore_fragment,
};
use ordain_explore::strategy::{Dfs, Kind, Optimal, Source};
use ordain_explore::{Class, Summary, Target, class_of, search};
use ordain_model::{End, Named, Wait, mutex_kind};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A random number generator whose whole state is a number.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What goes wrong, in percent.
#[derive(Clone, Copy, Debug)]
struct Weather {
    lost: u64,
    repeated: u64,
    dies: u64,
    /// The controller dies, and is taken up as it was last kept.
    forgets: u64,
}

const FINE: Weather = Weather { lost: 0, repeated: 0, dies: 0, forgets: 0 };
const FOUL: Weather = Weather { lost: 10, repeated: 20, dies: 10, forgets: 2 };

/// What a worker sends back.
#[derive(Clone)]
struct Message {
    done: Done,
    classes: Vec<Class>,
}

fn strategy(rule: Rule) -> Box<dyn Divisible> {
    match rule {
        Rule::Optimal => Box::new(Optimal::default()),
        Rule::Source => Box::new(Source::default()),
    }
}

/// A controller that connected workers reach.
struct Shared(Rc<RefCell<Controller>>);

impl SharedController for Shared {
    fn read(&self, look: &mut dyn FnMut(&Controller)) -> bool {
        look(&self.0.borrow());
        true
    }

    fn write(&self, change: &mut dyn FnMut(&mut Controller)) -> bool {
        change(&mut self.0.borrow_mut());
        true
    }
}

/// A worker: names threads and objects by itself.
struct Simulated(Interpreter);

impl Simulated {
    /// Explores a fragment for so many executions at most. With a connection it tells at once what is to be done elsewhere.
    fn work(
        &mut self,
        rule: Rule,
        task: &Task,
        births: &[Named],
        most: u64,
        connection: Option<Connection>,
    ) -> Message {
        if !self.0.arbiter.names_mut().agree(births) {
            self.0 = Interpreter::new(self.0.program.clone());
            assert!(self.0.arbiter.names_mut().agree(births), "names can be taken over at the beginning");
        }
        if let Some(done) = task.outdated(self.0.arbiter.long_loops()) {
            return Message { done, classes: Vec::new() };
        }
        for site in &task.loops {
            self.0.arbiter.know_long_loop(*site);
        }
        let mut classes = Vec::new();
        let mut observe = |target: &mut Interpreter, summary: &Summary| {
            let execution = target.execution();
            if let End::Diverged(divergence) = &execution.end {
                panic!("diverged: {divergence:?}");
            }
            if !matches!(execution.end, End::Cut) {
                classes.push(class_of(execution));
            }
            let over = summary.executions + summary.blocked >= most;
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (target, mut strategy) = (&mut self.0, strategy(rule));
        let (mut explored, summary) = match connection {
            Some(connection) => explore_connected(target, &mut *strategy, &task.fragment, connection, &mut observe),
            None => explore_fragment(target, &mut *strategy, &task.fragment, &mut observe),
        };
        assert!(!explored.mistaken, "a planned step touched other things than was thought");
        explored.loops = self.0.arbiter.long_loops().to_vec();
        let births = self.0.arbiter.names().births(task.names).collect();
        Message { done: Done { lease: task.lease, explored, names: task.names, births, summary }, classes }
    }
}

/// What a divided search has done.
#[derive(Clone, Default)]
struct Divided {
    classes: BTreeMap<Class, u64>,
    blocked: u64,
}

/// Explores a program with simulated workers; `connected` ones reach the controller while they explore.
fn divide(program: &Program, rule: Rule, seed: u64, weather: Weather, connected: bool) -> Divided {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 77);
    let workers = 1 + rng.below(5) as usize;
    let most = [1, 2, 5, 1000][rng.below(4) as usize];
    let mut fleet: Vec<Simulated> = (0..workers).map(|_| Simulated(Interpreter::new(program.clone()))).collect();
    let shared = Rc::new(RefCell::new(Controller::new(rule, Pace::LOCAL)));
    let mut assigned: Vec<(Task, Vec<Named>)> = Vec::new();
    let mut messages: Vec<Message> = Vec::new();
    let mut lost: Vec<u64> = Vec::new();
    let mut divided = Divided::default();
    let mut kept: Option<(Vec<u8>, Divided)> = None;
    for _ in 0..2_000_000 {
        let mut controller = shared.borrow_mut();
        if controller.is_finished() {
            divided.blocked = controller.total().blocked;
            return divided;
        }
        if rng.chance(weather.forgets) {
            if let Some((bytes, then)) = &kept {
                *controller = postcard::from_bytes(bytes).expect("what was kept");
                assert!(controller.is_intact(), "what was kept fits together");
                controller.take_over();
                divided = then.clone();
                kept = Some((postcard::to_allocvec(&*controller).expect("bytes"), divided.clone()));
            }
        } else if rng.chance(weather.forgets) {
            kept = Some((postcard::to_allocvec(&*controller).expect("bytes"), divided.clone()));
        }
        match rng.below(4) {
            0 if assigned.len() < workers => {
                if let Some(task) = controller.assign(1, workers, 0) {
                    assigned.push((task, controller.births(0)));
                }
            }
            1 if !assigned.is_empty() => {
                let (task, births) = assigned.swap_remove(rng.below(assigned.len() as u64) as usize);
                if rng.chance(weather.dies) {
                    lost.push(task.lease);
                } else {
                    let (worker, most) = (rng.below(workers as u64) as usize, 1 + rng.below(most));
                    let connect = || Connection::new(Box::new(Shared(shared.clone())), &controller, &task);
                    let connection = connected.then(connect);
                    drop(controller);
                    messages.push(fleet[worker].work(rule, &task, &births, most, connection));
                }
            }
            2 if !messages.is_empty() => {
                let place = rng.below(messages.len() as u64) as usize;
                let message =
                    if rng.chance(weather.repeated) { messages[place].clone() } else { messages.swap_remove(place) };
                if rng.chance(weather.lost) {
                    lost.push(message.done.lease);
                    continue;
                }
                match controller.accept(message.done) {
                    Accepted::Counts => {
                        for class in message.classes {
                            *divided.classes.entry(class).or_default() += 1;
                        }
                    }
                    Accepted::Stale => {}
                    Accepted::Restarted => divided = Divided::default(),
                    Accepted::Malformed => panic!("a result is taken for malformed"),
                }
            }
            // Whoever waits too long for a result takes the lease back, even if the result is only late.
            3 if !lost.is_empty() => {
                controller.release(lost.swap_remove(rng.below(lost.len() as u64) as usize));
            }
            _ => {}
        }
    }
    panic!("the search does not come to an end: {workers} workers, {:?}", shared.borrow().division());
}

/// Explores a program with one worker that dies again and again, and goes on with what was kept of its search. Gives executions in all, too.
fn interrupt(program: &Program, kind: Kind, seed: u64) -> (Divided, u64) {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 99);
    let rule = kind.rule().expect("what is left can be told");
    let mut kept: Option<(Vec<u8>, Divided)> = None;
    'lives: loop {
        let mut target = Interpreter::new(program.clone());
        let mut strategy = kind.make(seed, 3);
        let (mut total, mut done) = (Summary::default(), Divided::default());
        if let Some((bytes, then)) = &kept {
            let mut controller: Controller = postcard::from_bytes(bytes).expect("what was kept");
            assert!(controller.is_intact() && controller.is_whole(), "what was kept fits together");
            controller.take_over();
            (total, done) = (controller.total(), then.clone());
            let Some((task, births)) = controller.whole() else { return (done, total.executions) };
            assert!(target.arbiter.names_mut().agree(&births), "names can be taken over at the beginning");
            for site in &task.loops {
                target.arbiter.know_long_loop(*site);
            }
            let strategy = strategy.divisible().expect("it can be loaded");
            strategy.load(&task.fragment);
            strategy.go_on_after(total.executions);
        }
        loop {
            let most = 1 + rng.below(5);
            let summary = search(&mut target, &mut *strategy, &mut |target, summary| {
                let execution = target.execution();
                if execution.learned {
                    done = Divided::default();
                } else if !matches!(execution.end, End::Cut) {
                    *done.classes.entry(class_of(execution)).or_default() += 1;
                }
                let over = summary.executions + summary.blocked >= most;
                if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if summary.restarted {
                (total.executions, total.blocked) = (0, 0);
            }
            total.add(&summary);
            if summary.exhausted {
                done.blocked = total.blocked;
                return (done, total.executions);
            }
            if rng.chance(40) {
                let loops = target.arbiter.long_loops().to_vec();
                let explored = Explored { loops, ..strategy.divisible().expect("it can be told").unload() };
                let controller = Controller::undivided(rule, explored, target.arbiter.names(), total);
                let bytes = postcard::to_allocvec(&controller.expect("what is left makes sense")).expect("bytes");
                kept = Some((bytes, done.clone()));
            }
            if rng.chance(20) {
                continue 'lives;
            }
        }
    }
}

fn check(program: &Program, seed: u64) -> Option<Result<(), String>> {
    for rule in [Rule::Optimal, Rule::Source] {
        let whole = match rule {
            Rule::Optimal => explore(program, &mut Optimal::default(), 2_000),
            Rule::Source => explore(program, &mut Source::default(), 2_000),
        };
        if whole.limited {
            return None;
        }
        let plain = explore(program, &mut Dfs::default(), 500);
        if !plain.limited && !plain.classes.keys().eq(whole.classes.keys()) {
            return Some(Err(format!("{rule:?}: other classes than plain search has")));
        }
        let weather = if seed.is_multiple_of(2) { FINE } else { FOUL };
        let kind = if rule == Rule::Optimal { Kind::Optimal } else { Kind::Source };
        let (interrupted, _) = interrupt(program, kind, seed);
        let divided = divide(program, rule, seed, weather, false);
        let connected = divide(program, rule, seed, weather, true);
        for (how, other) in [("divided", &divided), ("connected", &connected), ("interrupted", &interrupted)] {
            let missed = whole.classes.keys().filter(|c| !other.classes.contains_key(c)).count();
            let invented = other.classes.keys().filter(|c| !whole.classes.contains_key(c)).count();
            let twice = other.classes.values().filter(|n| **n > 1).count();
            if missed + invented + twice > 0 {
                let all = whole.classes.len();
                return Some(Err(format!(
                    "{rule:?}, {how}: of {all} classes {missed} missed, {twice} twice; {invented} invented"
                )));
            }
        }
        let executions = interrupt(program, Kind::Portfolio, seed).1;
        let wanted = 2 * whole.classes.len() as u64 - 1;
        if rule == Rule::Optimal && executions != wanted {
            return Some(Err(format!("portfolio: {executions} executions, not {wanted}, when it is interrupted")));
        }
        let blocked = divided.blocked + connected.blocked + interrupted.blocked;
        if rule == Rule::Optimal && blocked > 0 {
            return Some(Err("optimal: a run was blocked by sleep sets".into()));
        }
    }
    Some(Ok(()))
}

fn check_caught(program: &Program, seed: u64) -> Option<Result<(), String>> {
    catch_unwind(AssertUnwindSafe(|| check(program, seed))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Some(Err(format!("panic: {}", text.unwrap_or("?"))))
    })
}

/// Every other program is about what is hardest to foresee.
fn program(seed: u64) -> Program {
    if matches!(seed % 4, 1 | 2) { random::shifting_program(seed) } else { random::program(seed) }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn a_thread_that_spins_when_another_one_crashes_is_planned_with_what_it_watches() {
    let threads = vec![
        vec![I::Lock(1, Wait::Block), I::CondWait(1, 1, Wait::Block)],
        vec![I::Lock(0, Wait::Block), I::RetryWait(1, 0)],
        vec![I::Crash],
    ];
    let program = Program::new(threads);
    for seed in 0..100 {
        let result = check(&program, seed).expect("it is small");
        assert_eq!(result, Ok(()), "seed {seed}");
    }
}

#[test]
fn a_thread_that_ends_with_a_robust_mutex_touches_it_wherever_it_ends() {
    for first in [I::Crash, I::KillAny(2)] {
        let threads = vec![vec![first], vec![I::Lock(1, Wait::Block)]];
        let program = Program { mutexes: vec![mutex_kind::ROBUST; 2], ..Program::new(threads) };
        for seed in 0..100 {
            let result = check(&program, seed).expect("it is small");
            assert_eq!(result, Ok(()), "{first:?}, seed {seed}");
        }
    }
}

#[test]
fn workers_that_learned_of_a_long_loop_do_not_take_old_tasks_for_mistakes() {
    let program = Program::new(vec![vec![I::LateSpin(1)], vec![I::Store(1, 1)], vec![I::KillAny(2)]]);
    for seed in 0..20 {
        let result = check(&program, seed).expect("it is small");
        assert_eq!(result, Ok(()), "seed {seed}");
    }
}

#[test]
fn a_thread_that_spins_when_a_signal_comes_is_planned_with_what_it_watches_in_any_order() {
    let spin = vec![I::Lock(0, Wait::Block), I::RetryWait(0, 0)];
    let program = Program::new(vec![vec![I::Ignore(2)], spin, vec![I::KillAny(2)]]);
    for seed in 0..20 {
        let result = check(&program, seed).expect("it is small");
        assert_eq!(result, Ok(()), "seed {seed}");
    }
}

#[test]
fn what_giving_up_a_share_leaves_is_foreseen_behind_whatever_comes_before_it() {
    let last = vec![I::DropShare(1), I::Store(0, 1)];
    let program = Program::new(vec![vec![I::DropShare(1)], last.clone(), last]);
    for seed in 0..100 {
        let result = check(&program, seed).expect("it is small");
        assert_eq!(result, Ok(()), "seed {seed}");
    }
}

#[test]
#[allow(clippy::print_stderr)] // Tells the counter-examples.
fn divided_searches_explore_the_same_classes_each_once() {
    let first = number("ORDAIN_FIRST_SEED", 0);
    // So many seeds, whichever of them are too large to check: always the same programs.
    let seeds = first..first + number("ORDAIN_PROGRAMS", 4_000);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let failures = std::sync::Mutex::new(Vec::new());
    let (next, checked) = (std::sync::atomic::AtomicU64::new(first), std::sync::atomic::AtomicU64::new(0));
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (seeds, failures, next, checked) = (&seeds, &failures, &next, &checked);
            scope.spawn(move || {
                while failures.lock().expect("no panic").len() < 5 {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if !seeds.contains(&seed) {
                        break;
                    }
                    let program = program(seed);
                    if let Some(result) = check_caught(&program, seed) {
                        checked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if let Err(why) = result {
                            failures.lock().expect("no panic").push((seed, why, program));
                        }
                    }
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    let failures = failures.into_inner().expect("no panic");
    for (seed, why, program) in &failures {
        let small = random::shrink(program, &|p| matches!(check_caught(p, *seed), Some(Err(_))));
        let why_small = check_caught(&small, *seed).and_then(Result::err).unwrap_or_default();
        eprintln!("seed {seed}: {why}\nshrunk: {why_small}\n{small:?}\n");
    }
    assert!(failures.is_empty(), "{} programs fail", failures.len());
    eprintln!("{} programs checked", checked.into_inner());
}
