//! Snapshot mode: the memory of the process is put back to what it was at main.
//!
//! The kernel notes which pages are written (userfaultfd in asynchronous write-protect mode) and lists them (PAGEMAP_SCAN). Pages
//! that are written again and again are *hot*: they stay writable and are always copied back. Once all pages that executions write are
//! hot, no execution takes a page fault; so the number of page faults tells whether there is anything to look for.

use crate::context;
use crate::engine::engine;
use crate::heap;
use crate::inherited;
use crate::kernel;
use crate::link::{self, control};
use crate::maps::{self, Region};
use crate::memory;
use crate::outliving;
use crate::process;
use crate::signals::imports;
use crate::supervisor;
use crate::sys::{self, call};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use ordain_wire::{Request, Status};

const PAGE: usize = 4096;
/// A page that was written in this many executions is hot.
const HOT: u8 = 3;
/// What is not noticed by page faults, and output that nobody looks at, is cared for once in this many executions.
const SELDOM: u64 = 64;
/// The most address space that is put back.
const MOST: usize = 1 << 38;
/// Regions that are no farther apart are scanned together.
const GAP: usize = 1 << 32;

/// Memory that is put back.
#[derive(Clone, Copy)]
struct Watched {
    start: usize,
    end: usize,
    /// Where the copy of it is.
    shadow: usize,
    /// First of its pages in the list of heats.
    heat: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

#[repr(C)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vector: u64,
    vector_length: u64,
    max_pages: u64,
    inverted: u64,
    mask: u64,
    any: u64,
    returned: u64,
}

#[repr(C)]
struct UffdApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct UffdRange {
    start: u64,
    length: u64,
    mode: u64,
    ioctls: u64,
}

const UFFDIO_API: usize = 0xc018_aa3f;
const UFFDIO_REGISTER: usize = 0xc020_aa00;
const UFFDIO_WRITEPROTECT: usize = 0xc018_aa06;
const PAGEMAP_SCAN: usize = 0xc060_6610;
const WP_ASYNC: u64 = 1 << 15;
const USER_MODE_ONLY: usize = 1;
const WRITE_PROTECT_ALLOWED: u64 = 1;
const WRITTEN: u64 = 2;
const PRESENT: u64 = 8;

/// The snapshot.
struct Snapshot {
    uffd: i32,
    pagemap: i32,
    statm: i32,
    /// Everything that was mapped.
    all: Vec<Region>,
    /// What is put back.
    regions: Vec<Watched>,
    clusters: Vec<(usize, usize)>,
    heats: Vec<u8>,
    hot: Vec<(usize, usize)>,
    found: Vec<PageRegion>,
    cold: Vec<(usize, usize)>,
    brk: usize,
    size: u64,
    faults: i64,
    /// The lowest descriptor that is free when main begins.
    first_fd: i32,
    executions: u64,
    /// Whether there is anything to read from standard input.
    input: bool,
    /// Whether the program can see where its output ends.
    looks: bool,
}

static mut SNAPSHOT: Option<Snapshot> = None;

fn snapshot() -> Option<&'static mut Snapshot> {
    // SAFETY: only the carrier comes here.
    unsafe { (*(&raw mut SNAPSHOT)).as_mut() }
}

/// Whether some of this memory existed when main began.
pub fn was_there(address: usize, length: usize) -> bool {
    snapshot().is_some_and(|s| s.all.iter().any(|r| address < r.end && r.start < address + length))
}

/// Where the program's heap ended when main began.
pub fn heap_end() -> usize {
    snapshot().map_or(0, |s| s.brk)
}

/// Lets the stack be large enough from the start, so that it does not grow in executions.
#[inline(never)]
fn grow_stack() {
    let mut room = core::mem::MaybeUninit::<[u8; 256 << 10]>::uninit();
    core::hint::black_box(&mut room);
}

/// Runs executions for ever.
pub fn run() -> ! {
    grow_stack();
    crate::spin::start();
    let size = 1 << 20;
    let stack = sys::map_shared(size);
    if stack.is_null() {
        link::refuse(format_args!("no memory for the engine's stack"));
    }
    let e = engine();
    e.home_fs = sys::fs_base();
    // SAFETY: the upper end of a new stack: what `switch` expects there.
    unsafe {
        let frame = (stack.add(size) as *mut u64).sub(9);
        frame.write(0x037f_0000_1f80);
        for i in 1..7 {
            frame.add(i).write(0);
        }
        frame.add(7).write(serve as *const () as u64);
        e.home = frame as u64;
        let (save, home, fs) = (&raw mut e.slots[0].stack, e.home, e.home_fs);
        context::switch(save, home, fs);
    }
    // Every execution continues here.
    process::run_program()
}

