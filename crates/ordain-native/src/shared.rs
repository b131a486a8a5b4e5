//! The memory that is shared with a program under control: the launcher's side.
//!
//! Whatever is read from it may be anything: the program can write over it. It is copied out before it is looked at.

use ordain_explore::classes::Classes;
use ordain_explore::frontier::{Explored, Fragment};
use ordain_wire::{
    CLASSES_OFFSET, Control, FRAGMENT_OFFSET, FRAGMENT_SIZE, FragmentBytes, INPUTS_OFFSET, INPUTS_SIZE, LOG_OFFSET,
    LOG_SIZE, MESSAGE_SIZE, MOST_CLASSES, MOST_PREFIX, MOST_SITES, MOST_SPANS, MOST_THREADS, NAMES_OFFSET, NAMES_SIZE,
    PLAN_OFFSET, SHARED_SIZE, SITES_OFFSET, ThreadRecord, VERSION, WatchSite, WatchSpan,
};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

/// Shared memory, and the descriptor that a program finds it by.
pub(crate) struct Shared {
    at: *mut u8,
    fd: OwnedFd,
}

impl Shared {
    /// New memory, all zero but for the version.
    pub(crate) fn new() -> io::Result<Self> {
        let fd = memfd_create("ordain-shared", MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, SHARED_SIZE as u64)?;
        // SAFETY: a new mapping of our own.
        let at = unsafe {
            mmap(
                null_mut(),
                SHARED_SIZE,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                &fd,
                0,
            )?
        };
        let shared = Self { at: at.cast(), fd };
        // SAFETY: nobody else has it yet.
        unsafe { (&raw mut (*shared.at.cast::<Control>()).version).write(VERSION) };
        Ok(shared)
    }

    /// The control words.
    pub(crate) fn control(&self) -> &Control {
        // SAFETY: mapped for as long as `self` lives; all that changes is atomic.
        unsafe { &*self.at.cast::<Control>() }
    }

