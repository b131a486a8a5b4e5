//! Global variables by address, down to the element and the member: `forks[2]`, `pool.lock`.
//!
//! An object of a finding is known by its address only. The symbol table leads to the variable around it; its type, in
//! DWARF, leads to the name that the programmer would use for it.

use super::module::Reader;
use gimli::{AttributeValue, Dwarf, Operation, Unit, UnitOffset};
use std::fmt::Write;
use std::sync::Arc;

/// How deep types are followed: more is a loop in damaged DWARF.
const MOST_LEVELS: usize = 32;

/// The global variables of a file.
pub(super) struct Variables {
    /// All of the DWARF.
    pub(super) dwarf: Arc<Dwarf<Reader>>,
    /// Its units, by their place.
    pub(super) units: Vec<Unit<Reader>>,
    /// By address.
    variables: Vec<Variable>,
}

/// A global variable.
pub(super) struct Variable {
    /// Where it begins, as the file counts.
    pub(super) address: u64,
    /// Its name, without namespace.
    pub(super) name: String,
    /// How many bytes it has.
    size: u64,
    /// Its type.
    kind: Option<Type>,
}

/// Where a type is described.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    /// The index of the unit.
    pub(super) unit: usize,
    /// The place in the unit.
    pub(super) offset: UnitOffset,
}

/// A part of a variable: of a struct, or of an array.
enum Part {
    /// A member with a name, and what is left of the offset.
    Member(String, Type, u64),
    /// A base class, and what is left of the offset.
    Base(Type, u64),
    /// An element of an array, and what is left of the offset.
    Element(Vec<u64>, Type, u64),
}

impl Variables {
    /// Reads all units. What is damaged is left out.
    pub(super) fn read(dwarf: &Arc<Dwarf<Reader>>) -> Variables {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let mut all = Variables { dwarf: dwarf.clone(), units, variables: Vec::new() };
        for unit in 0..all.units.len() {
            let found = all.variables_of(unit);
            all.variables.extend(found);
        }
        all.variables.sort_by_key(|variable| variable.address);
        all
    }

    /// The variable that an address is in, and how to get from it to the part at the address.
    pub(super) fn find(&self, address: u64) -> Option<(&Variable, String)> {
        let behind = self.variables.partition_point(|variable| variable.address <= address);
        let variable = self.variables.get(behind.checked_sub(1)?)?;
        let inside = address - variable.address;
        if inside >= variable.size {
            return None;
        }
        let (mut path, rest) = match variable.kind {
            Some(kind) => {
                let (path, _, rest) = self.path(kind, inside);
                (path, rest)
            }
            None => (String::new(), inside),
        };
        if rest > 0 {
            let _ = write!(path, "+{rest}");
        }
        Some((variable, path))
    }

    /// How to get from a value of this type to the part that is `inside` bytes from its beginning: the type of that part, and
    /// how far behind its beginning the byte is.
    pub(super) fn path(&self, mut kind: Type, mut inside: u64) -> (String, Type, u64) {
        let mut path = String::new();
        for _ in 0..MOST_LEVELS {
            match self.part(kind, inside) {
                Some(Part::Member(name, part, rest)) => {
                    let _ = write!(path, ".{name}");
                    (kind, inside) = (part, rest);
                }
                Some(Part::Base(part, rest)) => (kind, inside) = (part, rest),
                Some(Part::Element(indices, part, rest)) => {
                    for index in indices {
                        let _ = write!(path, "[{index}]");
                    }
                    (kind, inside) = (part, rest);
                }
                None => break,
            }
        }
        (path, kind, inside)
    }

    /// The index of the unit that begins at a place.
    pub(super) fn unit_at(&self, place: gimli::DebugInfoOffset) -> Option<usize> {
        self.units.iter().position(|unit| unit.header.debug_info_offset() == Some(place))
    }

