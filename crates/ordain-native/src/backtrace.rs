//! Backtraces with source lines of a stopped process, for threads that only exist at user level.
//!
//! The launcher knows the registers of each parked thread; the stack is read from the process, everything else from the
//! files that are mapped into it. Unwinding is by `framehop` over `.eh_frame`, names and lines come from the symbol
//! tables and from DWARF, also from separate debug files. What is missing or damaged makes a backtrace shorter or
//! poorer, never an error: a finding is shown with what is there.

mod locals;
pub(crate) mod maps;
mod module;
mod variables;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Unwinder};
use locals::Activation;
pub use locals::Locals;
use maps::{Mapping, Memory};
use miette::Diagnostic;
use module::{Image, Module};
pub(crate) use module::{read_mapped, separate_debug_file};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// How many frames of a stack are shown: more are a runaway recursion, or a damaged stack.
const MOST_FRAMES: usize = 64;

/// `mov $15, %rax; syscall`: the code that a signal handler returns to.
const SIGNAL_RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];

/// The registers of a thread that waits in a call, or was stopped by a crash.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(missing_docs)]
pub struct Registers {
    pub rip: u64,
    pub rsp: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    /// Whether `rip` is the instruction that was stopped at; otherwise it is where a call will return to.
    pub exact: bool,
}

/// A place in the code of a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Location {
    /// The function, demangled.
    pub function: Option<String>,
    /// The source file, as the compiler recorded it.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The file name of the program or library that the code is in.
    pub module: String,
    /// The address as the file of the module counts it: what `addr2line` and `objdump` understand.
    pub offset: u64,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.function, &self.file) {
            (Some(function), Some(_)) => write!(f, "{function} at ")?,
            (Some(function), None) => write!(f, "{function} in ")?,
            (None, _) => {}
        }
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}", file.display()),
            (Some(file), None) => write!(f, "{}", file.display()),
            (None, _) => write!(f, "{}+{:#x}", self.module, self.offset),
        }
    }
}

/// One call on a stack.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Frame {
    /// Where the thread is in this frame: an instruction, or the address that a call returns to.
    pub address: u64,
    /// The place in the source, never empty: functions that were inlined here come first.
    pub locations: Vec<Location>,
    /// The file name of the program or library that the code is in.
    pub module: String,
}

/// A process that cannot be looked into.
#[derive(Debug, Diagnostic, Error)]
#[error("cannot look into process {pid}")]
#[diagnostic(help("it has ended, or the system forbids it: `ordain doctor` tells about the ptrace scope"))]
pub struct NoAccess {
    /// The process.
    pub pid: u32,
    /// What the system said.
    #[source]
    pub error: io::Error,
}

/// The code and the variables of a process: what is at which address.
pub struct Symbols {
    /// What is mapped where, in ascending order.
    mappings: Vec<Mapping>,
    /// The files that were read, each once.
    images: Vec<Image>,
    /// Where they are mapped.
    modules: Vec<Module>,
    /// The unwind tables of the modules.
    unwinder: UnwinderX86_64<Arc<[u8]>>,
    /// Unwind rules that were met before.
    rules: CacheX86_64,
}

impl Symbols {
    /// Reads which files are mapped into a process, and their unwind tables; names and lines are read when asked for.
    pub fn new(pid: u32) -> Result<Symbols, NoAccess> {
        let mut symbols = Symbols::empty();
        symbols.refresh(pid).map_err(|error| NoAccess { pid, error })?;
        Ok(symbols)
    }

    /// The symbols of nothing.
    fn empty() -> Symbols {
        Symbols {
            mappings: Vec::new(),
            images: Vec::new(),
            modules: Vec::new(),
            unwinder: UnwinderX86_64::new(),
            rules: CacheX86_64::new(),
        }
    }

    /// Tells the source of the instruction at `address`: the innermost inlined function first, and always something.
    ///
    /// For an address that a call returns to, ask for the byte before it, which belongs to the call.
    pub fn locate(&mut self, address: u64) -> Vec<Location> {
        let Some(module) = self.modules.iter().find(|module| module.range.contains(&address)) else {
            return vec![self.nowhere(address)];
        };
        let offset = address.wrapping_sub(module.bias);
        let locations = self.images[module.image].locate(offset);
        locations.into_iter().map(|place| Location { module: module.name.clone(), offset, ..place }).collect()
    }

    /// Unwinds the stack of a thread, from where it is to where it began, as far as the tables lead.
    ///
    /// The process may be another one than that of [`Symbols::new`], if it is a fork of it.
    pub fn unwind(&mut self, pid: u32, registers: &Registers) -> Vec<Frame> {
        self.walk(pid, registers).into_iter().map(|(frame, _)| frame).collect()
    }

