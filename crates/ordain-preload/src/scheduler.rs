//! Who goes next: the plan decides, whether the launcher has written it or the search inside the process has made it.

use crate::engine::engine;
use crate::link::{self, control};
use alloc::vec::Vec;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use ordain_explore::strategy::Walk;
use ordain_explore::{Lowest, Pick, Plan, Planned, Portable};
use ordain_model::{Arbiter, Transition};
use ordain_wire::Policy;

/// Decides which transition is next.
pub struct Scheduler {
    plan: Option<Plan<'static>>,
    /// A plan that belongs to the search, and then the only one.
    borrowed: *mut Plan<'static>,
    prefix: Vec<Planned>,
    lowest: Lowest,
    walk: Walk,
    remote: Remote,
}

/// Asks the launcher.
struct Remote;

impl ordain_explore::Policy for Remote {
    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        engine().show();
        let Some(transition) = link::ask() else { return Pick::Nothing };
        let Transition { thread, choice } = transition;
        if choice >= arbiter.choices(thread) && arbiter.first_enabled() != Some(transition) {
            arbiter.release(thread);
        }
        if choice < arbiter.choices(thread) { Pick::Take(transition) } else { Pick::Nothing }
    }
}

impl Scheduler {
    /// One that has no plan yet.
    pub fn new() -> Self {
        Self {
            plan: None,
            borrowed: null_mut(),
            prefix: Vec::new(),
            lowest: Lowest,
            walk: Walk::new(0, 0),
            remote: Remote,
        }
    }

    /// The next transition; `None` when the execution is over.
    pub fn next(&mut self, arbiter: &mut Arbiter) -> Option<Transition> {
        if !self.borrowed.is_null() {
            // SAFETY: see `take_over`.
            return unsafe { (*self.borrowed).next(arbiter) };
        }
        // A policy that asks looks at the engine, and so at all this.
        let mut plan = self.plan.take()?;
        let transition = plan.next(arbiter);
        self.plan = Some(plan);
        transition
    }

    /// Takes over a plan: a copy of it, if it can be told in few words, and then true; else the plan itself, which must
    /// outlive the execution.
    pub unsafe fn take_over(&mut self, plan: &mut Plan<'_>) -> bool {
        let Some(portable) = plan.portable() else {
            self.borrowed = (plan as *mut Plan<'_>).cast();
            return false;
        };
        let policy = match portable {
            Portable::Lowest => Policy::Lowest,
            Portable::Random { seed, stream } => {
                self.walk.restart(seed, stream);
                Policy::Random
            }
        };
        self.set_plan(plan.prefix().iter().map(|p| p.transition), policy, plan.follows());
        true
    }

    /// Reads the plan that the launcher has written.
    pub fn read_plan(&mut self) {
        let control = control();
        self.walk.restart(control.seed.load(Relaxed), control.stream.load(Relaxed));
        let policy = control.policy.load().unwrap_or(Policy::Remote);
        self.set_plan(link::decisions(), policy, control.follows.load(Relaxed) != 0);
    }

    fn set_plan(&mut self, prefix: impl Iterator<Item = Transition>, policy: Policy, follows: bool) {
        self.borrowed = null_mut();
        self.plan = None;
        self.prefix.clear();
        self.prefix.extend(prefix.map(|transition| Planned { transition, op: None }));
        // SAFETY: prefix and policy live as long as the engine; the plan is taken away before either changes.
        unsafe {
            let prefix: &'static [Planned] = &*(self.prefix.as_slice() as *const [Planned]);
            let policy: &'static mut dyn ordain_explore::Policy = match policy {
                Policy::Lowest => &mut *(&raw mut self.lowest),
                Policy::Random => &mut *(&raw mut self.walk),
                Policy::Remote => &mut *(&raw mut self.remote),
            };
            self.plan = Some(if follows { Plan::follow(prefix, policy) } else { Plan::new(prefix, policy) });
        }
    }
}