    /// The descriptor.
    pub(crate) fn descriptor(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Writes the decisions to force; false if they are too many.
    pub(crate) fn write_prefix(&self, pairs: impl ExactSizeIterator<Item = [u32; 2]>) -> bool {
        let length = pairs.len();
        if length > MOST_PREFIX {
            return false;
        }
        for (i, pair) in pairs.enumerate() {
            // SAFETY: within the plan's part of the memory; the runtime waits.
            unsafe { self.at.add(PLAN_OFFSET).cast::<[u32; 2]>().add(i).write(pair) };
        }
        self.control().prefix_length.store(length as u32, Relaxed);
        true
    }

    /// Reads pairs of numbers that the runtime wrote in the place of a plan.
    pub(crate) fn read_pairs(&self) -> Vec<[u32; 2]> {
        let length = (self.control().prefix_length.load(Relaxed) as usize).min(MOST_PREFIX);
        // SAFETY: within the plan's part of the memory; plain numbers, whatever they are.
        (0..length).map(|i| unsafe { self.at.add(PLAN_OFFSET).cast::<[u32; 2]>().add(i).read() }).collect()
    }

    /// Writes what a runtime that starts must know.
    pub(crate) fn write_known(&self, known: &ordain_wire::Knowledge) -> bool {
        // SAFETY: within the names' part of the memory; no runtime runs.
        let room = unsafe { std::slice::from_raw_parts_mut(self.at.add(NAMES_OFFSET), NAMES_SIZE) };
        let length = known.write(room);
        self.control().names_length.store(length.unwrap_or(0) as u32, Relaxed);
        length.is_some()
    }

    /// Reads what a runtime has learned.
    pub(crate) fn read_known(&self) -> Option<ordain_wire::Knowledge> {
        let length = (self.control().names_length.load(Relaxed) as usize).min(NAMES_SIZE);
        if length == 0 {
            return Some(ordain_wire::Knowledge::default());
        }
        let mut bytes = vec![0u8; length];
        // SAFETY: within the names' part of the memory; copied as bytes, whatever they are.
        unsafe { std::ptr::copy_nonoverlapping(self.at.add(NAMES_OFFSET), bytes.as_mut_ptr(), length) };
        ordain_wire::Knowledge::read(&bytes)
    }

    /// Nothing is new to a runtime that goes on.
    pub(crate) fn forget_known(&self) {
        self.control().names_length.store(0, Relaxed);
    }

    /// Writes a fragment of a divided search.
    pub(crate) fn write_fragment(&self, fragment: &Fragment) -> bool {
        // SAFETY: within the fragment's part of the memory; the runtime waits.
        let room = unsafe { std::slice::from_raw_parts_mut(self.at.add(FRAGMENT_OFFSET), FRAGMENT_SIZE) };
        let length = FragmentBytes::write(fragment, room);
        self.control().fragment_length.store(length.unwrap_or(0) as u32, Relaxed);
        length.is_some()
    }

    /// There is no fragment.
    pub(crate) fn forget_fragment(&self) {
        self.control().fragment_length.store(0, Relaxed);
    }

    /// Reads what has become of a fragment.
    pub(crate) fn read_explored(&self) -> Option<Explored> {
        let length = (self.control().fragment_length.load(Relaxed) as usize).min(FRAGMENT_SIZE);
        let mut bytes = vec![0u8; length];
        // SAFETY: within the fragment's part of the memory; copied as bytes, whatever they are.
        unsafe { std::ptr::copy_nonoverlapping(self.at.add(FRAGMENT_OFFSET), bytes.as_mut_ptr(), length) };
        FragmentBytes::read(&bytes)
    }

    /// Reads the fingerprints of the classes of a turn.
    pub(crate) fn read_classes(&self) -> Vec<u64> {
        let count = (self.control().class_count.load(Relaxed) as usize).min(MOST_CLASSES);
        // SAFETY: within the part of the memory for them; plain numbers, whatever they are.
        (0..count).map(|i| unsafe { self.at.add(CLASSES_OFFSET).cast::<u64>().add(i).read() }).collect()
    }

    /// Writes those that samples are compared with.
    pub(crate) fn write_classes(&self, classes: &Classes) {
        let list = classes.list();
        let list = &list[..list.len().min(MOST_CLASSES)];
        // SAFETY: within the part of the memory for them; the runtime waits.
        unsafe {
            std::ptr::copy_nonoverlapping(list.as_ptr(), self.at.add(CLASSES_OFFSET).cast(), list.len());
        }
        self.control().class_count.store(list.len() as u32, Relaxed);
        self.control().class_bits.store(classes.bits(), Relaxed);
    }

    /// Writes what is to be watched, which fits.
    pub(crate) fn write_watch(&self, sites: &[WatchSite], texts: &[WatchSpan], areas: &[WatchSpan]) {
        let count = (sites.len().min(MOST_SITES), texts.len().min(MOST_SPANS), areas.len().min(MOST_SPANS));
        // SAFETY: within the parts of the memory for them; the runtime waits.
        unsafe {
            std::ptr::copy_nonoverlapping(sites.as_ptr(), self.at.add(SITES_OFFSET).cast(), count.0);
            let watch = &raw mut (*self.at.cast::<Control>()).watch;
            std::ptr::copy_nonoverlapping(texts.as_ptr(), (&raw mut (*watch).text).cast(), count.1);
            std::ptr::copy_nonoverlapping(areas.as_ptr(), (&raw mut (*watch).area).cast(), count.2);
        }
        let watch = &self.control().watch;
        watch.sites.store(count.0 as u32, Relaxed);
        watch.texts.store(count.1 as u32, Relaxed);
        watch.areas.store(count.2 as u32, Relaxed);
    }

    /// Copies the log from `from` on.
    pub(crate) fn read_log(&self, from: usize, out: &mut Vec<u8>) {
        out.clear();
        let length = (self.control().log_length.load(Relaxed) as usize).min(LOG_SIZE);
        if from >= length {
            return;
        }
        out.reserve(length - from);
        // SAFETY: within the log's part of the memory; copied as bytes, whatever they are.
        unsafe {
            std::ptr::copy_nonoverlapping(self.at.add(LOG_OFFSET + from), out.as_mut_ptr(), length - from);
            out.set_len(length - from);
        }
    }

    /// What came from outside so far.
    pub(crate) fn inputs(&self) -> Vec<u8> {
        let length = (self.control().inputs_length.load(Relaxed) as usize).min(INPUTS_SIZE);
        let mut bytes = vec![0u8; length];
        // SAFETY: within the inputs' part of the memory; copied as bytes, whatever they are.
        unsafe { std::ptr::copy_nonoverlapping(self.at.add(INPUTS_OFFSET), bytes.as_mut_ptr(), length) };
        bytes
    }

    /// Hands on what came from outside; what is too much is left out.
    pub(crate) fn set_inputs(&self, bytes: &[u8]) {
        let length = bytes.len().min(INPUTS_SIZE);
        // SAFETY: within the inputs' part of the memory; no runtime runs.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at.add(INPUTS_OFFSET), length) };
        self.control().inputs_length.store(length as u64, Relaxed);
    }

    fn message_bytes(&self) -> Vec<u8> {
        let length = (self.control().message_length.load(Relaxed) as usize).min(MESSAGE_SIZE);
        let mut bytes = vec![0u8; length];
        // SAFETY: within the control page.
        unsafe {
            let from = (&raw const (*self.at.cast::<Control>()).message).cast::<u8>();
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), length);
        }
        bytes
    }

    /// The message.
    pub(crate) fn message(&self) -> String {
        String::from_utf8_lossy(&self.message_bytes()).into_owned()
    }

    /// The message, if it is about a departure from a plan.
    pub(crate) fn departure(&self) -> Option<ordain_model::Divergence> {
        ordain_wire::Departure::read(&self.message_bytes())
    }

    /// Where threads are.
    pub(crate) fn threads(&self) -> Vec<ThreadRecord> {
        let count = (self.control().thread_count.load(Relaxed) as usize).min(MOST_THREADS);
        // SAFETY: within the control page; plain numbers.
        (0..count).map(|i| unsafe { (&raw const (*self.at.cast::<Control>()).threads[i]).read() }).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nobody else has a reference.
        let _ = unsafe { munmap(self.at.cast::<c_void>(), SHARED_SIZE) };
    }
}

// SAFETY: one owner; what the other process does goes through atomics or is copied.
unsafe impl Send for Shared {}
