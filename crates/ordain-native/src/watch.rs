//! The watch, on the launcher's side: finds the atomic instructions in the code of a process, and tells the runtime what to watch.
//!
//! What the runtime does with it is in its own `watch.rs`. Code of the C library and of the languages' runtimes is left out: what
//! these do for the program is visible as calls, and what they do for themselves is not the program's.

mod decode;

use crate::backtrace::maps::{self, Mapping, Memory};
use crate::backtrace::read_mapped;
use crate::shared::Shared;
use decode::Atomic;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, elf};
use ordain_wire::{MOST_SITES, MOST_SPANS, SLOT, Trouble, WatchSite, WatchSpan};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Beginnings of the names of libraries that are not watched.
const LEFT_OUT: [&str; 20] = [
    "ld-linux",
    "libc.so",
    "libc-",
    "libm.so",
    "libm-",
    "libmvec",
    "libpthread",
    "libdl.",
    "libdl-",
    "librt.",
    "librt-",
    "libresolv",
    "libnss_",
    "libgcc_s",
    "libstdc++",
    "libc++",
    "libasan",
    "libubsan",
    "libtsan",
    "memfd:ordain-preload",
];

/// How far from code copies of its instructions are put, so that the program's own mappings come to lie where they always do.
const DISTANCE: u64 = 0x3000_0000;
/// Steps in which a free place is looked for, and how many.
const STEP: u64 = 0x100_0000;
const STEPS: u64 = 32;
/// Copies must be so near to what they are relative to.
const REACH: u64 = 0x7f00_0000;
const PAGE: u64 = 4096;

/// What is known of a file.
struct File {
    atomics: Vec<Atomic>,
    /// Its loaded parts: place in the file, size, and address.
    segments: Vec<(u64, u64, u64)>,
    trouble: Option<&'static str>,
}

/// A piece of code in the process that is watched.
struct Placed {
    path: PathBuf,
    /// What is added to its addresses.
    bias: u64,
    /// Where copies of its instructions are.
    area: WatchSpan,
}

/// What a watched execution showed.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchResult {
    /// Two threads, by their numbers, with their instructions and those that called them.
    pub(crate) shared: Option<[(u32, [u64; 4]); 2]>,
    /// Why not everything was watched.
    pub(crate) trouble: Option<String>,
}

/// Tells processes what to watch.
#[derive(Default)]
pub(crate) struct Watcher {
    files: HashMap<PathBuf, Arc<File>>,
    /// What is watched in the process that runs.
    placed: Vec<Placed>,
    trouble: Option<String>,
}

impl Watcher {
    /// Tells a process that waits at main what to watch.
    pub(crate) fn begin(&mut self, pid: u32, shared: &Shared) {
        self.placed.clear();
        self.trouble = None;
        let watch = &shared.control().watch;
        watch.trouble.store(Trouble::None);
        watch.found.store(0, Relaxed);
        watch.reached.store(0, Relaxed);
        self.tell(pid, shared);
        watch.active.store(1, Relaxed);
    }