    /// Reads the variables of all functions on the stack of a thread.
    pub fn locals(&mut self, pid: u32, registers: &Registers, locals: &mut Locals) {
        let activations: Vec<Activation> = self.walk(pid, registers).into_iter().filter_map(|(_, at)| at).collect();
        if let Ok(memory) = Memory::open(pid) {
            self.read_locals(&activations, &memory, locals);
        }
    }

    /// The frames of a stack, each with where its variables are.
    fn walk(&mut self, pid: u32, registers: &Registers) -> Vec<(Frame, Option<Activation>)> {
        // Libraries may have been loaded since the last time; if the process is gone, the old mappings must do.
        let _ = self.refresh(pid);
        let memory = Memory::open(pid).ok();
        let read = |address: u64| memory.as_ref().and_then(|memory| memory.read_u64(address)).ok_or(());
        let mut state = UnwindRegsX86_64::new(registers.rip, registers.rsp, registers.rbp);
        let start = if registers.exact { None } else { FrameAddress::from_return_address(registers.rip) };
        let mut next = Some(start.unwrap_or(FrameAddress::from_instruction_pointer(registers.rip)));
        let mut frames = Vec::new();
        while let Some(at) = next.filter(|_| frames.len() < MOST_FRAMES) {
            let (frame, rbp) = (self.frame(at), state.bp());
            next = self.caller(at, &mut state, read);
            // The caller's stack pointer, as long as no signal came in between.
            let cfa = next.map(|_| state.sp());
            frames.push((frame, cfa.map(|cfa| Activation { address: at.address_for_lookup(), cfa, rbp })));
            if let Some(interrupted) = next.and_then(|_| interrupted(&mut state, memory.as_ref())) {
                next = Some(FrameAddress::from_instruction_pointer(interrupted));
            }
            next = next.filter(|next| self.is_code(next.address_for_lookup()));
        }
        frames
    }

    /// Names the global variable that holds the byte at `address`: `queue_lock`, `forks[2]`, `pool.lock`, or
    /// `table+24` if the types are not known.
    pub fn variable_at(&mut self, address: u64) -> Option<String> {
        let module = self.modules.iter().find(|module| module.range.contains(&address))?;
        self.images[module.image].variable_at(address.wrapping_sub(module.bias))
    }

    /// Takes up what was mapped or unmapped since.
    fn refresh(&mut self, pid: u32) -> io::Result<()> {
        let mappings = maps::read(pid)?;
        if mappings != self.mappings {
            self.take(mappings, pid, Memory::open(pid).ok().as_ref());
        }
        Ok(())
    }

    /// Finds the modules of these mappings, and their unwind tables.
    fn take(&mut self, mappings: Vec<Mapping>, pid: u32, memory: Option<&Memory>) {
        self.mappings = mappings;
        let mut modules: Vec<Module> = Vec::new();
        for mapping in self.mappings.iter().filter(|mapping| mapping.executable) {
            let Some(path) = &mapping.file else { continue };
            if modules.iter().any(|module| module.range.contains(&mapping.start)) {
                continue;
            }
            let known = self.images.iter().position(|image| &image.path == path);
            let image = known.unwrap_or_else(|| {
                self.images.push(Image::load(pid, path, &self.mappings, memory));
                self.images.len() - 1
            });
            modules.push(self.images[image].place(image, mapping));
        }
        self.unwinder = UnwinderX86_64::new();
        for module in &modules {
            let image = &self.images[module.image];
            let Some(lowest) = image.lowest() else { continue };
            let sections = ExplicitModuleSectionInfo { base_svma: lowest, ..image.unwind_sections() };
            let base = module.bias.wrapping_add(lowest);
            self.unwinder.add_module(framehop::Module::new(module.name.clone(), module.range.clone(), base, sections));
        }
        self.modules = modules;
    }

    /// The frame of a thread that is at `at`.
    fn frame(&mut self, at: FrameAddress) -> Frame {
        let locations = self.locate(at.address_for_lookup());
        let module = locations.last().map_or_else(String::new, |location| location.module.clone());
        Frame { address: at.address(), locations, module }
    }

    /// Goes on to the caller.
    fn caller(
        &mut self,
        at: FrameAddress,
        state: &mut UnwindRegsX86_64,
        mut read: impl FnMut(u64) -> Result<u64, ()>,
    ) -> Option<FrameAddress> {
        // The lowest page is never a stack; the unwinder need not meet what would underflow.
        if state.sp() < 4096 {
            return None;
        }
        if !at.is_return_address() && !self.is_code(at.address()) {
            // A call through a bad pointer: nothing ran there, so the return address is still on top of the stack.
            let back = read(state.sp()).ok()?;
            state.set_sp(state.sp().checked_add(8)?);
            state.set_ip(back);
            return FrameAddress::from_return_address(back);
        }
        let back = self.unwinder.unwind_frame(at, state, &mut self.rules, &mut read).ok()??;
        FrameAddress::from_return_address(back)
    }

