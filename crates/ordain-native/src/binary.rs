//! The program file: found as the shell would find it, and looked at before it is started.
//!
//! Ordain enters a program through the dynamic loader of glibc. What cannot be entered that way is refused here, each
//! kind with its reason and what to do instead, so that no run begins that could only half work.

use miette::Diagnostic;
use object::LittleEndian;
use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::read::{Object, ObjectSection, ObjectSymbol, StringTable};
use rustix::fs::Access;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where `execvp` looks when there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file name of glibc's dynamic loader on x86-64.
const LOADER: &str = "ld-linux-x86-64.so.2";

/// A program that Ordain can run, and what its file tells about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Binary {
    /// The file, absolute; links are not resolved, since a program may look at the name it is called by.
    pub path: PathBuf,
    /// A hash of the contents: two files with the same fingerprint are the same program.
    pub fingerprint: u128,
    /// Whether it is position independent.
    pub pie: bool,
    /// Whether it has no symbol table, in itself or beside it.
    pub stripped: bool,
    /// Whether source lines are known, from the file or from a separate debug file.
    pub has_debug_info: bool,
    /// Whether it is (partly) written in Rust, as far as one can tell.
    pub rust: bool,
    /// Whether it uses an OpenMP runtime.
    pub openmp: bool,
    /// The shared libraries that it names.
    pub needed: Vec<String>,
}

/// Why a program cannot be run under Ordain.
#[derive(Debug, Diagnostic, Error)]
pub enum Refused {
    /// There is no such file.
    #[error("there is no program `{program}`")]
    #[diagnostic(help("{}", if program.contains('/') {
        "is the path right, seen from the current directory?"
    } else {
        "it is in no directory of PATH; a program in the current directory is called as ./NAME"
    }))]
    NotFound {
        /// The program as it was asked for.
        program: String,
    },
    /// It is a directory, a pipe or a device.
    #[error("{} is not a file", path.display())]
    #[diagnostic(help("name the program file itself"))]
    NotAFile {
        /// What was found.
        path: PathBuf,
    },
    /// The file must not be executed.
    #[error("{} is not executable", path.display())]
    #[diagnostic(help("if it is a program, allow it with `chmod +x {}`; a file system mounted with `noexec` \
                       forbids it too", path.display()))]
    NotExecutable {
        /// The program file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    #[diagnostic(help("Ordain reads the program file to find its symbols: it needs the right to read it"))]
    Unreadable {
        /// The program file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// A script with `#!`.
    #[error("{} is a script for {interpreter}", path.display())]
    #[diagnostic(help("Ordain controls the program that runs, which is the interpreter: pass it explicitly, as \
                       in `-- {interpreter} {}`", path.display()))]
    Script {
        /// The script.
        path: PathBuf,
        /// What its first line names.
        interpreter: String,
    },
    /// Neither ELF nor a script.
    #[error("{} is not a program: it is not an ELF file", path.display())]
    #[diagnostic(help("pass the compiled program; for a script without a first line `#!`, pass its interpreter"))]
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// ELF, but its headers make no sense.
    #[error("{} is damaged: {reason}", path.display())]
    #[diagnostic(help("build or install it again"))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// For another processor.
    #[error("{} is a program for {architecture}", path.display())]
    #[diagnostic(help("Ordain runs programs for x86-64: build it for this machine"))]
    OtherArchitecture {
        /// The program file.
        path: PathBuf,
        /// The processor it is for.
        architecture: String,
    },
    /// For x86, but with 32-bit addresses (i386 or x32).
    #[error("{} is a 32-bit program", path.display())]
    #[diagnostic(help("build it as a 64-bit program: without -m32 or -mx32, or for the target x86_64-*-linux-gnu"))]
    ThirtyTwoBit {
        /// The program file.
        path: PathBuf,
    },
    /// An object file or a core dump.
    #[error("{} is {kind}, not a program", path.display())]
    #[diagnostic(help("{help}"))]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// Statically linked.
    #[error("{} is statically linked", path.display())]
    #[diagnostic(help(
        "Ordain enters a program through the dynamic loader: link it without -static, -static-pie or \
                       `-C target-feature=+crt-static`"
    ))]
    Static {
        /// The program file.
        path: PathBuf,
    },
    /// It runs with the rights of its owner.
    #[error("{} has the set-{who}-ID bit", path.display())]
    #[diagnostic(help("the system lets nothing enter such a program; a plain copy has no such bit: \
                       `cp {} ./copy`, then check ./copy", path.display()))]
    SetId {
        /// The program file.
        path: PathBuf,
        /// `user` or `group`.
        who: &'static str,
    },
    /// It runs with capabilities of its own.
    #[error("{} has file capabilities", path.display())]
    #[diagnostic(help("the system lets nothing enter such a program; a plain copy has no capabilities: \
                       `cp {} ./copy`, then check ./copy", path.display()))]
    Capabilities {
        /// The program file.
        path: PathBuf,
    },
    /// Linked with musl.
    #[error("{} is linked with musl, not with glibc", path.display())]
    #[diagnostic(help("build it for glibc, in Rust with `--target x86_64-unknown-linux-gnu`"))]
    Musl {
        /// The program file.
        path: PathBuf,
    },
    /// Started by another loader.
    #[error("{} is started by {interpreter}, which is not the loader of glibc", path.display())]
    #[diagnostic(help("Ordain knows the loader {LOADER} only: build the program for glibc"))]
    OtherLoader {
        /// The program file.
        path: PathBuf,
        /// The loader that it names.
        interpreter: String,
    },
    /// Built with a sanitizer that cannot be under Ordain.
    #[error("{} is built with {sanitizer}", path.display())]
    #[diagnostic(help(
        "{sanitizer} follows threads by the same calls as Ordain, and lays out memory its own way, so that they cannot be \
         combined: build without -fsanitize={option}; -fsanitize=address and -fsanitize=undefined work under Ordain"
    ))]
    Sanitizer {
        /// The program file.
        path: PathBuf,
        /// Its name.
        sanitizer: &'static str,
        /// What the compiler calls it.
        option: &'static str,
    },
    /// Written in Go.
    #[error("{} is a Go program", path.display())]
    #[diagnostic(help(
        "Go schedules its goroutines itself, below the C library where Ordain stands; test it with \
                       `go test -race`"
    ))]
    Go {
        /// The program file.
        path: PathBuf,
    },
}