/// The engine's loop, on its own stack.
extern "C" fn serve() -> ! {
    engine().slots[0].keep_stack();
    match take() {
        // SAFETY: only the carrier comes here.
        Ok(taken) => unsafe { SNAPSHOT = Some(taken) },
        Err(reason) => link::refuse(format_args!("memory cannot be restored: {reason}")),
    }
    link::hand_over(Status::Ready);
    loop {
        if link::request() != Request::Run {
            supervisor::explore(execute);
            link::hand_over(Status::Explored);
            continue;
        }
        engine().scheduler.read_plan();
        run_prepared();
        link::give_turn(Status::Done);
        // While the launcher thinks.
        restore();
        link::await_turn();
    }
}

/// Runs one execution for which the plan is prepared.
fn run_prepared() {
    let e = engine();
    begin_output();
    e.begin();
    let (home, stack, fs) = (&raw mut e.home, e.slots[0].stack, e.slots[0].fs);
    // SAFETY: main's context at its beginning; the execution comes back when it ends.
    unsafe { context::switch(home, stack, fs) };
}

fn restore() {
    if let Some(snapshot) = snapshot() {
        snapshot.restore();
    }
}

/// Runs one execution and puts the memory back.
fn execute() {
    run_prepared();
    restore();
}

/// Input begins anew, and output is empty. That is only kept small while nobody looks at it: neither the launcher, because the process
/// explores by itself, nor the program, because it cannot.
fn begin_output() {
    let Some(snapshot) = snapshot() else { return };
    snapshot.executions += 1;
    let looked_at = snapshot.looks || control().request.is(Request::Run);
    // SAFETY: positions and sizes of the standard descriptors.
    unsafe {
        if snapshot.input {
            call!(sys::SYS_lseek, 0, 0, libc::SEEK_SET);
        }
        if !looked_at && !snapshot.executions.is_multiple_of(SELDOM) {
            return;
        }
        for fd in [1, 2] {
            // Its position is now its end, which is also its beginning if it is empty.
            if call!(sys::SYS_lseek, fd, 0, libc::SEEK_END) > 0 {
                call!(sys::SYS_ftruncate, fd, 0);
                call!(sys::SYS_lseek, fd, 0, libc::SEEK_SET);
            }
        }
    }
}

