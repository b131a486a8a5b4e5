//! Which functions the program is linked with: what it cannot call needs no care.

use core::ffi::{CStr, c_char, c_int, c_void};

/// Functions by which a thread can send a signal to another, or to the process.
pub const SENDERS: [&CStr; 15] = [
    c"kill",
    c"killpg",
    c"pthread_kill",
    c"pthread_sigqueue",
    c"sigqueue",
    c"tgkill",
    c"alarm",
    c"ualarm",
    c"setitimer",
    c"thrd_kill",
    // Children send signals when they end.
    c"fork",
    c"vfork",
    c"posix_spawn",
    c"posix_spawnp",
    // What is loaded later may call any of them.
    c"dlopen",
];

/// Functions by which a program can see where its output ends, or may come to call one that can.
pub const POSITIONS: [&CStr; 41] = [
    c"lseek",
    c"lseek64",
    c"llseek",
    c"ftell",
    c"ftello",
    c"ftello64",
    c"fseek",
    c"fseeko",
    c"fseeko64",
    c"fgetpos",
    c"fgetpos64",
    c"fsetpos",
    c"fsetpos64",
    c"rewind",
    c"stat",
    c"stat64",
    c"fstat",
    c"fstat64",
    c"fstatat",
    c"fstatat64",
    c"statx",
    c"__xstat",
    c"__xstat64",
    c"__fxstat",
    c"__fxstat64",
    c"__fxstatat",
    c"__fxstatat64",
    c"pread",
    c"pread64",
    c"preadv",
    c"preadv64",
    c"preadv2",
    c"mmap",
    c"mmap64",
    c"sendfile",
    c"copy_file_range",
    c"splice",
    c"setrlimit",
    c"syscall",
    c"dlopen",
    c"dlmopen",
];

struct Search<'a> {
    names: &'a [&'a CStr],
    found: bool,
}

#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Whether the program, or a library other than the C library and this one, is linked with one of these functions.
pub fn any(names: &[&CStr]) -> bool {
    let mut search = Search { names, found: false };
    // SAFETY: the loader calls back with each library; the search lives as long.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut search) as *mut c_void) };
    search.found
}

unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader's description of a library, and the search above.
    unsafe {
        let (info, search) = (&*info, &mut *(search as *mut Search<'_>));
        let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) }.to_bytes();
        let is_named = |part: &[u8]| name.windows(part.len()).any(|w| w == part);
        if is_named(b"/libc.so") || is_named(b"/ld-linux") || is_named(b"vdso") || is_named(b"/proc/self/fd/") {
            return 0;
        }
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else { return 0 };
        search.found |= calls(info.dlpi_addr, (info.dlpi_addr + dynamic.p_vaddr) as *const Dynamic, search.names);
        c_int::from(search.found)
    }
}

/// Whether the relocations of a library name one of the functions.
unsafe fn calls(base: u64, mut entry: *const Dynamic, names: &[&CStr]) -> bool {
    let (mut symbols, mut strings) = (0, 0);
    let mut tables = [(0, 0); 2];
    // SAFETY: the dynamic section ends with a zero; its tables are part of the library.
    unsafe {
        while (*entry).tag != 0 {
            let value = (*entry).value;
            let address = if value < base { value + base } else { value };
            match (*entry).tag {
                5 => strings = address,
                6 => symbols = address,
                7 => tables[0].0 = address,
                8 => tables[0].1 = value,
                23 => tables[1].0 = address,
                2 => tables[1].1 = value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if symbols == 0 || strings == 0 {
            return false;
        }
        for (table, size) in tables.into_iter().filter(|(table, _)| *table != 0) {
            let relocations =
                core::slice::from_raw_parts(table as *const Relocation, size as usize / size_of::<Relocation>());
            for symbol in relocations.iter().map(|r| r.info >> 32).filter(|s| *s != 0) {
                // A symbol has 24 bytes and begins with the place of its name.
                let name = ((symbols + 24 * symbol) as *const u32).read();
                let name = CStr::from_ptr((strings + u64::from(name)) as *const c_char);
                if names.contains(&name) {
                    return true;
                }
            }
        }
    }
    false
}
