//! Variables of functions that are on a stack, and what their pointers lead to: `account.m`, `queue->lock`, `this->m`.
//!
//! An object on the stack or on the heap is in no symbol table. But the process is stopped where the finding shows, and whoever made the
//! object or waits for it is often still in the function that calls it by a name. A name is given only if it cannot mean anything else:
//! one that stands for two places in two frames is given to neither.

use super::Symbols;
use super::maps::Memory;
use super::module::Reader;
use super::variables::{Type, Variables};
use gimli::{AttributeValue, Operation, Unit};
use std::collections::{HashMap, HashSet};

/// DWARF's number of the frame pointer.
const RBP: gimli::Register = gimli::Register(6);
/// Variables that are looked at in one frame.
const MOST_VARIABLES: usize = 256;

/// A frame of a stopped thread, as its variables are found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    /// An instruction in it, as the process counts.
    pub(super) address: u64,
    /// The stack pointer of the caller before the call.
    pub(super) cfa: u64,
    /// The frame pointer.
    pub(super) rbp: u64,
}

/// A variable of a function, as DWARF describes it.
pub(super) struct Declared {
    name: String,
    kind: Type,
    /// Where its frame begins, and how far from there it is.
    base: FrameBase,
    offset: i64,
    /// The line that declares it, unless it is a parameter.
    line: Option<u64>,
}

#[derive(Clone, Copy)]
enum FrameBase {
    Cfa,
    FramePointer,
}

/// What a variable of a frame stands for.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// Its name.
    name: String,
    /// Where it is, or where it leads to.
    address: u64,
    /// How many bytes are there.
    size: u64,
    /// Whether it leads there.
    pointer: Option<Pointer>,
    /// The image that describes its type.
    image: usize,
    kind: Type,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointer {
    Pointer,
    Reference,
}

/// What the variables of all frames of a finding stand for.
#[derive(Debug, Default)]
pub struct Locals {
    all: Vec<Local>,
    /// Frames that were read: a thread may be asked for twice.
    frames: HashSet<(u64, u64)>,
}

impl Symbols {
    /// Reads the variables of frames.
    pub(super) fn read_locals(&self, activations: &[Activation], memory: &Memory, locals: &mut Locals) {
        for at in activations {
            if !locals.frames.insert((at.address, at.cfa)) {
                continue;
            }
            let Some(module) = self.modules.iter().find(|module| module.range.contains(&at.address)) else { continue };
            let image = &self.images[module.image];
            for declared in image.locals(at.address.wrapping_sub(module.bias)).into_iter().take(MOST_VARIABLES) {
                let base = match declared.base {
                    FrameBase::Cfa => at.cfa,
                    FrameBase::FramePointer => at.rbp,
                };
                let address = base.wrapping_add_signed(declared.offset);
                let local = image.variables().and_then(|variables| {
                    let (kind, pointer) = variables.target_of(declared.kind)?;
                    let address = if pointer.is_some() { memory.read_u64(address)? } else { address };
                    let size = variables.size_of(kind)?;
                    Some(Local { name: declared.name, address, size, pointer, image: module.image, kind })
                });
                locals.all.extend(local.filter(|local| local.address != 0));
            }
        }
    }

    /// What functions on the stacks call the object at an address; nothing if that is not certain. `is_type` knows from the name of a
    /// type whether the object may be of it.
    pub fn local_at(&self, locals: &Locals, address: u64, is_type: &dyn Fn(&str) -> bool) -> Option<String> {
        // The variable itself tells more than pointers to it, and pointers with names of their own more than `this`.
        let mut names: HashMap<u8, HashSet<String>> = HashMap::new();
        for local in &locals.all {
            let Some(inside) = address.checked_sub(local.address).filter(|inside| *inside < local.size) else {
                continue;
            };
            let Some(variables) = self.images.get(local.image).and_then(|image| image.variables()) else { continue };
            let (path, kind, rest) = variables.path(local.kind, inside);
            if rest > 0 || !variables.names_of(kind).iter().any(|name| is_type(name)) {
                continue;
            }
            let rank = match local.pointer {
                Some(_) if local.name == "this" => 2,
                Some(_) => 1,
                None => 0,
            };
            let several = |other: &Local| other.name == local.name && other.address != local.address;
            let name = match (local.pointer, path.strip_prefix('.')) {
                _ if locals.all.iter().any(several) => continue,
                (Some(Pointer::Pointer), Some(member)) => format!("{}->{member}", local.name),
                (Some(Pointer::Pointer), None) if path.is_empty() => format!("*{}", local.name),
                (Some(Pointer::Pointer), None) => format!("(*{}){path}", local.name),
                _ => format!("{}{path}", local.name),
            };
            names.entry(rank).or_default().insert(name);
        }
        let best = (0..3).find_map(|rank| names.remove(&rank))?;
        let mut best = best.into_iter();
        best.next().filter(|_| best.next().is_none())
    }
}

