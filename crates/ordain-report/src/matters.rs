//! Which steps of an execution a reader should see: those that the failure depends on.
//!
//! What went wrong has objects of its own: locks that are waited for, what the thread that failed shares with others. But a value may be wrong
//! because of steps that this thread had no part in: two others check and act under a lock, and main sees the result after joining
//! them. So steps matter too if they happen before the failure and are about objects that several threads use in an order that
//! counts. Long loops stay folded: there is a limit, and the weightiest and last steps come first.

use crate::story::{Step, Switch};
use ordain_model::{Access, Execution, ObjectId, Operation, ThreadId};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Steps that are marked for readers, at most.
const MOST: usize = 48;
/// A schedule this short is shown whole.
const SHORT: usize = 16;
/// Preemptions around which steps are preferred, from the last one.
const PREEMPTIONS: usize = 6;
/// Steps of the preempted thread that are preferred on either side of a preemption, and of others in between.
const AROUND: usize = 4;

/// Steps that say nothing by themselves.
const NOISE: [&str; 7] = ["", "start", "look", "count", "add-share", "drop-share", "clone-sender"];

/// What the failure is about.
pub(crate) struct Focus {
    /// Its objects, by their places in the story.
    pub(crate) objects: Vec<usize>,
    /// The thread that ended the execution.
    pub(crate) culprit: Option<usize>,
    /// Whether the objects alone tell all: threads wait for each other in a cycle.
    pub(crate) complete: bool,
}

/// Marks the steps of a whole execution that a reader should see; `writes` tells of each whether it changes something.
pub(crate) fn mark(steps: &mut [Step], writes: impl Fn(usize) -> bool, focus: &Focus) {
    let count = steps.len();
    let ordered = if focus.complete { vec![false; count] } else { happen_before_failure(steps, focus.culprit) };
    let shared = shared(steps, writes, &ordered);
    let depends: Vec<bool> = steps
        .iter()
        .map(|step| ordered[step.number] && (step.verb == "join" || step.objects.iter().any(|o| shared.contains(o))))
        .collect();
    let around = around_preemptions(steps, &depends);
    let mut last_of: HashMap<usize, usize> = HashMap::new();
    for step in steps.iter() {
        last_of.insert(step.thread, step.number);
    }
    let mut chosen: Vec<(u8, usize)> = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let weight = match () {
            () if i + 1 == count => 0,
            () if step.switch == Switch::Preemption => 0,
            () if is_noise(step) => continue,
            () if around.contains(&i) => 1,
            () if step.objects.iter().any(|o| focus.objects.contains(o)) => 2,
            () if focus.culprit == Some(step.thread) && last_of.get(&step.thread) == Some(&i) => 2,
            () if step.verb == "spawn" => 3,
            () if depends[i] => 4,
            () if count <= SHORT => 5,
            () => continue,
        };
        chosen.push((weight, i));
    }
    // If there are too many, the last ones of the weightiest are seen.
    chosen.sort_by_key(|(weight, i)| (*weight, Reverse(*i)));
    for (_, i) in chosen.into_iter().take(MOST) {
        steps[i].matters = true;
    }
}

fn is_noise(step: &Step) -> bool {
    NOISE.contains(&step.verb.as_str())
}

/// Which steps happen before the last one of the culprit, it included; without a culprit all do.
fn happen_before_failure(steps: &[Step], culprit: Option<usize>) -> Vec<bool> {
    let Some(culprit) = culprit else { return vec![true; steps.len()] };
    let mut ordered = vec![false; steps.len()];
    // Of each thread, whether a later step is among them.
    let mut reached: HashSet<usize> = HashSet::from([culprit]);
    for step in steps.iter().rev() {
        if ordered[step.number] || reached.contains(&step.thread) {
            ordered[step.number] = true;
            reached.insert(step.thread);
            for before in &step.after {
                ordered[*before] = true;
            }
        }
    }
    ordered
}

/// Objects that several threads use in these steps, one of them in a way that makes the order count.
fn shared(steps: &[Step], writes: impl Fn(usize) -> bool, ordered: &[bool]) -> HashSet<usize> {
    let mut users: HashMap<usize, (usize, bool, bool)> = HashMap::new();
    for step in steps.iter().filter(|step| ordered[step.number] && !is_noise(step)) {
        let writes = writes(step.number);
        for object in &step.objects {
            let (first, several, written) = users.entry(*object).or_insert((step.thread, false, false));
            *several |= *first != step.thread;
            *written |= writes;
        }
    }
    users.into_iter().filter(|(_, (_, several, written))| *several && *written).map(|(object, _)| object).collect()
}

/// The steps next to the last preemptions that the failure depends on: what the preempted thread did before and after, and what others
/// did in between.
fn around_preemptions(steps: &[Step], depends: &[bool]) -> HashSet<usize> {
    let mut around = HashSet::new();
    let preemptions = steps.iter().filter(|step| step.switch == Switch::Preemption).map(|step| step.number);
    for at in preemptions.rev().take(PREEMPTIONS).filter(|at| *at > 0) {
        let preempted = steps[at - 1].thread;
        let of_preempted = |i: &usize| steps[*i].thread == preempted && depends[*i];
        let back = (at..steps.len()).find(|i| steps[*i].thread == preempted).unwrap_or(steps.len());
        around.extend((0..at).rev().filter(of_preempted).take(AROUND));
        around.extend((back..steps.len()).filter(of_preempted).take(AROUND));
        around.extend((at..back).filter(|i| depends[*i]).take(AROUND));
        around.extend((at..back).rev().filter(|i| depends[*i]).take(AROUND));
    }
    around
}

