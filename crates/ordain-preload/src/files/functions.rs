//! Functions of the C library that are one system call: interposed, so that the step is shown where the program calls them, and so that
//! the kernel need not send the call back.

use super::calls::system_call;
use crate::context::interpose;
use crate::real::c_result;
use core::ffi::c_int;
use libc::AT_FDCWD;

/// Defines functions that make a system call with the arguments that they get.
macro_rules! functions {
    ($($name:ident: $number:ident;)*) => {$(
        unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
            // SAFETY: what the program asks for.
            c_result(unsafe { system_call(libc::$number, [a, b, c, d, e, f]) })
        }
    )*};
}

functions! {
    test_access: SYS_access; test_access_at: SYS_faccessat2;
    look: SYS_stat; look_at_link: SYS_lstat; look_at_open: SYS_fstat; look_at: SYS_newfstatat; look_closely: SYS_statx;
    read_link: SYS_readlink; read_link_at: SYS_readlinkat;
    remove_name: SYS_unlink; remove_name_at: SYS_unlinkat; remove_directory: SYS_rmdir;
    rename_name: SYS_rename; rename_at: SYS_renameat; rename_at_with: SYS_renameat2;
    link_name: SYS_link; link_at: SYS_linkat; make_link: SYS_symlink; make_link_at: SYS_symlinkat;
    make_directory: SYS_mkdir; make_directory_at: SYS_mkdirat;
    cut_path: SYS_truncate; cut: SYS_ftruncate; seek: SYS_lseek;
    read_at: SYS_pread64; write_at: SYS_pwrite64; change_mode: SYS_chmod; lock_file: SYS_flock; change_directory: SYS_chdir;
    change_semaphores: SYS_semop; change_semaphores_in_time: SYS_semtimedop;
    send_to_queue: SYS_msgsnd; receive_from_queue: SYS_msgrcv;
}

/// Makes a FIFO.
unsafe extern "C" fn make_fifo(path: usize, mode: usize) -> c_int {
    let mode = mode | libc::S_IFIFO as usize;
    // SAFETY: what the program asks for.
    c_result(unsafe { system_call(libc::SYS_mknodat, [AT_FDCWD as usize, path, mode, 0, 0, 0]) }) as c_int
}

interpose! {
    access => test_access; faccessat => test_access_at;
    stat => look; stat64 => look; lstat => look_at_link; lstat64 => look_at_link;
    fstat => look_at_open; fstat64 => look_at_open; fstatat => look_at; fstatat64 => look_at; statx => look_closely;
    readlink => read_link; readlinkat => read_link_at;
    unlink => remove_name; unlinkat => remove_name_at; rmdir => remove_directory;
    rename => rename_name; renameat => rename_at; renameat2 => rename_at_with;
    link => link_name; linkat => link_at; symlink => make_link; symlinkat => make_link_at;
    mkdir => make_directory; mkdirat => make_directory_at; mkfifo => make_fifo;
    truncate => cut_path; truncate64 => cut_path; ftruncate => cut; ftruncate64 => cut;
    lseek => seek; lseek64 => seek; pread => read_at; pread64 => read_at; pwrite => write_at; pwrite64 => write_at;
    flock => lock_file; chmod => change_mode; chdir => change_directory;
    semop => change_semaphores; semtimedop => change_semaphores_in_time;
    msgsnd => send_to_queue; msgrcv => receive_from_queue;
}
