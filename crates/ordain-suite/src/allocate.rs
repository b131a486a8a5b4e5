//! Which test goes on next.
//!
//! A test is known by its [`Standing`]: what it has cost, what it is estimated to cost in all, what it has found. Policies only
//! differ in the order that they make of standings, so the policy can change while a suite runs. The first two are those of
//! Simsa, Bryant and Gibson ("Systematic and Scalable Testing of Concurrent Programs", resource allocation): shortest
//! estimated remaining time first completes most tests; smallest estimated coverage first covers all tests evenly.

use serde::{Deserialize, Serialize};

/// What is aimed at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each test in turn.
    RoundRobin,
    /// Most completed tests: the test with the shortest estimated remaining time goes on.
    #[default]
    ShortestFirst,
    /// The same share of every test: the one with the smallest estimated share goes on.
    EvenCoverage,
    /// Most findings: tests that have found something lately, or were tried little, go on (an upper confidence bound).
    Findings,
    /// Time in proportion to the weights of tests.
    Weighted,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::RoundRobin, Self::ShortestFirst, Self::EvenCoverage, Self::Findings, Self::Weighted];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::ShortestFirst => "shortest-first",
            Self::EvenCoverage => "even-coverage",
            Self::Findings => "findings",
            Self::Weighted => "weighted",
        }
    }

    /// The policy of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// What is known of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// What it has cost so far: time, or executions.
    pub spent: f64,
    /// What it is estimated to cost in all, as natural logarithm: there may be more than numbers can hold.
    pub total_ln: Option<f64>,
    /// Slices that it has had.
    pub slices: u64,
    /// Findings so far.
    pub findings: u64,
    /// Slices that ended with a new finding, the last ones counting most.
    pub reward: f64,
    /// How much more it counts than others.
    pub weight: f64,
    /// Whether it needs nothing more.
    pub done: bool,
}

impl Default for Standing {
    fn default() -> Self {
        Self { spent: 0.0, total_ln: None, slices: 0, findings: 0, reward: 0.0, weight: 1.0, done: false }
    }
}

impl Standing {
    /// The logarithm of what is left. Of a test without an estimate nothing is known but that it is not over yet; what has
    /// lasted for some time lasts as long again, on average over all scales.
    fn remaining_ln(&self) -> f64 {
        let spent = self.spent.ln();
        match self.total_ln {
            // The difference of two numbers by their logarithms; never less than nothing.
            Some(total) if total <= spent => f64::NEG_INFINITY,
            Some(total) => total + (-(spent - total).exp()).ln_1p(),
            None => spent,
        }
    }

    /// The logarithm of the share that is explored; half of a test without an estimate, by the same reasoning.
    fn share_ln(&self) -> f64 {
        self.total_ln.map_or(0.5f64.ln(), |total| (self.spent.ln() - total).min(0.0))
    }
}

/// How fast a reward is forgotten: what it counts for after another slice.
const MEMORY: f64 = 0.95;
/// How much a test is worth a try that was tried little.
const CURIOSITY: f64 = 0.5;

/// Hands out slices.
#[derive(Clone, Debug)]
pub struct Allocator {
    /// What is aimed at; may be changed at any time.
    pub policy: Policy,
    tests: Vec<Standing>,
    running: Vec<bool>,
    next: usize,
}

impl Allocator {
    /// An allocator for tests of these weights.
    pub fn new(policy: Policy, weights: &[f64]) -> Self {
        let tests = weights.iter().map(|weight| Standing { weight: *weight, ..Standing::default() }).collect();
        Self { policy, tests, running: vec![false; weights.len()], next: 0 }
    }

    /// What is known of a test.
    pub fn standing(&self, test: usize) -> &Standing {
        &self.tests[test]
    }

    /// Changes how much a test counts.
    pub fn set_weight(&mut self, test: usize, weight: f64) {
        self.tests[test].weight = weight;
    }

    /// Takes the test that shall have the next slice; it is not given out again until its slice has ended.
    pub fn take(&mut self) -> Option<usize> {
        let candidates = (0..self.tests.len()).filter(|t| !self.tests[*t].done && !self.running[*t]);
        let chosen = self.choose(candidates.collect::<Vec<_>>())?;
        self.running[chosen] = true;
        self.next = chosen + 1;
        Some(chosen)
    }

