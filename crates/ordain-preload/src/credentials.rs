//! Users and groups that the program acts as.
//!
//! The C library changes them in all threads, by a signal to each; here the only kernel thread that runs the program changes them itself.
//! What changes nothing always works; what does cannot be undone in memory.

use crate::context::interpose;
use crate::engine::engine;
use crate::files;
use crate::link;
use crate::real::c_result;
use crate::sys::call;
use core::ffi::{c_int, c_long};
use ordain_wire::{Mode, State};

interpose! {
    setuid => set_user; setgid => set_group; seteuid => set_effective_user; setegid => set_effective_group;
    setreuid => set_real_user; setregid => set_real_group; setresuid => set_all_users; setresgid => set_all_groups;
    setgroups => set_groups; initgroups => set_groups_of;
}

/// An argument that says: as it is.
const SAME: u32 = u32::MAX;
/// Most groups that a process is in.
const MOST_GROUPS: usize = 65_536;

/// The real, effective and saved one.
fn present(number: c_long) -> [u32; 3] {
    let mut ids = [0u32; 3];
    // SAFETY: the kernel fills them in.
    unsafe { call!(number, &raw mut ids[0], &raw mut ids[1], &raw mut ids[2]) };
    ids
}

/// Makes a call that may change something.
fn change(changes: bool, call: impl FnOnce() -> isize) -> c_int {
    files::order_state(State::Credentials, true);
    if changes && engine().mode == Mode::Snapshot {
        link::refuse(format_args!("the program changes its user or groups, which restoring its memory does not undo"));
    }
    c_result(call()) as c_int
}

/// Sets real, effective and saved one, each of which may be as it is.
fn set(get: c_long, set: c_long, wanted: [u32; 3]) -> c_int {
    let is = present(get);
    let changes = wanted.iter().zip(&is).any(|(wanted, is)| *wanted != SAME && wanted != is);
    // SAFETY: what the program asks for, in the only thread that runs it.
    change(changes, || unsafe { call!(set, wanted[0], wanted[1], wanted[2]) })
}

/// Sets one: all three of them if the process may do anything.
fn set_one(get: c_long, set: c_long, id: u32) -> c_int {
    let [real, effective, saved] = present(get);
    let all = id == real && id == saved || effective != 0;
    // SAFETY: what the program asks for, in the only thread that runs it.
    change(id != effective || !all, || unsafe { call!(set, id) })
}

/// Sets real and effective one; the saved one may follow.
fn set_two(get: c_long, set: c_long, wanted: [u32; 2]) -> c_int {
    let [real, effective, saved] = present(get);
    let kept = |wanted: u32, is: u32| wanted == SAME || wanted == is;
    let follows = wanted[0] != SAME || wanted[1] != SAME && wanted[1] != real;
    let changes = !kept(wanted[0], real) || !kept(wanted[1], effective) || follows && saved != effective;
    // SAFETY: what the program asks for, in the only thread that runs it.
    change(changes, || unsafe { call!(set, wanted[0], wanted[1]) })
}

extern "C" fn set_user(id: u32) -> c_int {
    set_one(libc::SYS_getresuid, libc::SYS_setuid, id)
}

extern "C" fn set_group(id: u32) -> c_int {
    set_one(libc::SYS_getresgid, libc::SYS_setgid, id)
}

extern "C" fn set_effective_user(id: u32) -> c_int {
    set(libc::SYS_getresuid, libc::SYS_setresuid, [SAME, id, SAME])
}

extern "C" fn set_effective_group(id: u32) -> c_int {
    set(libc::SYS_getresgid, libc::SYS_setresgid, [SAME, id, SAME])
}

extern "C" fn set_real_user(real: u32, effective: u32) -> c_int {
    set_two(libc::SYS_getresuid, libc::SYS_setreuid, [real, effective])
}

extern "C" fn set_real_group(real: u32, effective: u32) -> c_int {
    set_two(libc::SYS_getresgid, libc::SYS_setregid, [real, effective])
}

extern "C" fn set_all_users(real: u32, effective: u32, saved: u32) -> c_int {
    set(libc::SYS_getresuid, libc::SYS_setresuid, [real, effective, saved])
}

extern "C" fn set_all_groups(real: u32, effective: u32, saved: u32) -> c_int {
    set(libc::SYS_getresgid, libc::SYS_setresgid, [real, effective, saved])
}

unsafe extern "C" fn set_groups(count: usize, groups: *const u32) -> c_int {
    let mut is = alloc::vec![0u32; MOST_GROUPS];
    // SAFETY: the kernel fills in as many as there are; the program's list has as many as it says.
    unsafe {
        let known = call!(libc::SYS_getgroups, is.len(), is.as_mut_ptr()).max(0) as usize;
        let wanted = if groups.is_null() { &[] } else { core::slice::from_raw_parts(groups, count.min(MOST_GROUPS)) };
        let changes = known != count || wanted.iter().any(|group| !is[..known].contains(group));
        change(changes, || call!(libc::SYS_setgroups, count, groups))
    }
}

/// Sets the groups of a user, which are the system's to know.
unsafe extern "C" fn set_groups_of(user: *const core::ffi::c_char, group: u32) -> c_int {
    let (mut groups, mut count) = (alloc::vec![0u32; MOST_GROUPS], MOST_GROUPS as c_int);
    // SAFETY: the C library fills in as many as there are.
    unsafe {
        if libc::getgrouplist(user, group, groups.as_mut_ptr(), &mut count) < 0 {
            return c_result(-libc::EINVAL as isize) as c_int;
        }
        set_groups(count as usize, groups.as_ptr())
    }
}
