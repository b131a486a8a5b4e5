//! The table of interposed functions in `docs/interposed.md` is complete: it lists exactly what the runtime exports.

use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSymbol as _, SymbolKind};
use std::collections::BTreeSet;

const TABLES: &str = include_str!("../../../docs/interposed.md");

/// Functions that the runtime shows to programs: its own symbols are hidden.
fn exported() -> BTreeSet<String> {
    let image: ElfFile64<'_> = ElfFile64::parse(ordain_native::runtime_image()).expect("a shared library");
    image
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global() && symbol.kind() == SymbolKind::Text)
        .map(|symbol| symbol.name().expect("a name").to_owned())
        .collect()
}

/// The first cells of the tables' rows, without their headings.
fn first_cells() -> impl Iterator<Item = &'static str> {
    TABLES
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.split('|').next())
        .map(str::trim)
        .filter(|cell| *cell != "function" && !cell.starts_with("--"))
}

/// Names of functions in a cell: `` `a`, `b` ``.
fn names(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split(',').map(move |name| {
        let name = name.trim().strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        name.unwrap_or_else(|| panic!("functions are in backticks, with commas between them: {cell}"))
    })
}

#[test]
fn the_table_lists_what_is_exported() {
    let exported = exported();
    assert!(exported.len() > 200, "only {} symbols were found: {exported:?}", exported.len());
    let mut listed = BTreeSet::new();
    for name in first_cells().flat_map(names) {
        assert!(listed.insert(name.to_owned()), "docs/interposed.md lists {name} twice");
    }
    let missing: Vec<_> = exported.difference(&listed).collect();
    let invented: Vec<_> = listed.difference(&exported).collect();
    assert!(missing.is_empty(), "interposed, but not in docs/interposed.md: {missing:?}");
    assert!(invented.is_empty(), "in docs/interposed.md, but not interposed: {invented:?}");
}