    /// How many bytes a value of this type has.
    pub(super) fn size_of(&self, kind: Type) -> Option<u64> {
        self.size(kind, 0)
    }

    /// The variables of one unit, also those inside functions.
    fn variables_of(&self, index: usize) -> Vec<Variable> {
        let unit = &self.units[index];
        let mut found = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() != gimli::DW_TAG_variable {
                continue;
            }
            let Some(address) = entry.attr_value(gimli::DW_AT_location).and_then(|at| self.fixed_address(unit, at))
            else {
                continue;
            };
            // A static member of a class is declared in the class: name and type may be there only.
            let declaration =
                entry.attr_value(gimli::DW_AT_specification).or(entry.attr_value(gimli::DW_AT_abstract_origin));
            let declaration = declaration.and_then(|at| self.refer(index, at));
            let declared = |name| declaration.and_then(|at| self.attribute(at, name).map(|value| (at.unit, value)));
            let either = |name| entry.attr_value(name).map(|value| (index, value)).or_else(|| declared(name));
            let Some(name) = either(gimli::DW_AT_name).and_then(|(unit, name)| self.string(unit, name)) else {
                continue;
            };
            let kind = either(gimli::DW_AT_type).and_then(|(unit, kind)| self.refer(unit, kind));
            let size = kind.and_then(|kind| self.size(kind, 0)).unwrap_or(1);
            found.push(Variable { address, name, size, kind });
        }
        found
    }

    /// The address of a variable that has one for the whole run.
    fn fixed_address(&self, unit: &Unit<Reader>, location: AttributeValue<Reader>) -> Option<u64> {
        let mut operations = location.exprloc_value()?.operations(unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(unit, index).ok()?,
            _ => return None,
        };
        // Anything behind the address makes it something else, such as an offset in thread-local storage.
        matches!(operations.next(), Ok(None)).then_some(address).filter(|&address| address != 0)
    }

    /// The part of a value of this type that is `inside` bytes from its beginning.
    fn part(&self, kind: Type, inside: u64) -> Option<Part> {
        let kind = self.plain(kind)?;
        let unit = &self.units[kind.unit];
        match unit.entry(kind.offset).ok()?.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => self.member(kind, inside),
            gimli::DW_TAG_array_type => self.element(kind, inside),
            // The variants of a union lie at one place: which one is meant is not known.
            _ => None,
        }
    }

    /// The member of a struct at `inside`.
    fn member(&self, kind: Type, inside: u64) -> Option<Part> {
        // The members of Rust's types are those of the standard library mostly, and tell nothing.
        if self.is_rust(kind.unit) {
            return None;
        }
        let unit = &self.units[kind.unit];
        let mut tree = unit.entries_tree(Some(kind.offset)).ok()?;
        let mut members = tree.root().ok()?.children();
        while let Ok(Some(member)) = members.next() {
            let entry = member.entry();
            let base = entry.tag() == gimli::DW_TAG_inheritance;
            if !base && entry.tag() != gimli::DW_TAG_member {
                continue;
            }
            let Some(start) = entry.attr_value(gimli::DW_AT_data_member_location).and_then(|at| at.udata_value())
            else {
                continue;
            };
            let Some(kind) = entry.attr_value(gimli::DW_AT_type).and_then(|at| self.refer(kind.unit, at)) else {
                continue;
            };
            let Some(rest) =
                inside.checked_sub(start).filter(|&rest| self.size(kind, 0).is_some_and(|size| rest < size))
            else {
                continue;
            };
            if base {
                return Some(Part::Base(kind, rest));
            }
            let name = entry.attr_value(gimli::DW_AT_name).and_then(|name| self.string(kind.unit, name))?;
            // Names that begin so are the insides of a library's type, such as those of `std::mutex`.
            return (!name.starts_with('_')).then_some(Part::Member(name, kind, rest));
        }
        None
    }

    /// The element of an array at `inside`.
    fn element(&self, kind: Type, inside: u64) -> Option<Part> {
        let element = self.target(kind)?;
        let size = self.size(element, 0).filter(|&size| size > 0)?;
        let mut index = inside / size;
        let mut indices = Vec::new();
        for count in self.counts(kind)?.into_iter().skip(1).rev() {
            indices.push(index.checked_rem(count)?);
            index /= count;
        }
        indices.push(index);
        indices.reverse();
        Some(Part::Element(indices, element, inside % size))
    }

    /// How many elements an array has in each of its dimensions.
    fn counts(&self, kind: Type) -> Option<Vec<u64>> {
        let mut tree = self.units[kind.unit].entries_tree(Some(kind.offset)).ok()?;
        let mut dimensions = tree.root().ok()?.children();
        let mut counts = Vec::new();
        while let Ok(Some(dimension)) = dimensions.next() {
            let entry = dimension.entry();
            if entry.tag() != gimli::DW_TAG_subrange_type {
                continue;
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let count = number(gimli::DW_AT_count).or_else(|| number(gimli::DW_AT_upper_bound)?.checked_add(1));
            counts.push(count.unwrap_or(0));
        }
        Some(counts)
    }

    /// How many bytes a value of this type has.
    fn size(&self, kind: Type, level: usize) -> Option<u64> {
        if level > MOST_LEVELS {
            return None;
        }
        let kind = self.plain(kind)?;
        if let Some(size) = self.attribute(kind, gimli::DW_AT_byte_size).and_then(|size| size.udata_value()) {
            return Some(size);
        }
        match self.units[kind.unit].entry(kind.offset).ok()?.tag() {
            gimli::DW_TAG_array_type => {
                let element = self.size(self.target(kind)?, level + 1)?;
                self.counts(kind)?.into_iter().try_fold(element, u64::checked_mul)
            }
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => Some(8),
            _ => None,
        }
    }

    /// The type behind names and qualifiers.
    pub(super) fn plain(&self, mut kind: Type) -> Option<Type> {
        for _ in 0..MOST_LEVELS {
            match self.units[kind.unit].entry(kind.offset).ok()?.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => kind = self.target(kind)?,
                _ => return Some(kind),
            }
        }
        None
    }

    /// The type that a type is made of.
    pub(super) fn target(&self, kind: Type) -> Option<Type> {
        self.refer(kind.unit, self.attribute(kind, gimli::DW_AT_type)?)
    }

    /// An attribute of an entry.
    pub(super) fn attribute(&self, at: Type, name: gimli::DwAt) -> Option<AttributeValue<Reader>> {
        self.units[at.unit].entry(at.offset).ok()?.attr_value(name)
    }

    /// Where a reference leads to, from a unit.
    pub(super) fn refer(&self, unit: usize, reference: AttributeValue<Reader>) -> Option<Type> {
        match reference {
            AttributeValue::UnitRef(offset) => Some(Type { unit, offset }),
            AttributeValue::DebugInfoRef(place) => {
                let start = |unit: &Unit<Reader>| unit.header.debug_info_offset();
                let behind = self.units.partition_point(|unit| start(unit).is_some_and(|start| start.0 <= place.0));
                let unit = behind.checked_sub(1)?;
                Some(Type { unit, offset: place.to_unit_offset(&self.units[unit].header)? })
            }
            _ => None,
        }
    }

    /// The text of an attribute.
    pub(super) fn string(&self, unit: usize, value: AttributeValue<Reader>) -> Option<String> {
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        Some(gimli::Reader::to_string_lossy(&text).ok()?.into_owned())
    }

    /// Whether a unit is compiled by rustc.
    fn is_rust(&self, unit: usize) -> bool {
        let root = Type { unit, offset: self.units[unit].header.root_offset() };
        let language = self.attribute(root, gimli::DW_AT_language);
        matches!(language, Some(AttributeValue::Language(gimli::DW_LANG_Rust)))
    }
}