fn take() -> Result<Snapshot, &'static str> {
    // SAFETY: new descriptors of our own.
    let (pagemap, statm, uffd) = unsafe {
        (
            sys::move_high(call!(sys::SYS_open, c"/proc/self/pagemap".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)),
            sys::move_high(call!(sys::SYS_open, c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)),
            sys::move_high(call!(sys::SYS_userfaultfd, libc::O_CLOEXEC as usize | USER_MODE_ONLY)),
        )
    };
    if pagemap < 0 || statm < 0 {
        return Err("/proc/self/pagemap cannot be read");
    }
    if uffd < 0 {
        return Err("userfaultfd is not available");
    }
    let api = UffdApi { api: 0xaa, features: WP_ASYNC, ioctls: 0 };
    // SAFETY: the kernel reads and writes the structure.
    if unsafe { call!(sys::SYS_ioctl, uffd, UFFDIO_API, &raw const api) } < 0 {
        return Err("userfaultfd has no asynchronous write protection (Linux 6.7)");
    }
    let mut room = Vec::new();
    let mut all = Vec::new();
    maps::read(&mut all, &mut room);
    maps::check_shared(&all);
    let private: Vec<Region> = all.iter().filter(|r| r.writable && !r.shared).copied().collect();
    let private = maps::without(&maps::without_own(&private), heap::supervisor_range());
    if private.iter().map(|r| r.end - r.start).sum::<usize>() > MOST {
        link::leave_mode(format_args!(
            "the program reserves too much memory to put all of it back, as AddressSanitizer does"
        ));
    }
    let mut s = Snapshot {
        uffd,
        pagemap,
        statm,
        all: Vec::with_capacity(all.len() * 2 + 64),
        regions: Vec::with_capacity(private.len()),
        clusters: Vec::new(),
        heats: Vec::new(),
        hot: Vec::with_capacity(4096),
        found: alloc::vec![PageRegion::default(); 4096],
        cold: Vec::with_capacity(4096),
        brk: 0,
        size: 0,
        faults: 0,
        first_fd: inherited::lowest_free(),
        executions: 0,
        input: true,
        looks: imports::any(&imports::POSITIONS),
    };
    for Region { start, end, file, .. } in private {
        let length = end - start;
        let region = Watched { start, end, shadow: sys::map_shared(length) as usize, heat: s.heats.len() };
        if region.shadow == 0 {
            return Err("there is not enough address space for a copy");
        }
        s.heats.resize(region.heat + length / PAGE, 0);
        s.regions.push(region);
        if file {
            // Pages that were not touched yet hold what is in the file.
            copy(region.shadow, region.start, length);
        } else {
            s.each_found(region.start, region.end, PRESENT, &mut |_, start, end| {
                copy(region.shadow + (start - region.start), start, end - start);
            })?;
        }
        let range = UffdRange { start: region.start as u64, length: length as u64, mode: 2, ioctls: 0 };
        // SAFETY: watches the program's memory.
        if unsafe { call!(sys::SYS_ioctl, uffd, UFFDIO_REGISTER, &raw const range) } < 0 {
            return Err("some memory cannot be watched");
        }
        s.each_found(region.start, region.end, PRESENT, &mut |s, start, end| s.protect(start, end))?;
        match s.clusters.last_mut() {
            Some(last) if region.start - last.1 < GAP => last.1 = region.end,
            _ => s.clusters.push((region.start, region.end)),
        }
    }
    // SAFETY: asks for positions and numbers; copies descriptors.
    unsafe {
        s.brk = call!(sys::SYS_brk, 0) as usize;
        s.input = call!(sys::SYS_lseek, 0, 0, libc::SEEK_END) > 0;
        call!(sys::SYS_lseek, 0, 0, libc::SEEK_SET);
    }
    // Everything that the snapshot itself maps must be in the list.
    let mut now = Vec::with_capacity(s.all.capacity());
    maps::read(&mut now, &mut room);
    s.all = now;
    s.size = s.pages();
    s.faults = faults();
    Ok(s)
}

fn copy(to: usize, from: usize, length: usize) {
    // SAFETY: both are mapped, one of them is the other's copy.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, length) };
}

/// Page faults of this thread so far.
fn faults() -> i64 {
    let mut usage = [0i64; 18];
    // SAFETY: the kernel fills it in.
    unsafe { call!(sys::SYS_getrusage, 1, usage.as_mut_ptr()) };
    // ru_minflt and ru_majflt follow the two times and three sizes.
    usage[8] + usage[9]
}

impl Snapshot {
    /// The size of the address space, in pages.
    fn pages(&self) -> u64 {
        let mut text = [0u8; 64];
        // SAFETY: reads into the array.
        let length = unsafe { call!(sys::SYS_pread64, self.statm, text.as_mut_ptr(), 63, 0) };
        text[..length.max(0) as usize]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .fold(0, |n, c| n * 10 + u64::from(c - b'0'))
    }

