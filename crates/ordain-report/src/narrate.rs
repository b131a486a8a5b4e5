//! What happens, told while it happens: names for objects that the front end has none for, and short texts.

use crate::source::Sources;
use crate::story::Place;
use ordain_model::describe::{self, Words};
use ordain_model::{End, Execution, Names, ObjectId, ObjectKind, Operation, Site, ThreadId, Wait};
use std::collections::{HashMap, HashSet};

/// Learns from what is executed how objects are called in the source.
#[derive(Default)]
pub struct Narrator {
    /// What the source calls an object of a kind at a site.
    known: HashMap<(Site, ObjectKind), Option<String>>,
    /// What each object is called; nothing if places do not agree.
    seen: HashMap<ObjectId, Option<String>>,
    /// Sites of waits on condition variables.
    waits: HashSet<Site>,
    /// Objects by what they are called.
    uses: HashMap<String, HashSet<ObjectId>>,
    /// Not everything is known yet: names that depend on variables are not used.
    cautious: bool,
}

impl Narrator {
    /// For an execution that is under way: `forks[i]` may turn out to be several objects.
    pub fn cautious() -> Self {
        Self { cautious: true, ..Self::default() }
    }

    /// Learns from a whole execution.
    pub fn learn(&mut self, words: &dyn Words, sources: &mut Sources, execution: &Execution) {
        let waits = execution.steps.iter().filter(|s| matches!(s.op, Operation::QueueWait { .. }));
        self.waits.extend(waits.map(|s| s.site));
        for step in &execution.steps {
            self.note(words, sources, step.op, step.site);
        }
        if let End::Deadlock(deadlock) = &execution.end {
            for waiter in &deadlock.waiters {
                self.note(words, sources, waiter.op, waiter.site);
            }
        }
    }

    /// Learns from an operation that was executed or announced.
    pub fn note(&mut self, words: &dyn Words, sources: &mut Sources, op: Operation, site: Site) {
        let told = match op {
            Operation::Woken { .. }
            | Operation::Count { .. }
            | Operation::AddShare { .. }
            | Operation::DropShare { .. } => false,
            Operation::QueueWait { .. } => {
                self.waits.insert(site);
                true
            }
            // After a wait the mutex is locked again at the place of the wait, whose first argument is not the mutex.
            Operation::Lock { .. } => !self.waits.contains(&site),
            _ => true,
        };
        let Some(object) = op.object().filter(|_| told) else { return };
        if matches!(self.seen.get(&object), Some(None)) || words.variable(object).is_some() {
            return;
        }
        let kind = words.names().kind(object);
        let descriptor = kind == ObjectKind::Descriptor;
        let name = self.known.entry((site, kind)).or_insert_with(|| {
            let place = words.place(site).filter(|p| p.line > 0)?;
            if descriptor {
                return sources.descriptor_at(&place.file, place.line);
            }
            sources.object_at(kind, &place.file, place.line, place.column)
        });
        let entry = self.seen.entry(object).or_insert_with(|| {
            if let Some(name) = &name {
                self.uses.entry(name.clone()).or_default().insert(object);
            }
            name.clone()
        });
        if entry != name
            && let Some(users) = entry.take().and_then(|old| self.uses.get_mut(&old))
        {
            users.remove(&object);
        }
    }

    /// The words of a front end, with the names that were learned.
    pub fn words<'a>(&'a self, words: &'a dyn Words) -> Named<'a> {
        Named { words, narrator: self }
    }

    /// What the source calls an object: only if all places agree, and no other object is called so.
    fn alias(&self, object: ObjectId) -> Option<String> {
        let name = self.seen.get(&object)?.as_ref()?;
        let unsure = self.cautious && name.contains(['[', '(', '*']);
        (self.uses.get(name)?.len() == 1 && !unsure).then(|| name.clone())
    }
}

/// Words of a front end, with names of objects from the source where it has none.
pub struct Named<'a> {
    words: &'a dyn Words,
    narrator: &'a Narrator,
}

impl Words for Named<'_> {
    fn names(&self) -> &Names {
        self.words.names()
    }

    fn given(&self, thread: ThreadId) -> Option<String> {
        self.words.given(thread)
    }

    fn variable(&self, object: ObjectId) -> Option<String> {
        let known = self.words.variable(object).or_else(|| self.narrator.alias(object));
        known.or_else(|| self.words.local(object))
    }

    fn place(&self, site: Site) -> Option<describe::Place> {
        self.words.place(site)
    }
}

/// The name of an object in as few words as a column has room for.
pub fn short_name(words: &dyn Words, object: ObjectId) -> String {
    words.variable(object).unwrap_or_else(|| words.names().object_name(object))
}

/// What an operation is, in as few words as a column has room for.
pub fn short_text(words: &dyn Words, op: &Operation) -> String {
    let name = |o: ObjectId| short_name(words, o);
    match *op {
        Operation::QueueWait { queue, lock } => format!("wait {}, unlock {}", name(queue), name(lock)),
        Operation::Woken { queue, .. } => format!("woken {}", name(queue)),
        // The set has no name that says anything.
        Operation::Access { .. } => describe::operation(words, op),
        Operation::Join { thread, wait: Wait::Block } => format!("join {}", words.names().thread_name(thread)),
        _ => match op.object() {
            Some(object) => format!("{} {}", op.verb(), name(object)),
            None => describe::operation(words, op),
        },
    }
}

/// What an operation is where it was made: calls that use descriptors are told as the source has them, since the kernel's
/// objects behind them have no names there.
pub fn text_at(words: &dyn Words, sources: &mut Sources, op: &Operation, site: Site) -> String {
    let waits = matches!(op, Operation::Await { .. });
    let told = waits || matches!(op, Operation::Access { .. });
    let place = words.place(site).filter(|place| told && place.line > 0);
    match place.and_then(|place| sources.descriptor_call_at(&place.file, place.line)) {
        Some(call) if waits => format!("{} {call}", op.verb()),
        Some(call) => call,
        None => short_text(words, op),
    }
}

/// The place of a site, with what is written there.
pub fn place(words: &dyn Words, sources: &mut Sources, site: Site) -> Option<Place> {
    let place = words.place(site)?;
    let text = sources.line(&place.file, place.line).map(str::to_owned);
    Some(Place { file: place.file, line: place.line, column: place.column, text })
}
