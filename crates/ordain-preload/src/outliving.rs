//! Objects of the kernel that outlive processes: queues, semaphores and shared memory of System V and POSIX. What an execution makes is
//! removed at its end, in every mode, so that the next one begins as it did.

use crate::context::interpose;
use crate::real::call_real;
use crate::sys::{self, call};
use crate::unmodelled::{Named, note_name};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};

/// What was made, by the call that removes it and its number, or by its name.
enum Made {
    Numbered { remove: i64, number: c_int },
    Queue(Vec<u8>),
    Memory(Vec<u8>),
}

/// In the runtime's heap: what children of the process make in fork mode, the process itself removes.
static mut MADE: *mut Vec<Made> = core::ptr::null_mut();

fn made() -> &'static mut Vec<Made> {
    // SAFETY: made before the program begins; only the carrier comes here, and no reference is kept.
    unsafe { &mut *MADE }
}

/// Makes what is needed, once.
pub fn prepare() {
    // SAFETY: only the carrier comes here.
    unsafe { MADE = Box::into_raw(Box::default()) };
}

/// Removes what the last execution has made.
pub fn remove() {
    for one in made().drain(..) {
        // SAFETY: objects that nobody uses any more; some may be gone already.
        unsafe {
            match one {
                Made::Numbered { remove: libc::SYS_semctl, number } => {
                    call!(libc::SYS_semctl, number, 0, libc::IPC_RMID, 0)
                }
                Made::Numbered { remove, number } => call!(remove, number, libc::IPC_RMID, 0),
                Made::Queue(name) => call!(libc::SYS_mq_unlink, name.as_ptr()),
                Made::Memory(path) => call!(libc::SYS_unlink, path.as_ptr()),
            };
        }
    }
}

interpose! {
    shmget => get_memory; semget => get_semaphores; msgget => get_messages;
    mq_open => open_queue; shm_open => open_memory;
}

/// Notes a number that a call gave, if what it stands for was not there before.
fn note(existed: bool, remove: i64, number: c_int) -> c_int {
    if number >= 0 {
        note_name(if existed { Named::Existing } else { Named::New });
        if !existed {
            made().push(Made::Numbered { remove, number });
        }
    }
    number
}

unsafe extern "C" fn get_memory(key: c_int, size: usize, flags: c_int) -> c_int {
    // SAFETY: what the program asks for. Without a key it is always new.
    unsafe {
        let existed = key != libc::IPC_PRIVATE && call!(libc::SYS_shmget, key, 0, 0) >= 0;
        note(existed, libc::SYS_shmctl, call_real!(shmget(key, size, flags)))
    }
}

unsafe extern "C" fn get_semaphores(key: c_int, count: c_int, flags: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let existed = key != libc::IPC_PRIVATE && call!(libc::SYS_semget, key, 0, 0) >= 0;
        note(existed, libc::SYS_semctl, call_real!(semget(key, count, flags)))
    }
}

unsafe extern "C" fn get_messages(key: c_int, flags: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let existed = key != libc::IPC_PRIVATE && call!(libc::SYS_msgget, key, 0) >= 0;
        note(existed, libc::SYS_msgctl, call_real!(msgget(key, flags)))
    }
}

/// A name without its leading slash, behind a directory.
unsafe fn named(directory: &[u8], name: *const c_char) -> Vec<u8> {
    // SAFETY: the program's string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    let name = name.strip_prefix(b"/").unwrap_or(name);
    [directory, name].concat()
}

unsafe extern "C" fn open_queue(name: *const c_char, flags: c_int, mode: u32, attributes: *mut c_void) -> c_int {
    // SAFETY: what the program asks for; a descriptor of our own, for a moment.
    unsafe {
        if flags & libc::O_CREAT == 0 {
            let queue = call_real!(mq_open(name, flags, mode, attributes));
            if queue >= 0 && !made().iter().any(|one| matches!(one, Made::Queue(own) if *own == named(b"", name))) {
                note_name(Named::Existing);
            }
            return queue;
        }
        let kernel_name = named(b"", name);
        let before = call!(libc::SYS_mq_open, kernel_name.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0, 0);
        if before >= 0 {
            call!(sys::SYS_close, before);
        }
        let queue = call_real!(mq_open(name, flags, mode, attributes));
        if queue >= 0 {
            let is_new = before == -(libc::ENOENT as isize);
            note_name(if is_new { Named::New } else { Named::Existing });
            if is_new {
                made().push(Made::Queue(kernel_name));
            }
        }
        queue
    }
}

unsafe extern "C" fn open_memory(name: *const c_char, flags: c_int, mode: u32) -> c_int {
    // SAFETY: what the program asks for.
    unsafe {
        let path = named(b"/dev/shm/", name);
        let existed = flags & libc::O_CREAT == 0 || call!(libc::SYS_access, path.as_ptr(), libc::F_OK) == 0;
        let memory = call_real!(shm_open(name, flags, mode));
        if memory >= 0 && !existed {
            made().push(Made::Memory(path));
        }
        memory
    }
}