/// Finds `program` as `execvp` does, in `search_path` unless it has a slash, and tells whether Ordain can run it.
pub fn inspect(program: &OsStr, search_path: Option<&OsStr>) -> Result<Binary, Refused> {
    let (path, metadata) = find(program, search_path)?;
    refuse_privileges(&path, &metadata)?;
    let contents = fs::read(&path).map_err(|error| Refused::Unreadable { path: path.clone(), error })?;
    refuse_foreign(&path, &contents)?;
    let damaged = |error: object::Error| Refused::Damaged { path: path.clone(), reason: error.to_string() };
    let file = ElfFile64::<LittleEndian>::parse(&*contents).map_err(damaged)?;
    let pie = match file.elf_header().e_type(LittleEndian) {
        elf::ET_EXEC => false,
        elf::ET_DYN => true,
        other => return Err(other_kind(path, other)),
    };
    if [".note.go.buildid", ".go.buildinfo", ".gopclntab"].iter().any(|name| file.section_by_name(name).is_some()) {
        return Err(Refused::Go { path });
    }
    let dynamic = Dynamic::read(&file).map_err(damaged)?;
    refuse_loader(&path, &dynamic, pie)?;

    if let Some((sanitizer, option)) = refused_sanitizer(&file, &dynamic.needed) {
        return Err(Refused::Sanitizer { path, sanitizer, option });
    }

    let openmp = dynamic.needed.iter().any(|name| ["libgomp", "libomp", "libiomp"].iter().any(|l| name.starts_with(l)));
    let separate = crate::backtrace::separate_debug_file(&file, &path);
    Ok(Binary {
        fingerprint: ordain_report::fingerprint::of(&contents),
        pie,
        stripped: file.section_by_name(".symtab").is_none() && separate.is_none(),
        has_debug_info: file.section_by_name(".debug_info").is_some() || separate.is_some(),
        rust: mentions_rust(&file),
        openmp,
        needed: dynamic.needed,
        path,
    })
}