    /// Tells a process what to watch now.
    pub(crate) fn tell(&mut self, pid: u32, shared: &Shared) {
        let Ok(mappings) = maps::read(pid) else {
            return self.note_trouble("what is mapped into the process cannot be read".into());
        };
        let memory = Memory::open(pid).ok();
        let mut taken: Vec<(u64, u64)> = mappings.iter().map(|m| (m.start, m.end)).collect();
        let (mut sites, mut texts, mut areas) = (Vec::new(), Vec::new(), Vec::new());
        let mut told: Vec<(PathBuf, u64)> = Vec::new();
        for mapping in mappings.iter().filter(|m| m.executable) {
            let Some(path) = watched_file(mapping) else { continue };
            let file = self.file(pid, path, &mappings, memory.as_ref());
            if let Some(trouble) = file.trouble {
                self.note_trouble(format!("{}: {trouble}", mapping.name()));
                continue;
            }
            let Some(bias) = file.bias(mapping) else { continue };
            let rights = libc::PROT_READ | libc::PROT_EXEC | if mapping.writable { libc::PROT_WRITE } else { 0 };
            texts.push(WatchSpan { start: mapping.start, end: mapping.end, rights: rights as u64 });
            // The code of a file may be in several mappings, since the runtime has changed some of its pages.
            if told.iter().any(|(told, at)| told == path && *at == bias) {
                continue;
            }
            told.push((path.to_owned(), bias));
            let known = self.placed.iter().find(|p| p.bias == bias && p.path == *path).map(|p| p.area);
            let size = (file.atomics.len() * SLOT).next_multiple_of(PAGE as usize).max(PAGE as usize) as u64;
            let range = file.range(bias);
            let Some(area) = known.or_else(|| free_area(range, size, &taken)) else {
                self.note_trouble(format!("{}: there is no room for copies of its instructions", mapping.name()));
                continue;
            };
            if known.is_none() {
                taken.push((area.start, area.end));
                self.placed.push(Placed { path: path.to_owned(), bias, area });
            }
            areas.push(area);
            let slots = (area.start..).step_by(SLOT);
            let before = sites.len();
            sites.extend(file.atomics.iter().zip(slots).filter_map(|(atomic, slot)| site(atomic, bias, slot)));
            if sites.len() - before < file.atomics.len() {
                self.note_trouble(format!("{}: some of its instructions cannot be copied", mapping.name()));
            }
        }
        if sites.len() > MOST_SITES || texts.len() > MOST_SPANS {
            self.note_trouble("it has too much code".into());
            (sites, texts, areas) = Default::default();
        }
        shared.write_watch(&sites, &texts, &areas);
    }

    /// What the execution that has just ended showed.
    pub(crate) fn watch_result(&mut self, pid: Option<u32>, shared: &Shared) -> WatchResult {
        let watch = &shared.control().watch;
        match watch.trouble.load() {
            Some(Trouble::None) => {}
            Some(Trouble::TooMuch) => {
                self.note_trouble("atomic instructions are used too often to watch them all".into())
            }
            _ => self.note_trouble("its code cannot be changed to watch it".into()),
        }
        for mapping in pid.and_then(|pid| maps::read(pid).ok()).into_iter().flatten().filter(|m| m.executable) {
            let is_area = || self.placed.iter().any(|p| p.area.start == mapping.start);
            let is_kernels = mapping.name().starts_with("[v");
            match watched_file(&mapping) {
                Some(path) if !self.is_watched(path, &mapping) => {
                    self.note_trouble(format!("{} was loaded later", mapping.name()));
                }
                None if mapping.file.is_none() && !is_kernels && !is_area() => {
                    self.note_trouble("it makes code while it runs".into());
                }
                _ => {}
            }
        }
        let shared = (watch.found.load(Relaxed) != 0).then(|| {
            [0, 1].map(|i| {
                let mut places = watch.places[i].each_ref().map(|p| p.load(Relaxed));
                // What is on the stack may be anything; other libraries are not what the user looks for.
                places[1..].iter_mut().filter(|at| !self.is_code(**at)).for_each(|at| *at = 0);
                (watch.threads[i].load(Relaxed), places)
            })
        });
        WatchResult { shared, trouble: self.trouble.clone() }
    }

    /// Whether a mapping is of a file that is watched where it is.
    fn is_watched(&self, path: &Path, mapping: &Mapping) -> bool {
        let bias = self.files.get(path).and_then(|file| file.bias(mapping));
        self.placed.iter().any(|p| p.path == path && Some(p.bias) == bias)
    }

    /// Whether an address is in a file that is watched.
    fn is_code(&self, address: u64) -> bool {
        let range = |p: &Placed| self.files.get(&p.path).map_or((0, 0), |file| file.range(p.bias));
        self.placed.iter().map(range).any(|(low, high)| (low..high).contains(&address))
    }

    fn note_trouble(&mut self, trouble: String) {
        self.trouble.get_or_insert(trouble);
    }

    /// What is known of a file, which is read once.
    fn file(&mut self, pid: u32, path: &Path, mappings: &[Mapping], memory: Option<&Memory>) -> Arc<File> {
        if let Some(file) = self.files.get(path) {
            return Arc::clone(file);
        }
        let file = Arc::new(match read_mapped(pid, path, mappings, memory) {
            Some((_, contents)) => File::new(&contents),
            None => File { atomics: Vec::new(), segments: Vec::new(), trouble: Some("its file cannot be read") },
        });
        self.files.insert(path.to_owned(), Arc::clone(&file));
        file
    }
}