impl Variables {
    /// The variables of the functions that an instruction is in, in their frame; those only that have one place in all of it.
    pub(super) fn locals(&self, index: usize, address: u64, line: u64) -> Vec<Declared> {
        struct Scope {
            depth: isize,
            base: Option<FrameBase>,
        }
        let unit = &self.units[index];
        let mut found = Vec::new();
        let mut scopes: Vec<Scope> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let depth = entry.depth();
            while scopes.last().is_some_and(|scope| scope.depth >= depth) {
                scopes.pop();
            }
            match entry.tag() {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_lexical_block => {
                    let covers = self.dwarf.die_ranges(unit, entry).is_ok_and(|mut ranges| {
                        std::iter::from_fn(|| ranges.next().ok().flatten())
                            .any(|range| (range.begin..range.end).contains(&address))
                    });
                    if covers {
                        let own = entry.attr_value(gimli::DW_AT_frame_base).and_then(|at| frame_base(unit, at));
                        let base = own.or(scopes.last().and_then(|scope| scope.base));
                        scopes.push(Scope { depth, base });
                    }
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let scope = scopes.last().filter(|scope| scope.depth + 1 == depth);
                    let Some(base) = scope.and_then(|scope| scope.base) else { continue };
                    let Some(offset) = entry.attr_value(gimli::DW_AT_location).and_then(|at| frame_offset(unit, at))
                    else {
                        continue;
                    };
                    let origin = entry.attr_value(gimli::DW_AT_abstract_origin).and_then(|at| self.refer(index, at));
                    let either = |name| {
                        let own = entry.attr_value(name).map(|value| (index, value));
                        own.or_else(|| origin.and_then(|at| Some((at.unit, self.attribute(at, name)?))))
                    };
                    let name = either(gimli::DW_AT_name).and_then(|(unit, name)| self.string(unit, name));
                    let kind = either(gimli::DW_AT_type).and_then(|(unit, kind)| self.refer(unit, kind));
                    let declared = either(gimli::DW_AT_decl_line).and_then(|(_, line)| line.udata_value());
                    let declared = declared.filter(|_| entry.tag() == gimli::DW_TAG_variable);
                    if let (Some(name), Some(kind)) = (name, kind) {
                        found.push(Declared { name, kind, base, offset, line: declared });
                    }
                }
                _ => {}
            }
        }
        // Before the line that declares a variable has run, what lies there is something else.
        found.retain(|declared| declared.line.is_none_or(|declared| declared < line));
        // Names that begin so are the compiler's, such as those of range loops.
        found.retain(|declared| !declared.name.starts_with("__"));
        found
    }

    /// The type behind a pointer or reference, or the type itself.
    fn target_of(&self, kind: Type) -> Option<(Type, Option<Pointer>)> {
        let plain = self.plain(kind)?;
        match self.units[plain.unit].entry(plain.offset).ok()?.tag() {
            gimli::DW_TAG_pointer_type => Some((self.target(plain)?, Some(Pointer::Pointer))),
            gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                Some((self.target(plain)?, Some(Pointer::Reference)))
            }
            _ => Some((kind, None)),
        }
    }

    /// What a type is called, by all its names.
    fn names_of(&self, mut kind: Type) -> Vec<String> {
        let mut names = Vec::new();
        while names.len() < 8 {
            let name = self.attribute(kind, gimli::DW_AT_name).and_then(|name| self.string(kind.unit, name));
            names.push(name.unwrap_or_default());
            let Ok(entry) = self.units[kind.unit].entry(kind.offset) else { break };
            let renamed = matches!(
                entry.tag(),
                gimli::DW_TAG_typedef
                    | gimli::DW_TAG_const_type
                    | gimli::DW_TAG_volatile_type
                    | gimli::DW_TAG_atomic_type
            );
            match self.target(kind).filter(|_| renamed) {
                Some(target) => kind = target,
                None => break,
            }
        }
        names
    }
}

/// What offsets in a function's frame are counted from, if that is simple.
fn frame_base(unit: &Unit<Reader>, location: AttributeValue<Reader>) -> Option<FrameBase> {
    let mut operations = location.exprloc_value()?.operations(unit.encoding());
    let base = match operations.next().ok()?? {
        Operation::CallFrameCFA => FrameBase::Cfa,
        Operation::Register { register: RBP } => FrameBase::FramePointer,
        _ => return None,
    };
    matches!(operations.next(), Ok(None)).then_some(base)
}

/// How far from the frame's base a variable is, if it lies there as it is.
fn frame_offset(unit: &Unit<Reader>, location: AttributeValue<Reader>) -> Option<i64> {
    let mut operations = location.exprloc_value()?.operations(unit.encoding());
    let Operation::FrameOffset { offset } = operations.next().ok()?? else { return None };
    matches!(operations.next(), Ok(None)).then_some(offset)
}
