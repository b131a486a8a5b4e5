//! One program or library file: where it is mapped, its unwind tables, its symbols and its DWARF.

use super::Location;
use super::locals::Declared;
use super::maps::{Mapping, Memory};
use super::variables::Variables;
use addr2line::Context;
use framehop::ExplicitModuleSectionInfo;
use gimli::{Dwarf, EndianArcSlice};
use object::LittleEndian;
use object::elf;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::read::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where distributions put the debug information of their packages.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// How much of a file's beginning must be in memory too: the headers, and in most files the build ID.
const SAME: usize = 1024;

/// How DWARF is read: from sections that are kept, the file is not.
pub(super) type Reader = EndianArcSlice<gimli::LittleEndian>;

/// A file at its place in the process.
#[derive(Debug)]
pub(super) struct Module {
    /// The name of the file, without directory.
    pub(super) name: String,
    /// The addresses that it takes up, with its data.
    pub(super) range: Range<u64>,
    /// What is added to an address of the file to make it one of the process.
    pub(super) bias: u64,
    /// The index of its file.
    pub(super) image: usize,
}

/// What is needed from a file.
pub(super) struct Image {
    /// Where it was when it was mapped.
    pub(super) path: PathBuf,
    /// Where its contents can be read, if they are still those that were mapped.
    source: Option<PathBuf>,
    /// What the loader maps.
    segments: Vec<Segment>,
    /// The tables for `framehop`.
    unwind: ExplicitModuleSectionInfo<Arc<[u8]>>,
    /// Names and lines: read when first asked for.
    names: OnceCell<Names>,
}

/// A part of a file that is mapped.
struct Segment {
    /// The addresses, as the file counts them.
    addresses: Range<u64>,
    /// Where it is in the file.
    contents: Range<u64>,
}

impl Image {
    /// Reads a file that is mapped into a process. If it cannot be read, is something else by now, or is no ELF file,
    /// the image is empty: its code is then named by its offset only.
    pub(super) fn load(pid: u32, path: &Path, mappings: &[Mapping], memory: Option<&Memory>) -> Image {
        let found = read_mapped(pid, path, mappings, memory);
        let mut image = Image {
            path: path.to_owned(),
            source: None,
            segments: Vec::new(),
            unwind: ExplicitModuleSectionInfo::default(),
            names: OnceCell::new(),
        };
        if let Some((source, contents)) = found
            && let Ok(file) = ElfFile64::parse(&*contents)
        {
            image.segments = segments(&file);
            image.unwind = unwind_sections(&file);
            image.source = Some(source);
        }
        image
    }

    /// Finds where the file lies, from one mapping of its code.
    pub(super) fn place(&self, image: usize, mapping: &Mapping) -> Module {
        let whole = mapping.start..mapping.end;
        // The bias holds for all segments; the one that this mapping shows is known by its place in the file.
        let offset = mapping.offset;
        let shown = self.segments.iter().rfind(|segment| {
            let page = segment.contents.start & !0xfff;
            page <= offset && offset < segment.contents.end
        });
        let file_address =
            shown.map_or(offset, |shown| shown.addresses.start.wrapping_sub(shown.contents.start).wrapping_add(offset));
        let bias = mapping.start.wrapping_sub(file_address);
        let first = self.segments.iter().map(|segment| segment.addresses.start).min();
        let last = self.segments.iter().map(|segment| segment.addresses.end).max();
        let range =
            first.zip(last).map_or(whole.clone(), |(first, last)| bias.wrapping_add(first)..bias.wrapping_add(last));
        let range = if range.contains(&mapping.start) { range } else { whole };
        Module { name: mapping.name(), range, bias, image }
    }

    /// The lowest address, as the file counts; nothing if there is no usable file.
    pub(super) fn lowest(&self) -> Option<u64> {
        self.segments.iter().map(|segment| segment.addresses.start).min()
    }

