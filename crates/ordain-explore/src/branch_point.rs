//! Where a search is: at each state of its path, what is explored beside it and what is left.

use crate::search::Strategy;
use alloc::vec::Vec;
use ordain_model::{ThreadId, Transition};

/// A state on the path of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchPoint {
    /// The way that the search has taken, or takes next.
    pub taken: Transition,
    /// Ways that are explored: they were taken before, here or where it comes to the same.
    pub explored: Vec<Transition>,
    /// Ways that are still to be taken.
    pub left: Vec<Transition>,
}

/// States further down the path are not told.
const MOST: usize = 2000;

/// The states on the path of a search that is not finished.
pub fn branch_points(strategy: &dyn Strategy) -> Vec<BranchPoint> {
    let Some(path) = strategy.path() else { return Vec::new() };
    let depths = path.sleep.len().min(path.prefix.len()).min(MOST);
    let states = (0..depths).map(|depth| {
        let explored = path.sleep[depth].iter().map(|s| s.transition).collect();
        let mut left = Vec::new();
        strategy.scheduled(depth, &mut left);
        BranchPoint { taken: path.prefix[depth].transition, explored, left }
    });
    states.collect()
}

fn pair(transition: &Transition) -> [u32; 2] {
    [transition.thread.0, transition.choice]
}

/// Branch points as numbers, to be sent elsewhere.
pub fn encode(branch_points: &[BranchPoint]) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    for branch_point in branch_points {
        pairs.push([branch_point.explored.len() as u32, branch_point.left.len() as u32]);
        pairs.push(pair(&branch_point.taken));
        pairs.extend(branch_point.explored.iter().chain(&branch_point.left).map(pair));
    }
    pairs
}

/// Reads what [`encode`] made; `None` if it is something else.
pub fn decode(pairs: &[[u32; 2]]) -> Option<Vec<BranchPoint>> {
    let transition = |[thread, choice]: &[u32; 2]| Transition { thread: ThreadId(*thread), choice: *choice };
    let mut branch_points = Vec::new();
    let mut rest = pairs;
    while let [[explored, left], taken, others @ ..] = rest {
        let (explored, left) = (*explored as usize, *left as usize);
        let (here, behind) = others.split_at_checked(explored.checked_add(left)?)?;
        let (explored, left) = here.split_at(explored);
        let list = |pairs: &[[u32; 2]]| pairs.iter().map(transition).collect();
        branch_points.push(BranchPoint { taken: transition(taken), explored: list(explored), left: list(left) });
        rest = behind;
    }
    rest.is_empty().then_some(branch_points)
}