/// Who came before whom: for each object the last step that wrote it and those that have read it since.
#[derive(Default)]
pub(crate) struct Order {
    objects: HashMap<ObjectId, (Option<usize>, Vec<usize>)>,
    began: HashSet<ThreadId>,
}

impl Order {
    /// Steps of other threads that come directly before a step, by the objects that they have in common.
    pub(crate) fn push(&mut self, execution: &Execution, number: usize) -> Vec<usize> {
        let thread = execution.steps[number].thread;
        let mut after: Vec<usize> = Vec::new();
        let spawned = execution.spawned_by.get(thread.index()).copied().filter(|s| *s != u32::MAX);
        if self.began.insert(thread) {
            after.extend(spawned.map(|spawn| spawn as usize));
        }
        for access in execution.footprint(number).iter().filter(|a| **a != Access::EVERYTHING) {
            let (writer, readers) = self.objects.entry(access.object()).or_default();
            let mut note = |before: usize| {
                if execution.steps[before].thread != thread && !after.contains(&before) {
                    after.push(before);
                }
            };
            if access.is_write() {
                if readers.is_empty() {
                    writer.iter().for_each(|w| note(*w));
                } else {
                    readers.iter().for_each(|r| note(*r));
                }
                (*writer, *readers) = (Some(number), Vec::new());
            } else {
                writer.iter().for_each(|w| note(*w));
                readers.push(number);
            }
        }
        after.sort_unstable();
        after
    }
}

/// Whether an operation is about a reference count, which says nothing about what threads share.
pub(crate) fn is_count(op: &Operation) -> bool {
    matches!(op, Operation::Count { .. } | Operation::AddShare { .. } | Operation::DropShare { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(thread: usize, verb: &str, object: Option<usize>, after: &[usize]) -> Step {
        let objects = object.into_iter().collect();
        Step { thread, verb: verb.to_owned(), objects, after: after.to_vec(), ..Step::default() }
    }

    /// The numbers of the steps that matter, if main ended the execution.
    fn seen(mut steps: Vec<Step>, preempting: usize, writes: impl Fn(usize) -> bool) -> Vec<usize> {
        for (number, step) in steps.iter_mut().enumerate() {
            step.number = number;
        }
        steps[preempting].switch = Switch::Preemption;
        mark(&mut steps, writes, &Focus { objects: Vec::new(), culprit: Some(0), complete: false });
        steps.iter().filter(|s| s.matters).map(|s| s.number).collect()
    }

    /// Two threads that check and act `rounds` times, the first stopped in between, and main that joins both and looks.
    fn check_then_act(rounds: usize) -> (Vec<Step>, usize) {
        let mut steps = vec![step(0, "spawn", None, &[]), step(0, "spawn", None, &[])];
        let pair = |steps: &mut Vec<Step>, thread: usize| {
            steps.push(step(thread, "lock", Some(0), &[]));
            steps.push(step(thread, "unlock", Some(0), &[]));
        };
        steps.push(step(1, "start", None, &[0]));
        for _ in 0..rounds {
            pair(&mut steps, 1);
        }
        let preempting = steps.len();
        steps.push(step(2, "start", None, &[1]));
        for _ in 0..2 * rounds {
            pair(&mut steps, 2);
        }
        // What nobody else uses, and what all only read.
        steps.push(step(2, "lock", Some(1), &[]));
        steps.push(step(2, "load", Some(2), &[]));
        let second_ends = steps.len();
        steps.push(step(2, "exit", None, &[]));
        for _ in 0..rounds {
            pair(&mut steps, 1);
        }
        steps.push(step(1, "load", Some(2), &[]));
        steps.push(step(1, "exit", None, &[]));
        let joined = [steps.len() - 1, second_ends];
        steps.extend(joined.map(|end| step(0, "join", None, &[end])));
        steps.push(step(0, "crash", None, &[]));
        (steps, preempting)
    }

    #[test]
    fn what_the_failing_value_depends_on_is_seen_also_if_the_failing_thread_had_no_part_in_it() {
        let (steps, preempting) = check_then_act(1);
        let locks = |step: &Step| step.objects == [0] || ["spawn", "join", "crash"].contains(&step.verb.as_str());
        let mut wanted: Vec<usize> = (0..steps.len()).filter(|i| locks(&steps[*i]) || *i == preempting).collect();
        wanted.sort_unstable();
        let loads: Vec<usize> = (0..steps.len()).filter(|i| steps[*i].verb == "load").collect();
        assert_eq!(seen(steps, preempting, |number| !loads.contains(&number)), wanted);
    }

    #[test]
    fn long_loops_are_folded_but_not_around_preemptions() {
        let (steps, preempting) = check_then_act(200);
        let last = steps.len() - 1;
        let seen = seen(steps, preempting, |_| true);
        assert_eq!(seen.len(), MOST);
        let back = preempting + 1 + 800 + 3;
        for wanted in [preempting - 2, preempting - 1, preempting, preempting + 1, back, back + 1, last] {
            assert!(seen.contains(&wanted), "{wanted} in {seen:?}");
        }
    }

    #[test]
    fn what_comes_behind_the_failure_for_others_is_not_seen() {
        let mut steps: Vec<Step> = vec![step(0, "spawn", None, &[])];
        steps.extend((0..20).map(|_| step(0, "lock", Some(0), &[])));
        steps.push(step(0, "assert", None, &[]));
        steps.push(step(1, "start", None, &[0]));
        steps.extend((0..20).map(|_| step(1, "lock", Some(0), &[])));
        assert_eq!(seen(steps, 22, |_| true), [0, 21, 22, 42]);
    }
}