    /// The tables for `framehop`.
    pub(super) fn unwind_sections(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        self.unwind.clone()
    }

    /// The source of an instruction, never empty. The module and the offset are left to the caller.
    pub(super) fn locate(&self, offset: u64) -> Vec<Location> {
        let names = self.names();
        let mut places = names.debug.as_ref().map(|debug| debug.locate(offset)).unwrap_or_default();
        if places.is_empty() {
            places.push(place(None, None));
        }
        if let Some(outermost) = places.last_mut().filter(|place| place.function.is_none()) {
            outermost.function = containing(&names.functions, offset).map(|symbol| demangle(&symbol.name));
        }
        places
    }

    /// The variable that an address is in.
    pub(super) fn variable_at(&self, offset: u64) -> Option<String> {
        let names = self.names();
        let symbol = containing(&names.objects, offset);
        if let Some((variable, path)) = self.variables().and_then(|variables| variables.find(offset)) {
            // The symbol knows namespaces, the variable knows what the compiler renamed: `count` is `count.0` there.
            let same = symbol.filter(|symbol| symbol.address == variable.address);
            let full = same.filter(|symbol| symbol.name.split('.').next() != Some(&variable.name));
            let name = full.map_or_else(|| variable.name.clone(), |symbol| demangle(&symbol.name));
            return Some(name + &path);
        }
        let symbol = symbol?;
        let mut name = demangle(&symbol.name);
        if offset > symbol.address {
            let _ = write!(name, "+{}", offset - symbol.address);
        }
        Some(name)
    }

    /// The types and variables that the DWARF describes.
    pub(super) fn variables(&self) -> Option<&Variables> {
        self.names().debug.as_ref().map(|debug| debug.variables.get_or_init(|| Variables::read(&debug.dwarf)))
    }

    /// The variables of the function that an instruction is in.
    pub(super) fn locals(&self, offset: u64) -> Vec<Declared> {
        let found = self.names().debug.as_ref().zip(self.variables()).and_then(|(debug, variables)| {
            let unit = debug.context.find_dwarf_and_unit(offset).skip_all_loads()?;
            let unit = variables.unit_at(unit.header.debug_info_offset()?)?;
            // The outermost function's line: those of inlined ones do not tell what has run in this one.
            let line = debug.locate(offset).last()?.line?;
            Some(variables.locals(unit, offset, u64::from(line)))
        });
        found.unwrap_or_default()
    }

    /// Reads names and lines, once.
    fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let source = self.source.as_deref();
            source.and_then(|source| Names::read(source, &self.path)).unwrap_or_default()
        })
    }
}

/// A function or a variable.
struct Symbol {
    /// Where it begins, as the file counts.
    address: u64,
    /// How many bytes it has; 0 if that is not known.
    size: u64,
    /// Its name, mangled.
    name: String,
}

/// What a file tells about names and lines.
#[derive(Default)]
struct Names {
    /// By address, each address once.
    functions: Vec<Symbol>,
    /// By address, each address once.
    objects: Vec<Symbol>,
    /// The DWARF, if there is any.
    debug: Option<Debug>,
}

