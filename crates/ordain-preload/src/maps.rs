//! The mappings of the process, as the kernel lists them.

use crate::image;
use crate::link::{self, control};
use crate::sys;
use alloc::vec::Vec;
use ordain_wire::{Control, SHARED_SIZE};

/// A mapping, or a part of one.
#[derive(Clone, Copy)]
pub struct Region {
    /// Its lowest address.
    pub start: usize,
    /// The address behind it.
    pub end: usize,
    /// It can be written.
    pub writable: bool,
    /// Writes to it are seen by others.
    pub shared: bool,
    /// It holds what is in a file.
    pub file: bool,
}

fn hex(text: &[u8]) -> (usize, usize) {
    let digits = text.iter().take_while(|c| c.is_ascii_hexdigit()).count();
    let value = text[..digits].iter().fold(0, |n, c| n * 16 + (*c as char).to_digit(16).unwrap_or(0) as usize);
    (value, digits)
}

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
    for line in room[..length].split(|c| *c == b'\n').filter(|l| !l.is_empty()) {
        let (start, digits) = hex(line);
        let (end, more) = hex(&line[digits + 1..]);
        let rights = &line[digits + more + 2..];
        out.push(Region {
            start,
            end,
            writable: rights[1] == b'w',
            shared: rights[3] == b's',
            file: line.contains(&b'/'),
        });
    }
}

/// What is left of the regions without a range of addresses: the kernel joins neighbours that are alike, whoever made them.
pub fn without(regions: &[Region], (low, high): (usize, usize)) -> Vec<Region> {
    let mut left = Vec::with_capacity(regions.len() + 2);
    for region in regions {
        let before = Region { end: region.end.min(low), ..*region };
        let behind = Region { start: region.start.max(high), ..*region };
        if low >= high {
            left.push(*region);
            continue;
        }
        left.extend([before, behind].into_iter().filter(|r| r.start < r.end));
    }
    left
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
        link::leave_mode(format_args!("shared memory is there when main begins, and executions would share it"));
    }
}