    /// Whether code can run at an address.
    fn is_code(&self, address: u64) -> bool {
        maps::find(&self.mappings, address).is_some_and(|mapping| mapping.executable)
    }

    /// A place in no module: code made at run time, the kernel's page, or a wild jump.
    fn nowhere(&self, address: u64) -> Location {
        let mapping = maps::find(&self.mappings, address);
        let (module, start) = match mapping {
            Some(mapping) => (mapping.name(), mapping.start),
            None => ("unmapped".to_owned(), 0),
        };
        Location { function: None, file: None, line: None, column: None, module, offset: address.wrapping_sub(start) }
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").field("modules", &self.modules).finish_non_exhaustive()
    }
}

/// If the unwinder has come to the end of a signal handler, goes back to where the signal interrupted the thread.
///
/// The kernel left all registers there, so this is better than what unwind tables can do: the address is exact.
fn interrupted(state: &mut UnwindRegsX86_64, memory: Option<&Memory>) -> Option<u64> {
    /// Where the registers begin in a `ucontext`, which is on top of the stack of the code that returns from a signal.
    const REGISTERS: u64 = 40;
    let mut code = [0; SIGNAL_RETURN.len()];
    memory?.read(state.ip(), &mut code)?;
    if code != SIGNAL_RETURN {
        return None;
    }
    let context = state.sp();
    let register = |index: u64| memory?.read_u64(context.checked_add(REGISTERS + 8 * index)?);
    let (rbp, rsp, rip) = (register(10)?, register(15)?, register(16)?);
    *state = UnwindRegsX86_64::new(rip, rsp, rbp);
    Some(rip)
}

/// The frames that are the program's own: without those of Ordain and sanitizers, and without those of libc and of the language's runtime
/// that begin every stack. Of a stack with nothing else, all frames but Ordain's are left.
pub fn program_frames(frames: Vec<Frame>) -> Vec<Frame> {
    let mut kept = Vec::new();
    for frame in &frames {
        let bottom = frame.locations.iter().position(is_bottom);
        if !is_ordain(frame) && !is_sanitizer(frame) {
            let locations = frame.locations[..bottom.unwrap_or(frame.locations.len())].to_vec();
            kept.push(Frame { locations, ..frame.clone() });
        }
        if bottom.is_some() {
            break;
        }
    }
    while let Some(outermost) = kept.last_mut() {
        match outermost.locations.last() {
            Some(place) if is_runtime(place) => drop(outermost.locations.pop()),
            Some(_) => break,
            None => drop(kept.pop()),
        }
    }
    if kept.is_empty() { frames.into_iter().filter(|frame| !is_ordain(frame)).collect() } else { kept }
}

/// Whether a frame is in the library that Ordain loads into the program.
fn is_ordain(frame: &Frame) -> bool {
    frame.module == "memfd:ordain-preload" || frame.module.contains("ordain") && frame.module.contains(".so")
}

/// Whether a frame is in a sanitizer, which has noticed something or stands before a function of libc.
fn is_sanitizer(frame: &Frame) -> bool {
    let libraries = ["libasan.so", "libubsan.so", "liblsan.so", "libclang_rt."];
    let names = ["__asan", "__ubsan", "__lsan", "__sanitizer", "__interceptor_"];
    libraries.iter().any(|library| frame.module.starts_with(library))
        || frame
            .locations
            .last()
            .and_then(|place| place.function.as_ref())
            .is_some_and(|function| names.iter().any(|name| function.starts_with(name)))
}

/// Whether this function and all behind it run before `main` or a thread's function is called.
fn is_bottom(place: &Location) -> bool {
    let in_libc = ["libc.so", "libpthread"].iter().any(|name| place.module.starts_with(name));
    place.function.as_deref().is_some_and(|function| match function {
        "_start" => true,
        "start_thread" | "clone" | "clone3" | "__clone" | "__clone3" => in_libc,
        _ if function.starts_with("__libc_start_") => in_libc,
        _ => function.contains("__rust_begin_short_backtrace"),
    })
}