/// The file that `execvp` would run.
fn find(program: &OsStr, search_path: Option<&OsStr>) -> Result<(PathBuf, Metadata), Refused> {
    let not_found = || Refused::NotFound { program: program.to_string_lossy().into_owned() };
    if program.is_empty() {
        return Err(not_found());
    }
    if program.as_bytes().contains(&b'/') {
        return runnable(Path::new(program)).unwrap_or_else(|| Err(not_found()));
    }
    // A file that may not be executed does not end the search; it is only reported if nothing better is found.
    let mut refused = None;
    for directory in env::split_paths(search_path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
        match runnable(&directory.join(program)) {
            Some(Ok(found)) => return Ok(found),
            Some(Err(Refused::NotAFile { .. })) | None => {}
            Some(Err(error)) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(not_found))
}

/// Whether the file at `path` may be executed; nothing if there is none.
fn runnable(path: &Path) -> Option<Result<(PathBuf, Metadata), Refused>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Some(Err(Refused::Unreadable { path: path.to_owned(), error }));
        }
        Err(_) => return None,
    };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if !metadata.is_file() {
        return Some(Err(Refused::NotAFile { path }));
    }
    if rustix::fs::access(&path, Access::EXEC_OK).is_err() {
        return Some(Err(Refused::NotExecutable { path }));
    }
    Some(Ok((path, metadata)))
}