impl Names {
    /// Reads them from the file, and from its separate debug file if it has one.
    fn read(source: &Path, path: &Path) -> Option<Names> {
        let contents = fs::read(source).ok()?;
        let file = ElfFile64::parse(&*contents).ok()?;
        let mut names = Names::default();
        names.add_symbols(&file);
        if file.section_by_name(".debug_info").is_some() {
            names.debug = Debug::read(&file, path);
        } else if let Some(separate) = separate_debug_file(&file, path)
            && let Ok(contents) = fs::read(&separate)
            && let Ok(file) = ElfFile64::parse(&*contents)
        {
            names.add_symbols(&file);
            names.debug = Debug::read(&file, &separate);
        }
        for symbols in [&mut names.functions, &mut names.objects] {
            // Of several names for one thing, the plain one is what the programmer knows.
            let underscores = |name: &str| name.len() - name.trim_start_matches('_').len();
            symbols.sort_by(|a, b| {
                let rank = |s: &Symbol| (s.address, u64::MAX - s.size, underscores(&s.name), s.name.len());
                rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name))
            });
            symbols.dedup_by_key(|symbol| symbol.address);
        }
        Some(names)
    }

    /// Adds the symbols of a file.
    fn add_symbols(&mut self, file: &ElfFile64<'_, LittleEndian>) {
        for symbol in file.symbols().chain(file.dynamic_symbols()).filter(|symbol| symbol.is_definition()) {
            let list = match symbol.kind() {
                SymbolKind::Text => &mut self.functions,
                SymbolKind::Data => &mut self.objects,
                _ => continue,
            };
            let name = symbol.name().unwrap_or_default();
            // The version behind a name, as in `clone3@@GLIBC_2.34`, says nothing to the reader of a backtrace.
            let name = name.split('@').next().unwrap_or_default();
            if !name.is_empty() {
                list.push(Symbol { address: symbol.address(), size: symbol.size(), name: name.to_owned() });
            }
        }
    }
}

/// The symbol that holds an address.
fn containing(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let behind = symbols.partition_point(|symbol| symbol.address <= address);
    let symbol = symbols.get(behind.checked_sub(1)?)?;
    (symbol.size == 0 || address - symbol.address < symbol.size).then_some(symbol)
}

/// The DWARF of a file.
struct Debug {
    /// All of it.
    dwarf: Arc<Dwarf<Reader>>,
    /// An index by address.
    context: Context<Reader>,
    /// An index of the global variables: made when first asked for.
    variables: OnceCell<Variables>,
}

impl Debug {
    /// Reads it; damaged sections count as missing.
    fn read(file: &ElfFile64<'_, LittleEndian>, path: &Path) -> Option<Debug> {
        let mut dwarf = load(file)?;
        if let Ok(Some((link, id))) = file.gnu_debugaltlink() {
            let link = path.parent().unwrap_or(Path::new("/")).join(OsStr::from_bytes(link));
            let contents = [Some(link), by_build_id(id)].into_iter().flatten().find_map(|path| fs::read(path).ok());
            let shared =
                contents.as_deref().and_then(|contents| ElfFile64::parse(contents).ok()).as_ref().and_then(load);
            if let Some(shared) = shared {
                dwarf.set_sup(shared);
            }
        }
        let dwarf = Arc::new(dwarf);
        let context = Context::from_arc_dwarf(dwarf.clone()).ok()?;
        Some(Debug { dwarf, context, variables: OnceCell::new() })
    }

    /// The functions at an address, the innermost first; empty if it is not known.
    fn locate(&self, offset: u64) -> Vec<Location> {
        let mut places = Vec::new();
        let Ok(mut frames) = self.context.find_frames(offset).skip_all_loads() else { return places };
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.and_then(|name| name.demangle().map(Cow::into_owned).ok());
            places.push(place(function, frame.location));
        }
        places
    }
}

/// A location in a module that the caller fills in.
fn place(function: Option<String>, source: Option<addr2line::Location<'_>>) -> Location {
    let (file, line, column) = source.map_or((None, None, None), |at| (at.file, at.line, at.column));
    Location {
        function,
        file: file.map(PathBuf::from),
        // 0 stands for code that belongs to no line.
        line: line.filter(|&line| line != 0),
        column: column.filter(|&column| column != 0),
        module: String::new(),
        offset: 0,
    }
}

/// Copies the DWARF sections of a file.
fn load(file: &ElfFile64<'_, LittleEndian>) -> Option<Dwarf<Reader>> {
    let section = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
        let data = file.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
        Ok(Reader::new(Arc::from(&*data.unwrap_or_default()), gimli::LittleEndian))
    };
    Dwarf::load(section).ok()
}

