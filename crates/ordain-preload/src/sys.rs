//! System calls without the C library: no errno, no locks, nothing that is interposed.

use core::arch::asm;

pub use libc::{
    SYS_brk, SYS_clone, SYS_close, SYS_close_range, SYS_exit_group, SYS_fcntl, SYS_ftruncate, SYS_futex, SYS_getpid,
    SYS_getrusage, SYS_gettid, SYS_ioctl, SYS_lseek, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_open, SYS_prctl,
    SYS_pread64, SYS_read, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_seccomp, SYS_sigaltstack, SYS_userfaultfd,
    SYS_wait4,
};

/// Makes a system call. What it may do is up to the caller.
#[inline(always)]
pub unsafe fn syscall6(number: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    let result: isize;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// A system call with up to six arguments; those left out are zero.
macro_rules! call {
    ($n:expr) => { $crate::sys::syscall6($n, 0, 0, 0, 0, 0, 0) };
    ($n:expr, $a:expr) => { $crate::sys::syscall6($n, $a as usize, 0, 0, 0, 0, 0) };
    ($n:expr, $a:expr, $b:expr) => { $crate::sys::syscall6($n, $a as usize, $b as usize, 0, 0, 0, 0) };
    ($n:expr, $a:expr, $b:expr, $c:expr) => { $crate::sys::syscall6($n, $a as usize, $b as usize, $c as usize, 0, 0, 0) };
    ($n:expr, $a:expr, $b:expr, $c:expr, $d:expr) => {
        $crate::sys::syscall6($n, $a as usize, $b as usize, $c as usize, $d as usize, 0, 0)
    };
    ($n:expr, $a:expr, $b:expr, $c:expr, $d:expr, $e:expr) => {
        $crate::sys::syscall6($n, $a as usize, $b as usize, $c as usize, $d as usize, $e as usize, 0)
    };
    ($n:expr, $a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr) => {
        $crate::sys::syscall6($n, $a as usize, $b as usize, $c as usize, $d as usize, $e as usize, $f as usize)
    };
}
pub(crate) use call;

/// Ends the process.
pub fn exit_group(status: i32) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { call!(SYS_exit_group, status) };
    }
}

/// Where the runtime's own mappings go: far from where the kernel and AddressSanitizer put those of the program, so that these are the same in
/// all modes.
pub const OWN_ADDRESSES: core::ops::Range<usize> = 0x2000_0000_0000..0x3000_0000_0000;
static mut OWN_AREA: usize = OWN_ADDRESSES.start;

/// An address at which the runtime's next mapping should be.
pub fn own_address(size: usize) -> usize {
    // SAFETY: only the carrier comes here.
    unsafe {
        let at = OWN_AREA;
        // A gap, so that nobody writes over the end of one into the next.
        OWN_AREA = (at + size + (1 << 21)) & !((1 << 21) - 1);
        at
    }
}

/// Where the runtime's mappings are, if the kernel has put them where they should be.
pub fn own_area() -> core::ops::Range<usize> {
    // SAFETY: only the carrier comes here.
    OWN_ADDRESSES.start..unsafe { OWN_AREA }
}

/// Maps memory that is shared with children and left alone when the program's memory is put back.
pub fn map_shared(size: usize) -> *mut u8 {
    // SAFETY: a new mapping.
    let at = unsafe {
        call!(
            SYS_mmap,
            own_address(size),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1i32,
            0
        )
    };
    if at < 0 { core::ptr::null_mut() } else { at as *mut u8 }
}

/// Waits while the word has this value.
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, value: u32) {
    // SAFETY: the word is there.
    unsafe { call!(SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, 0) };
}

/// Wakes who waits on the word.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32) {
    // SAFETY: the word is there.
    unsafe { call!(SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// The base of thread-local storage.
pub fn fs_base() -> u64 {
    let base: u64;
    // SAFETY: reads a register; the launcher has checked that the system allows it.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack)) };
    base
}

/// Moves a descriptor out of the program's way.
pub fn move_high(fd: isize) -> i32 {
    if fd < 0 {
        return -1;
    }
    // SAFETY: descriptors of our own.
    unsafe {
        let high = call!(SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, ordain_wire::FIRST_OWN_FD);
        call!(SYS_close, fd);
        high as i32
    }
}

/// What memory of this process holds at an address; nothing if there is none.
pub fn read_word(address: u64) -> Option<u32> {
    let mut word = 0u32;
    let own = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: 4 };
    let other = libc::iovec { iov_base: address as *mut core::ffi::c_void, iov_len: 4 };
    // SAFETY: the kernel copies, and fails where there is nothing.
    unsafe {
        let process = call!(SYS_getpid);
        (call!(libc::SYS_process_vm_readv, process, &raw const own, 1, &raw const other, 1, 0) == 4).then_some(word)
    }
}

/// Reads a small file of /proc.
pub fn read_file(path: &core::ffi::CStr, room: &mut [u8]) -> usize {
    // SAFETY: reads into the given memory.
    unsafe {
        let fd = call!(SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return 0;
        }
        let mut length = 0;
        loop {
            let got = call!(SYS_read, fd, room.as_mut_ptr().add(length), room.len() - length);
            if got <= 0 {
                break;
            }
            length += got as usize;
        }
        call!(SYS_close, fd);
        length
    }
}

/// A short text on the stack; what does not fit is an error.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    /// Without anything in it.
    pub fn new() -> Self {
        Self { bytes: [0; N], length: 0 }
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl<const N: usize> core::fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(core::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