/// Refuses programs that the kernel starts in secure mode, where the loader ignores what Ordain asks of it.
fn refuse_privileges(path: &Path, metadata: &Metadata) -> Result<(), Refused> {
    let mode = metadata.permissions().mode();
    if mode & 0o4000 != 0 {
        return Err(Refused::SetId { path: path.to_owned(), who: "user" });
    }
    // Without the group's right to execute, the bit once meant mandatory locking and changes no identity.
    if mode & 0o2010 == 0o2010 {
        return Err(Refused::SetId { path: path.to_owned(), who: "group" });
    }
    match rustix::fs::getxattr(path, c"security.capability", &mut [0_u8; 64][..]) {
        Ok(1..) | Err(rustix::io::Errno::RANGE) => Err(Refused::Capabilities { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Refuses what is not a 64-bit x86 ELF file, by its first bytes.
fn refuse_foreign(path: &Path, contents: &[u8]) -> Result<(), Refused> {
    let path = path.to_owned();
    if let Some(line) = contents.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let interpreter = String::from_utf8_lossy(line).trim().to_owned();
        return Err(Refused::Script { path, interpreter });
    }
    if !contents.starts_with(&elf::ELFMAG) {
        return Err(Refused::NotElf { path });
    }
    let (Some(&class), Some(&order), Some(&[low, high])) =
        (contents.get(4), contents.get(5), contents.get(18..20).and_then(|bytes| bytes.first_chunk::<2>()))
    else {
        return Err(Refused::Damaged { path, reason: "it ends within its header".into() });
    };
    let machine = if order == elf::ELFDATA2MSB { [high, low] } else { [low, high] };
    match (u16::from_le_bytes(machine), class) {
        (elf::EM_X86_64, elf::ELFCLASS64) => Ok(()),
        (elf::EM_X86_64 | elf::EM_386, _) => Err(Refused::ThirtyTwoBit { path }),
        (other, _) => Err(Refused::OtherArchitecture { path, architecture: architecture(other) }),
    }
}

/// The name of a processor, from its ELF number.
fn architecture(machine: u16) -> String {
    match machine {
        elf::EM_AARCH64 => "64-bit ARM".into(),
        elf::EM_ARM => "32-bit ARM".into(),
        elf::EM_RISCV => "RISC-V".into(),
        elf::EM_PPC64 => "64-bit PowerPC".into(),
        elf::EM_PPC => "32-bit PowerPC".into(),
        elf::EM_S390 => "IBM Z".into(),
        elf::EM_MIPS => "MIPS".into(),
        elf::EM_SPARC | elf::EM_SPARCV9 => "SPARC".into(),
        elf::EM_LOONGARCH => "LoongArch".into(),
        elf::EM_BPF => "the BPF machine".into(),
        other => format!("another processor (ELF machine number {other})"),
    }
}

/// An ELF file that cannot be executed at all.
fn other_kind(path: PathBuf, kind: u16) -> Refused {
    let (kind, help) = match kind {
        elf::ET_REL => ("an object file", "link it first, and pass the program"),
        elf::ET_CORE => ("a core dump", "pass the program that left it behind"),
        _ => ("an ELF file of an unknown kind", "pass the compiled program"),
    };
    Refused::OtherKind { path, kind, help }
}

/// Refuses what glibc's dynamic loader does not start.
fn refuse_loader(path: &Path, dynamic: &Dynamic, pie: bool) -> Result<(), Refused> {
    let path = path.to_owned();
    let Some(interpreter) = &dynamic.interpreter else {
        if pie && !dynamic.static_pie {
            let help = "pass a program that uses it";
            return Err(Refused::OtherKind { path, kind: "a shared library", help });
        }
        return Err(Refused::Static { path });
    };
    let name = interpreter.rsplit('/').next().unwrap_or_default();
    if name.contains("ld-musl") {
        return Err(Refused::Musl { path });
    }
    if name != LOADER {
        return Err(Refused::OtherLoader { path, interpreter: interpreter.clone() });
    }
    Ok(())
}

/// What a program says to the dynamic loader.
struct Dynamic {
    /// The loader that it asks for.
    interpreter: Option<String>,
    /// The libraries that it asks for.
    needed: Vec<String>,
    /// Whether it is marked as a position independent program, which sets a static one apart from a library.
    static_pie: bool,
}

impl Dynamic {
    /// Reads it from the program headers: the section headers may be stripped.
    fn read(file: &ElfFile64<'_, LittleEndian>) -> object::Result<Dynamic> {
        let (endian, data) = (LittleEndian, file.data());
        let mut found = Dynamic { interpreter: None, needed: Vec::new(), static_pie: false };
        let headers = file.elf_program_headers();
        for header in headers {
            if let Some(interpreter) = header.interpreter(endian, data)? {
                found.interpreter = Some(String::from_utf8_lossy(interpreter).into_owned());
            }
            let Some(entries) = header.dynamic(endian, data)? else { continue };
            let value = |wanted: i64| {
                entries.iter().find(|entry| entry.d_tag(endian) == wanted).map(|entry| entry.d_val(endian))
            };
            found.static_pie = value(elf::DT_FLAGS_1).is_some_and(|flags| flags & u64::from(elf::DF_1_PIE) != 0);
            let table = value(elf::DT_STRTAB).and_then(|address| {
                headers.iter().filter(|header| header.p_type(endian) == elf::PT_LOAD).find_map(|header| {
                    let inside = address.checked_sub(header.p_vaddr(endian))?;
                    (inside < header.p_filesz(endian)).then(|| header.p_offset(endian).checked_add(inside))?
                })
            });
            let Some(start) = table else { continue };
            let end = start.saturating_add(value(elf::DT_STRSZ).unwrap_or(0)).min(data.len() as u64);
            let strings = StringTable::new(data, start, end);
            for entry in entries.iter().take_while(|entry| entry.d_tag(endian) != elf::DT_NULL) {
                if entry.d_tag(endian) == elf::DT_NEEDED {
                    let name = entry.string(endian, strings)?;
                    found.needed.push(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
        Ok(found)
    }
}

/// The sanitizer that a program was built with, if it is one that Ordain cannot be combined with: its name, and what the compiler calls it.
fn refused_sanitizer(file: &ElfFile64<'_, LittleEndian>, needed: &[String]) -> Option<(&'static str, &'static str)> {
    const REFUSED: [(&str, &str, &str, &[u8]); 3] = [
        ("ThreadSanitizer", "thread", "tsan", b"__tsan_init"),
        ("MemorySanitizer", "memory", "msan", b"__msan_init"),
        ("HWAddressSanitizer", "hwaddress", "hwasan", b"__hwasan_init"),
    ];
    let has = |mark: &[u8]| file.symbols().chain(file.dynamic_symbols()).any(|s| s.name_bytes() == Ok(mark));
    let found = REFUSED.iter().find(|(_, _, library, mark)| {
        needed.iter().any(|name| name.starts_with(&format!("lib{library}")) || name.contains(&format!(".{library}")))
            || has(mark)
    });
    found.map(|(name, option, ..)| (*name, *option))
}

/// Whether the compiler or the standard library of Rust left its mark.
fn mentions_rust(file: &ElfFile64<'_, LittleEndian>) -> bool {
    // The sources of std are named in the messages of its panics, also in a stripped program.
    [(".comment", &b"rustc version"[..]), (".rodata", b"library/std/src/")].iter().any(|(section, mark)| {
        let data = file.section_by_name(section).and_then(|section| section.data().ok());
        data.is_some_and(|data| memchr::memmem::find(data, mark).is_some())
    })
}