/// What the loader maps of a file, without what cannot be true.
fn segments(file: &ElfFile64<'_, LittleEndian>) -> Vec<Segment> {
    let endian = LittleEndian;
    let loads = file.elf_program_headers().iter().filter(|header| header.p_type(endian) == elf::PT_LOAD);
    let range = |start: u64, size: u64| {
        let end = start.checked_add(size).filter(|&end| i64::try_from(end).is_ok())?;
        Some(start..end)
    };
    let segment = |header: &elf::ProgramHeader64<LittleEndian>| {
        let addresses = range(header.p_vaddr(endian), header.p_memsz(endian))?;
        let contents = range(header.p_offset(endian), header.p_filesz(endian))?;
        Some(Segment { addresses, contents })
    };
    loads.filter_map(segment).collect()
}

/// Reads a file that is mapped into a process, and tells where it was read; nothing if it cannot be, or is something else by now.
pub(crate) fn read_mapped(
    pid: u32,
    path: &Path,
    mappings: &[Mapping],
    memory: Option<&Memory>,
) -> Option<(PathBuf, Vec<u8>)> {
    let first = mappings.iter().find(|mapping| mapping.offset == 0 && mapping.file.as_deref() == Some(path));
    let mut sources = vec![path.to_owned(), format!("/proc/{pid}/exe").into()];
    sources.extend(
        first.map(|mapping| PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end))),
    );
    // A file that was replaced since is another one; `exe` and `map_files` still lead to the old one.
    let is_mapped = |contents: &[u8]| {
        let mut head = vec![0; contents.len().min(SAME)];
        match first.and_then(|mapping| memory?.read(mapping.start, &mut head)) {
            Some(()) => contents.starts_with(&head),
            None => true,
        }
    };
    sources.into_iter().find_map(|source| {
        let contents = fs::read(&source).ok()?;
        is_mapped(&contents).then_some((source, contents))
    })
}

/// Copies the unwind tables of a file.
fn unwind_sections(file: &ElfFile64<'_, LittleEndian>) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
    let range = |name: &str| {
        let section = file.section_by_name(name)?;
        Some(section.address()..section.address().checked_add(section.size())?)
    };
    let data = |name: &str| {
        let data = file.section_by_name(name)?.uncompressed_data().ok()?;
        (!data.is_empty()).then(|| Arc::from(&*data))
    };
    // Without `.eh_frame_hdr`: `framehop` then makes an index of its own, which does not trust the file. In a damaged
    // one, the other way ends in arithmetic overflow (gimli 0.33, `EhHdrTable::pointer_to_offset`).
    ExplicitModuleSectionInfo {
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        debug_frame: data(".debug_frame"),
        ..ExplicitModuleSectionInfo::default()
    }
}

/// Finds the file that holds the debug information of a stripped one: by its build ID, or by the name it gives.
pub(crate) fn separate_debug_file(file: &ElfFile64<'_, LittleEndian>, path: &Path) -> Option<PathBuf> {
    let by_id = file.build_id().ok().flatten().and_then(by_build_id);
    let by_name = || {
        let (name, _checksum) = file.gnu_debuglink().ok()??;
        let name = OsStr::from_bytes(name);
        let directory = path.parent()?;
        let below_root = Path::new(DEBUG_ROOT).join(directory.strip_prefix("/").ok()?);
        let places = [directory.join(name), directory.join(".debug").join(name), below_root.join(name)];
        places.into_iter().find(|place| place != path && place.is_file())
    };
    by_id.or_else(by_name)
}

/// The debug file of a build ID, if it is installed.
fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let mut path = format!("{DEBUG_ROOT}/.build-id/{first:02x}/");
    for byte in rest {
        let _ = write!(path, "{byte:02x}");
    }
    path.push_str(".debug");
    Some(PathBuf::from(path)).filter(|path| path.is_file())
}

/// A name as it is written in the source.
fn demangle(name: &str) -> String {
    addr2line::demangle_auto(Cow::Borrowed(name), None).into_owned()
}