/// The file of a mapping, if it is to be watched.
fn watched_file(mapping: &Mapping) -> Option<&Path> {
    let name = mapping.name();
    mapping.file.as_deref().filter(|_| !LEFT_OUT.iter().any(|left_out| name.starts_with(left_out)))
}

impl File {
    fn new(contents: &[u8]) -> Self {
        let (atomics, trouble) = match decode::atomics(contents) {
            Ok(atomics) => (atomics, None),
            Err(trouble) => (Vec::new(), Some(trouble)),
        };
        let endian = LittleEndian;
        let headers =
            elf::FileHeader64::<LittleEndian>::parse(contents).and_then(|h| h.program_headers(endian, contents));
        let loads = headers.unwrap_or_default().iter().filter(|h| h.p_type(endian) == elf::PT_LOAD);
        let segments = loads.map(|h| (h.p_offset(endian), h.p_memsz(endian), h.p_vaddr(endian))).collect();
        Self { atomics, segments, trouble }
    }

    /// Which addresses it takes up.
    fn range(&self, bias: u64) -> (u64, u64) {
        let low = self.segments.iter().map(|s| s.2).min().unwrap_or(0);
        let high = self.segments.iter().map(|s| s.2.saturating_add(s.1)).max().unwrap_or(low);
        (bias.wrapping_add(low), bias.wrapping_add(high))
    }

    /// What is added to its addresses in a mapping.
    fn bias(&self, mapping: &Mapping) -> Option<u64> {
        let shows = |&&(offset, size, _): &&(u64, u64, u64)| {
            offset & !(PAGE - 1) <= mapping.offset && mapping.offset < offset.saturating_add(size)
        };
        let (offset, _, address) = self.segments.iter().rfind(shows)?;
        Some(mapping.start.wrapping_sub(address.wrapping_sub(*offset).wrapping_add(mapping.offset)))
    }
}

/// A place for copies of instructions, near the code but not where the kernel puts the next mappings.
fn free_area((low, high): (u64, u64), size: u64, taken: &[(u64, u64)]) -> Option<WatchSpan> {
    let below = (0..STEPS).filter_map(|i| low.checked_sub(DISTANCE + i * STEP));
    let above = (0..STEPS).filter_map(|i| high.checked_add(DISTANCE + i * STEP));
    below.chain(above).map(|at| at & !(STEP - 1)).find_map(|start| {
        let end = start + size;
        let near = high.max(end) - low.min(start) < REACH;
        let free = taken.iter().all(|&(low, high)| end + PAGE <= low || high + PAGE <= start);
        let rights = (libc::PROT_READ | libc::PROT_EXEC) as u64;
        (near && free && start >= STEP).then_some(WatchSpan { start, end, rights })
    })
}

/// An instruction as the runtime is told it; nothing if its copy would not reach its operand.
fn site(atomic: &Atomic, bias: u64, slot: u64) -> Option<WatchSite> {
    /// `jmp *(%rip)`: to the address that follows.
    const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
    let address = atomic.address.wrapping_add(bias);
    let length = atomic.bytes.len();
    let mut code = [0; SLOT];
    code[..length].copy_from_slice(&atomic.bytes);
    let mut displacement = atomic.displacement;
    if let Some((operand, at)) = atomic.relative {
        let operand = operand.wrapping_add(bias);
        let distance = i32::try_from(operand.wrapping_sub(slot + length as u64) as i64).ok()?;
        code.get_mut(at..at + 4)?.copy_from_slice(&distance.to_le_bytes());
        displacement = operand as i64;
    }
    let behind = (address + length as u64).to_le_bytes();
    code.get_mut(length..length + 6)?.copy_from_slice(&JUMP);
    code.get_mut(length + 6..length + 14)?.copy_from_slice(&behind);
    Some(WatchSite {
        address,
        slot,
        displacement,
        base: atomic.base,
        index: atomic.index,
        scale: atomic.scale,
        bit: atomic.bit,
        size: atomic.size,
        local: atomic.local.into(),
        length: length as u8,
        first: atomic.bytes[0],
        code,
    })
}