/// Whether a function at the outer end of a stack is no work of the program: it leads to it.
fn is_runtime(place: &Location) -> bool {
    // Without symbols, libc's functions are known by the library only.
    let libraries = ["libc.so", "libpthread", "ld-linux", "libstdc++"];
    let sources = ["/include/c++/", "/library/core/src/", "/library/std/src/", "/library/alloc/src/"];
    let file = place.file.as_ref().map(|file| file.to_string_lossy());
    libraries.iter().any(|library| place.module.starts_with(library))
        || file.is_some_and(|file| sources.iter().any(|source| file.contains(source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Loads a file as if it were mapped as a whole, and asks for everything.
    fn exercise(path: &Path, size: u64) {
        let line = format!("10000000-{:x} r-xp 00000000 00:00 0 {}\n", 0x1000_0000 + size, path.display());
        let mut symbols = Symbols::empty();
        symbols.take(maps::parse(line.as_bytes()), u32::MAX, None);
        for address in (0x1000_0000..0x1000_0000 + size).step_by(97) {
            assert!(!symbols.locate(address).is_empty());
            symbols.variable_at(address);
            let mut state = UnwindRegsX86_64::new(address, 0x7fff_0000, 0x7fff_0040);
            symbols.caller(FrameAddress::from_instruction_pointer(address), &mut state, Ok);
        }
    }

    #[test]
    fn damaged_files_do_no_harm() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join("a.c");
        let text = "struct s { int a[3]; struct { long b; } c[2]; } v[4]; int f(int n) { return n + v[1].a[2]; }\n\
                    int main(void) { static int w; return f(w); }\n";
        fs::write(&source, text).expect("the source can be written");
        let program = directory.path().join("a");
        let status = std::process::Command::new("cc").args(["-g", "-O1", "-o"]).arg(&program).arg(&source).status();
        assert!(status.expect("cc runs").success());
        let whole = fs::read(&program).expect("the program can be read");
        exercise(&program, whole.len() as u64);
        let mut random = 1_u64;
        for round in 0..200_usize {
            let mut damaged = whole.clone();
            for _ in 0..1 << (round % 10) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let place = (random >> 33) as usize % whole.len();
                damaged[place] = (random >> 24) as u8;
            }
            if round % 7 == 0 {
                damaged.truncate((random >> 33) as usize % whole.len());
            }
            let path = directory.path().join(format!("damaged{round}"));
            fs::write(&path, &damaged).expect("the file can be written");
            exercise(&path, whole.len() as u64);
        }
    }

    /// A frame of one function, `?` for one without a name.
    fn frame(module: &str, function: &str) -> Frame {
        let function = (function != "?").then(|| function.to_owned());
        let place =
            Location { function, file: None, line: None, column: None, module: module.to_owned(), offset: 0x10 };
        Frame { address: 0x10, locations: vec![place], module: module.to_owned() }
    }

    /// What is left of a stack.
    fn kept(stack: &[(&str, &str)]) -> Vec<String> {
        let frames = program_frames(stack.iter().map(|(module, function)| frame(module, function)).collect());
        frames.iter().map(|frame| frame.locations[0].to_string()).collect()
    }

    #[test]
    fn keeps_the_frames_of_the_program() {
        let own = ["take in prog+0x10", "worker in prog+0x10"];
        let top = [("libordain_preload.so", "pthread_mutex_lock"), ("prog", "take"), ("prog", "worker")];
        let named = [("libordain_preload.so", "donor_main"), ("libc.so.6", "start_thread"), ("libc.so.6", "clone3")];
        let nameless = [("libordain_preload.so", "?"), ("libc.so.6", "?"), ("libc.so.6", "?")];
        let cpp = [("libstdc++.so.6", "?"), ("libc.so.6", "?")];
        for bottom in [&named[..], &nameless, &cpp, &[("libc.so.6", "__libc_start_call_main"), ("prog", "_start")], &[]]
        {
            assert_eq!(kept(&[&top, bottom].concat()), own);
        }
        let preloaded = [("memfd:ordain-preload", "ordain_main"), ("memfd:ordain-preload", "take_over")];
        assert_eq!(kept(&[&top, &preloaded[..]].concat()), own);
        assert_eq!(kept(&preloaded).len(), 0);
        // A program may have such names of its own, and libraries in the middle of a stack are part of the story.
        assert_eq!(
            kept(&[("libc.so.6", "qsort"), ("prog", "clone")]),
            ["qsort in libc.so.6+0x10", "clone in prog+0x10"]
        );
        // Better all than nothing.
        assert_eq!(kept(&[("libc.so.6", "abort"), ("libc.so.6", "?")]).len(), 2);
        assert_eq!(kept(&[]).len(), 0);
    }

    #[test]
    fn can_be_handed_to_another_thread() {
        fn is_send<T: Send>(_: &T) {}
        is_send(&Symbols::empty());
    }
}
