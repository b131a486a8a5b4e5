//! The mappings of the process, as the kernel lists them.

mod regions;

pub use regions::{Region, without};

use crate::image;
use crate::link::{self, control};
use crate::sys;
use alloc::vec::Vec;
use ordain_wire::{Control, SHARED_SIZE};

/// Lists all mappings into `out`, in order. Whoever calls it again and again keeps the room.
pub fn read(out: &mut Vec<Region>, room: &mut Vec<u8>) {
    let mut length;
    loop {
        length = sys::read_file(c"/proc/self/maps", room);
        if length < room.len() {
            break;
        }
        room.resize((room.len() * 2).max(32 << 10), 0);
    }
    out.clear();
    out.extend(room[..length].split(|c| *c == b'\n').filter_map(regions::parse));
}

/// Without the runtime's own image.
pub fn without_own(regions: &[Region]) -> Vec<Region> {
    let (low, high) = image::own().whole;
    without(regions, (low as usize, high as usize))
}

/// Leaves the mode if the program had shared memory before main: executions would share it, too.
pub fn check_shared(all: &[Region]) {
    let own = sys::own_area();
    let control = control() as *const Control as usize;
    let is_ours = |r: &Region| own.contains(&r.start) || (control..control + SHARED_SIZE).contains(&r.start);
    if all.iter().any(|r| r.writable && r.shared && !is_ours(r)) {
        link::leave_mode(format_args!("shared memory exists when main begins, and executions would share it"));
    }
}

/// Whether the program has mapped memory that its children share with it.
pub fn has_shared() -> bool {
    let (mut all, mut room) = (Vec::new(), Vec::new());
    read(&mut all, &mut room);
    let control = control() as *const Control as usize;
    let is_ours = |at: &usize| sys::OWN_ADDRESSES.contains(at) || (control..control + SHARED_SIZE).contains(at);
    all.iter().any(|r| r.shared && r.writable && !is_ours(&r.start))
}