    /// Calls `f` with each range of pages in the region that has all these properties.
    fn each_found(
        &mut self,
        start: usize,
        end: usize,
        mask: u64,
        f: &mut dyn FnMut(&mut Self, usize, usize),
    ) -> Result<(), &'static str> {
        let mut found = core::mem::take(&mut self.found);
        let mut at = start;
        while at < end {
            let mut arguments = ScanArguments {
                size: size_of::<ScanArguments>() as u64,
                flags: 0,
                start: at as u64,
                end: end as u64,
                walk_end: 0,
                vector: found.as_mut_ptr() as u64,
                vector_length: 64,
                max_pages: 0,
                inverted: 0,
                mask,
                any: 0,
                returned: mask,
            };
            // SAFETY: the kernel fills in the list.
            let count = unsafe { call!(sys::SYS_ioctl, self.pagemap, PAGEMAP_SCAN, &raw mut arguments) };
            if count < 0 {
                self.found = found;
                return Err("PAGEMAP_SCAN is not available (Linux 6.7)");
            }
            for page in &found[..count as usize] {
                f(self, page.start as usize, page.end as usize);
            }
            at = arguments.walk_end as usize;
        }
        self.found = found;
        Ok(())
    }

    fn protect(&mut self, start: usize, end: usize) {
        let range = UffdRange { start: start as u64, length: (end - start) as u64, mode: 1, ioctls: 0 };
        // SAFETY: watches the program's memory.
        if unsafe { call!(sys::SYS_ioctl, self.uffd, UFFDIO_WRITEPROTECT, &raw const range) } < 0 {
            link::refuse(format_args!("memory cannot be watched any more"));
        }
    }

    fn region(&self, address: usize) -> Option<Watched> {
        let place = self.regions.partition_point(|r| r.end <= address);
        self.regions.get(place).filter(|r| r.start <= address).copied()
    }

    /// Puts everything back.
    fn restore(&mut self) {
        let now = faults();
        let looked = now != self.faults;
        if looked {
            self.find_written();
        }
        for (page, shadow) in &self.hot {
            copy(*page, *shadow, PAGE);
        }
        control().pages[0].store(self.hot.len() as u32, Relaxed);
        control().pages[1].store(self.cold.len() as u32, Relaxed);
        if looked || memory::has_mapped() || self.executions.is_multiple_of(SELDOM) {
            // Memory that was mapped and not touched shows in no page fault; it does no harm for a while.
            self.restore_mappings();
        }
        self.restore_descriptors();
        kernel::restore();
        outliving::remove();
        if looked {
            self.faults = faults();
        }
    }

    /// Copies pages back that were written and are not hot.
    fn find_written(&mut self) {
        self.cold.clear();
        for i in 0..self.clusters.len() {
            let (start, end) = self.clusters[i];
            let mask = WRITE_PROTECT_ALLOWED | WRITTEN | PRESENT;
            let result = self.each_found(start, end, mask, &mut |s, start, end| {
                for page in (start..end).step_by(PAGE) {
                    s.note_written(page);
                }
            });
            if let Err(reason) = result {
                link::refuse(format_args!("memory cannot be restored: {reason}"));
            }
        }
        let cold = core::mem::take(&mut self.cold);
        for (start, end) in &cold {
            self.protect(*start, *end);
        }
        self.cold = cold;
    }

    fn note_written(&mut self, page: usize) {
        let Some(region) = self.region(page) else { return };
        let shadow = region.shadow + (page - region.start);
        let heat = &mut self.heats[region.heat + (page - region.start) / PAGE];
        if *heat > HOT {
            // Hot already: copied with the others.
            return;
        }
        *heat += 1;
        if *heat > HOT {
            self.hot.push((page, shadow));
            return;
        }
        copy(page, shadow, PAGE);
        match self.cold.last_mut() {
            Some(last) if last.1 == page => last.1 += PAGE,
            _ => self.cold.push((page, page + PAGE)),
        }
    }

    fn restore_mappings(&mut self) {
        if self.pages() == self.size {
            return;
        }
        // SAFETY: unmaps what the execution has mapped.
        unsafe { call!(sys::SYS_brk, self.brk) };
        let (mut now, mut room) = (Vec::new(), Vec::new());
        maps::read(&mut now, &mut room);
        for region in &now {
            let mut start = region.start;
            // Addresses of the kernel are listed too.
            while start < region.end && start >> 47 == 0 {
                let known = self.all.iter().find(|r| r.end > start && r.start < region.end);
                match known {
                    Some(known) if known.start <= start => start = known.end,
                    Some(known) => {
                        unmap(start, known.start);
                        start = known.end;
                    }
                    None => {
                        unmap(start, region.end);
                        start = region.end;
                    }
                }
            }
        }
        drop((now, room));
        if self.pages() != self.size {
            self.size = self.pages();
            read_maps_again(self);
        }
    }

    /// Closes what the execution has opened, and opens again what it has closed.
    fn restore_descriptors(&mut self) {
        // SAFETY: asks whether there is such a descriptor, by a call for which the kernel does not run the filter.
        let used = unsafe { call!(sys::SYS_lseek, self.first_fd, 0, libc::SEEK_CUR) } != -(libc::EBADF as isize);
        if process::descriptors_used() || used {
            inherited::close_others();
        }
        inherited::restore();
    }
}

fn unmap(start: usize, end: usize) {
    // SAFETY: mapped by the execution that has ended.
    unsafe { call!(sys::SYS_munmap, start, end - start) };
}

/// The engine itself has mapped something: its heap has grown. It belongs to what is there.
fn read_maps_again(snapshot: &mut Snapshot) {
    let (mut now, mut room) = (Vec::new(), Vec::new());
    maps::read(&mut now, &mut room);
    snapshot.all = now;
    snapshot.size = snapshot.pages();
}
