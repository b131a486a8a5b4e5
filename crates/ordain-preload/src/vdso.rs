//! The functions that the kernel lends to every process to read clocks without a system call (vDSO).
//!
//! The C library calls them from within, past everything that is interposed; and they loop for long where reading the processor's time is
//! emulated. So their code is replaced by jumps to functions of ours, which answer with virtual time.

use crate::engine::active;
use crate::sys::{self, call};
use crate::{random, time};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use libc::{Elf64_Ehdr, Elf64_Phdr, Elf64_Sym, timespec, timeval};

/// What the dynamic section says of its entries: names, symbols, size of the names.
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
/// Bytes of a jump to any address.
const JUMP: usize = 12;
const PAGE: usize = 4096;
/// More pages the image does not have.
const MOST_PAGES: usize = 16;

/// Where the functions are: the image as the kernel mapped it.
struct Image {
    base: *const u8,
    symbols: *const Elf64_Sym,
    names: *const c_char,
    names_size: usize,
}

impl Image {
    /// Finds it; `None` if the kernel lends nothing.
    fn find() -> Option<Self> {
        // SAFETY: the kernel's image of a library, which is whole; its addresses begin at zero.
        unsafe {
            let base = libc::getauxval(libc::AT_SYSINFO_EHDR) as *const u8;
            if base.is_null() {
                return None;
            }
            let header = &*(base as *const Elf64_Ehdr);
            let segments = core::slice::from_raw_parts(
                base.add(header.e_phoff as usize) as *const Elf64_Phdr,
                header.e_phnum as usize,
            );
            let dynamic = segments.iter().find(|s| s.p_type == libc::PT_DYNAMIC)?;
            let mut entry = base.add(dynamic.p_vaddr as usize) as *const [u64; 2];
            let mut image = Self { base, symbols: core::ptr::null(), names: core::ptr::null(), names_size: 0 };
            while (*entry)[0] != 0 {
                let [tag, value] = *entry;
                match tag {
                    DT_STRTAB => image.names = base.add(value as usize).cast(),
                    DT_SYMTAB => image.symbols = base.add(value as usize).cast(),
                    DT_STRSZ => image.names_size = value as usize,
                    _ => {}
                }
                entry = entry.add(1);
            }
            (!image.symbols.is_null() && image.names > image.symbols.cast()).then_some(image)
        }
    }

    /// Its functions, with their names. The table of names follows that of symbols.
    fn functions(&self) -> impl Iterator<Item = (&CStr, &Elf64_Sym)> {
        let count = (self.names as usize - self.symbols as usize) / size_of::<Elf64_Sym>();
        // SAFETY: within the image.
        let symbols = unsafe { core::slice::from_raw_parts(self.symbols, count) };
        let functions = symbols.iter().filter(|s| s.st_size as usize >= JUMP && (s.st_name as usize) < self.names_size);
        // SAFETY: within the table of names.
        functions.map(|s| (unsafe { CStr::from_ptr(self.names.add(s.st_name as usize)) }, s))
    }
}

/// Replaces the functions. Where the kernel does not allow that (memory that is sealed) they stay as they are.
pub fn replace() {
    let Some(image) = Image::find() else { return };
    let functions = || {
        image.functions().filter_map(|(name, symbol)| {
            let own = stand_in(name.to_bytes())?;
            Some((image.base as usize + symbol.st_value as usize, own))
        })
    };
    let low = image.base as usize & !(PAGE - 1);
    // SAFETY: only this thread runs, and it is not in these pages; each function has room for a jump.
    unsafe {
        let make_writable =
            |size: &usize| call!(sys::SYS_mprotect, low, *size, libc::PROT_READ | libc::PROT_WRITE) == 0;
        // The kernel changes the rights of the image as a whole only, and does not say how large that is.
        let Some(size) = (1..=MOST_PAGES).map(|pages| pages * PAGE).find(make_writable) else { return };
        for (at, own) in functions() {
            // mov rax, own; jmp rax
            let mut jump = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
            jump[2..10].copy_from_slice(&own.to_le_bytes());
            (at as *mut [u8; JUMP]).write(jump);
        }
        call!(sys::SYS_mprotect, low, size, libc::PROT_READ | libc::PROT_EXEC);
    }
}

/// The function of ours that stands for one of the kernel's.
fn stand_in(name: &[u8]) -> Option<usize> {
    Some(match name {
        b"__vdso_clock_gettime" => read_clock as *const () as usize,
        b"__vdso_clock_getres" => read_resolution as *const () as usize,
        b"__vdso_gettimeofday" => read_time_of_day as *const () as usize,
        b"__vdso_time" => read_time as *const () as usize,
        b"__vdso_getcpu" => read_processor as *const () as usize,
        b"__vdso_getrandom" => read_random as *const () as usize,
        _ => return None,
    })
}

unsafe extern "C" fn read_clock(clock: c_int, out: *mut timespec) -> c_int {
    // SAFETY: the caller's argument.
    unsafe {
        if active() {
            time::raw_clock(clock, out) as c_int
        } else {
            call!(libc::SYS_clock_gettime, clock, out) as c_int
        }
    }
}

unsafe extern "C" fn read_resolution(clock: c_int, out: *mut timespec) -> c_int {
    // SAFETY: the caller's argument.
    unsafe { call!(libc::SYS_clock_getres, clock, out) as c_int }
}

unsafe extern "C" fn read_time_of_day(out: *mut timeval, zone: *mut c_void) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        if !active() {
            return call!(libc::SYS_gettimeofday, out, zone) as c_int;
        }
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        let result = time::raw_clock(libc::CLOCK_REALTIME, &mut now);
        if !out.is_null() {
            *out = timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 };
        }
        result as c_int
    }
}

unsafe extern "C" fn read_time(out: *mut libc::time_t) -> libc::time_t {
    let mut now = timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: the caller's argument.
    unsafe {
        read_time_of_day(&mut now, core::ptr::null_mut());
        if !out.is_null() {
            *out = now.tv_sec;
        }
    }
    now.tv_sec
}

unsafe extern "C" fn read_processor(cpu: *mut c_uint, node: *mut c_uint, _unused: *mut c_void) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        if !active() {
            return call!(libc::SYS_getcpu, cpu, node, 0) as c_int;
        }
        for place in [cpu, node].into_iter().filter(|p| !p.is_null()) {
            *place = 0;
        }
    }
    0
}

unsafe extern "C" fn read_random(
    room: *mut c_void,
    length: usize,
    flags: c_uint,
    _state: *mut c_void,
    state_size: usize,
) -> isize {
    if state_size == usize::MAX {
        // Asks how large the state must be.
        return -libc::ENOSYS as isize;
    }
    // SAFETY: the caller's arguments.
    unsafe {
        if !active() {
            return call!(libc::SYS_getrandom, room, length, flags);
        }
        random::fill(room, length);
    }
    length as isize
}
