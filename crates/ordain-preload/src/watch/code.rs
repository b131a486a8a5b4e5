//! Changing the code of the program: breakpoints, and copies of what was there.

use crate::link::{self, control};
use crate::sys::{self, call};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use ordain_wire::{MOST_SITES, MOST_SPANS, SITES_OFFSET, WatchSite, WatchSpan};

/// The instruction at which the processor stops.
pub const BREAKPOINT: u8 = 0xcc;
const PAGE: u64 = 4096;
const WRITABLE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// An instruction as the launcher has told it.
pub fn site(number: usize) -> WatchSite {
    // SAFETY: the part for them.
    let sites: &[WatchSite] = unsafe { link::part(SITES_OFFSET, MOST_SITES) };
    sites[number.min(MOST_SITES - 1)]
}

fn spans(spans: &[WatchSpan; MOST_SPANS], count: u32) -> impl Iterator<Item = WatchSpan> {
    let count = (count as usize).min(MOST_SPANS);
    spans[..count].iter().copied()
}

/// Makes the areas that are not there yet, and puts copies of instructions into them; false if that is not possible.
pub fn make_copies(made: &mut Vec<u64>) -> bool {
    let watch = &control().watch;
    for area in spans(&watch.area, watch.areas.load(Relaxed)) {
        if made.contains(&area.start) {
            continue;
        }
        let length = area.end - area.start;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: new memory at a place where the launcher saw none.
        unsafe {
            let at = call!(sys::SYS_mmap, area.start, length, WRITABLE, flags, -1i32, 0);
            if at != area.start as isize {
                return false;
            }
            for number in 0..watch.sites.load(Relaxed) as usize {
                let site = site(number);
                if (area.start..area.end).contains(&site.slot) {
                    (site.slot as *mut [u8; ordain_wire::SLOT]).write(site.code);
                }
            }
            if call!(sys::SYS_mprotect, area.start, length, libc::PROT_READ | libc::PROT_EXEC) < 0 {
                return false;
            }
        }
        made.push(area.start);
    }
    true
}

/// Replaces bytes of code: at an address, what is there and what shall be. In order of addresses. False if not all could be.
pub fn change(bytes: impl Iterator<Item = (u64, u8, u8)> + Clone) -> bool {
    let watch = &control().watch;
    let mut all = true;
    for text in spans(&watch.text, watch.texts.load(Relaxed)) {
        let mut inside = bytes.clone().filter(|(at, ..)| (text.start..text.end).contains(at)).peekable();
        let Some((first, ..)) = inside.peek().copied() else { continue };
        let last = inside.clone().last().map_or(first, |(at, ..)| at);
        let low = first & !(PAGE - 1);
        let length = (last & !(PAGE - 1)) + PAGE - low;
        // SAFETY: code of the program, which does not run now. It has its rights again before it does.
        unsafe {
            if call!(sys::SYS_mprotect, low, length, WRITABLE) < 0 {
                all = false;
                continue;
            }
            for (at, from, to) in inside {
                let at = at as *mut u8;
                let found = at.read_volatile();
                if found == from {
                    at.write_volatile(to);
                }
                all &= found == from || found == to;
            }
            all &= call!(sys::SYS_mprotect, low, length, text.rights) >= 0;
        }
    }
    all
}

/// Replaces one byte of code; false if that is not possible.
pub fn replace(address: u64, byte: u8) -> bool {
    let watch = &control().watch;
    let text = spans(&watch.text, watch.texts.load(Relaxed)).find(|t| (t.start..t.end).contains(&address));
    let rights = text.map_or((libc::PROT_READ | libc::PROT_EXEC) as u64, |t| t.rights);
    let page = address & !(PAGE - 1);
    // SAFETY: as above.
    unsafe {
        if call!(sys::SYS_mprotect, page, PAGE, WRITABLE) < 0 {
            return false;
        }
        (address as *mut u8).write_volatile(byte);
        call!(sys::SYS_mprotect, page, PAGE, rights) >= 0
    }
}

/// The return instruction, and the one before it that marks where functions begin.
const RETURN: u8 = 0xc3;
const FUNCTION: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
static mut PASSING: u8 = RETURN;

/// Whether a function does nothing but return.
pub unsafe fn is_empty_function(address: u64) -> bool {
    // SAFETY: code of the loader; what was there first is kept.
    unsafe {
        let code = (address as *const [u8; 5]).read_unaligned();
        PASSING = code[0];
        code[0] == RETURN || code[..4] == FUNCTION && code[4] == RETURN
    }
}

/// Puts back what [`is_empty_function`] saw there.
pub fn put_back_passing(address: u64) {
    // SAFETY: only the carrier comes here.
    replace(address, unsafe { PASSING });
}