    fn choose(&self, candidates: Vec<usize>) -> Option<usize> {
        // Nothing is known of a test before its first slice.
        if let Some(fresh) = candidates.iter().copied().find(|t| self.tests[*t].slices == 0) {
            return Some(fresh);
        }
        let least = |key: &dyn Fn(&Standing) -> f64| {
            // Among equals, whoever had least: nobody waits for ever because of an estimate that is wrong for ever.
            let keys = candidates.iter().map(|t| (key(&self.tests[*t]), self.tests[*t].spent, *t));
            keys.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|k| k.2)
        };
        match self.policy {
            Policy::RoundRobin => candidates.iter().copied().find(|t| *t >= self.next).or(candidates.first().copied()),
            Policy::ShortestFirst => least(&|s| s.remaining_ln() - s.weight.ln()),
            Policy::EvenCoverage => least(&|s| s.share_ln() - s.weight.ln()),
            Policy::Weighted => least(&|s| s.spent / s.weight),
            Policy::Findings => {
                let slices: u64 = self.tests.iter().map(|s| s.slices).sum();
                least(&|s| {
                    let tried = s.slices as f64;
                    let rate = s.reward / ((1.0 - MEMORY.powf(tried)) / (1.0 - MEMORY));
                    let doubt = CURIOSITY * ((slices as f64).ln().max(0.0) / tried).sqrt();
                    -(rate + doubt) * s.weight
                })
            }
        }
    }

    /// A slice has ended: what the test has cost and found in all, what it is estimated to cost, whether it is done.
    pub fn give_back(&mut self, test: usize, spent: f64, total_ln: Option<f64>, findings: u64, done: bool) {
        self.running[test] = false;
        let standing = &mut self.tests[test];
        let new = if findings > standing.findings { 1.0 } else { 0.0 };
        standing.reward = standing.reward * MEMORY + new;
        standing.slices += 1;
        (standing.spent, standing.total_ln) = (spent, total_ln);
        (standing.findings, standing.done) = (findings, done);
    }

    /// Whether all tests are done.
    pub fn is_done(&self) -> bool {
        self.tests.iter().all(|t| t.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs tests of known sizes one unit at a time with perfect estimates; gives when each was done.
    fn completions(policy: Policy, sizes: &[u32]) -> Vec<u32> {
        let mut allocator = Allocator::new(policy, &vec![1.0; sizes.len()]);
        let (mut spent, mut done, mut time) = (vec![0; sizes.len()], vec![0; sizes.len()], 0);
        while let Some(test) = allocator.take() {
            time += 1;
            spent[test] += 1;
            let over = spent[test] == sizes[test];
            if over {
                done[test] = time;
            }
            allocator.give_back(test, f64::from(spent[test]), Some(f64::from(sizes[test]).ln()), 0, over);
        }
        done
    }

    #[test]
    fn with_perfect_estimates_shortest_first_is_the_optimum() {
        // The least sum of completion times is that of running them in order of size; each has one unit of its own first.
        for sizes in [vec![9, 1, 4, 2], vec![5, 5, 5], vec![1, 100, 3, 50, 2]] {
            let mut done = completions(Policy::ShortestFirst, &sizes);
            let mut best = sizes.clone();
            best.sort_unstable();
            let mut sum = 0;
            let count = sizes.len() as u32;
            let ends: Vec<u32> = best
                .iter()
                .map(|size| {
                    sum += size;
                    sum
                })
                .collect();
            done.sort_unstable();
            for (i, (done, best)) in done.iter().zip(&ends).enumerate() {
                assert!(*done >= *best && *done <= best + count, "{i}: {done} {best} {sizes:?}");
            }
            let in_turn: u32 = completions(Policy::RoundRobin, &sizes).iter().sum();
            assert!(done.iter().sum::<u32>() <= in_turn, "{sizes:?}");
        }
    }

    #[test]
    fn even_coverage_keeps_shares_together() {
        let sizes = [10.0, 100.0, 1000.0];
        let mut allocator = Allocator::new(Policy::EvenCoverage, &[1.0; 3]);
        let mut spent = [0.0; 3];
        for _ in 0..300 {
            let Some(test) = allocator.take() else { break };
            spent[test] += 1.0;
            allocator.give_back(test, spent[test], Some(f64::ln(sizes[test])), 0, spent[test] >= sizes[test]);
        }
        let shares: Vec<f64> = spent.iter().zip(sizes).map(|(spent, size)| spent / size).collect();
        assert!(shares[1] > 0.2 && (shares[1] - shares[2]).abs() < 0.02, "{shares:?}");
    }

    #[test]
    fn without_estimates_nobody_starves() {
        for policy in Policy::ALL {
            let mut allocator = Allocator::new(policy, &[1.0; 3]);
            let mut spent = [0.0; 3];
            for _ in 0..30 {
                let test = allocator.take().unwrap_or(0);
                spent[test] += 1.0;
                allocator.give_back(test, spent[test], None, 0, false);
            }
            assert_eq!(spent, [10.0; 3], "{policy:?}");
        }
    }

    #[test]
    fn weights_and_turns_are_kept() {
        let mut allocator = Allocator::new(Policy::Weighted, &[1.0, 3.0]);
        let mut spent = [0.0; 2];
        for _ in 0..400 {
            let test = allocator.take().unwrap_or(0);
            spent[test] += 1.0;
            allocator.give_back(test, spent[test], None, 0, false);
        }
        assert!((spent[1] / spent[0] - 3.0).abs() < 0.1, "{spent:?}");
        let mut allocator = Allocator::new(Policy::RoundRobin, &[1.0; 3]);
        let mut order = Vec::new();
        for _ in 0..6 {
            let test = allocator.take().unwrap_or(9);
            order.push(test);
            allocator.give_back(test, 1.0, None, 0, false);
        }
        assert_eq!(order, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn tests_that_find_something_get_more() {
        let mut allocator = Allocator::new(Policy::Findings, &[1.0; 4]);
        let (mut slices, mut findings) = ([0u32; 4], [0u64; 4]);
        for _ in 0..400 {
            let test = allocator.take().unwrap_or(0);
            slices[test] += 1;
            // The third one finds something in every fourth slice.
            findings[test] += u64::from(test == 2 && slices[test] % 4 == 0);
            allocator.give_back(test, 1.0, None, findings[test], false);
        }
        assert!((0..4).filter(|t| *t != 2).all(|t| slices[2] > slices[t] && slices[t] > 10), "{slices:?}");
    }

    #[test]
    fn a_test_is_not_given_out_twice_at_a_time_and_ends_when_done() {
        let mut allocator = Allocator::new(Policy::ShortestFirst, &[1.0; 2]);
        assert_eq!((allocator.take(), allocator.take(), allocator.take()), (Some(0), Some(1), None));
        allocator.give_back(0, 1.0, Some(1e5), 0, true);
        assert_eq!(allocator.take(), None);
        allocator.give_back(1, 1.0, Some(13863.0 * std::f64::consts::LN_10), 0, false);
        assert_eq!(allocator.take(), Some(1));
        assert!(!allocator.is_done());
        allocator.give_back(1, f64::INFINITY, None, 0, true);
        assert!(allocator.is_done());
    }
}
