//! The watch: which atomic instructions the runtime is to watch, and what it saw of them.
//!
//! The launcher finds the instructions in the code of the process and decides where a copy of each is put; the runtime puts a breakpoint
//! at each, notes who uses which memory when it is reached, and goes on in the copy, behind which is a jump back.

use crate::numbered::{AtomicEnum, numbered};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Most instructions that can be watched.
pub const MOST_SITES: usize = 1 << 18;
/// Most pieces of code, and most areas for copies.
pub const MOST_SPANS: usize = 256;
/// Room for the copy of an instruction and the jump behind it.
pub const SLOT: usize = 32;
/// The number of no register.
pub const NO_REGISTER: u8 = 0xff;

/// An instruction to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct WatchSite {
    /// Where it is.
    pub address: u64,
    /// Where its copy is put.
    pub slot: u64,
    /// What is added to the registers of its operand; for one that is relative to the instruction, the operand's address.
    pub displacement: i64,
    /// The register of the operand's base, by its place in a signal's context, or [`NO_REGISTER`].
    pub base: u8,
    /// The register that is multiplied and added, likewise.
    pub index: u8,
    /// By what it is multiplied.
    pub scale: u8,
    /// The register with the number of a bit that counts from the operand on, likewise.
    pub bit: u8,
    /// The size of the operand in bytes.
    pub size: u8,
    /// Whether the operand is in thread-local storage.
    pub local: u8,
    /// Its length in bytes.
    pub length: u8,
    /// Its first byte, for which the breakpoint is put.
    pub first: u8,
    /// The copy and the jump behind it.
    pub code: [u8; SLOT],
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct WatchSpan {
    /// The first.
    pub start: u64,
    /// The one behind the last.
    pub end: u64,
    /// Rights of the pages, as `mprotect` takes them.
    pub rights: u64,
}

numbered! {
    /// Why not everything was watched.
    Trouble {
        /// Everything was.
        None,
        /// The code cannot be changed, or there is no room for copies.
        Protected,
        /// Instructions were reached too often, or used too much memory.
        TooMuch,
    }
}

/// What is watched, and what was seen.
#[repr(C)]
pub struct Watch {
    /// Whether there is something to do: the launcher is asked about libraries that are loaded later.
    pub active: AtomicU32,
    /// How many instructions there are. Those that are new come last.
    pub sites: AtomicU32,
    /// How many pieces of code there are.
    pub texts: AtomicU32,
    /// How many areas for copies there are.
    pub areas: AtomicU32,
    /// Why not everything was watched.
    pub trouble: AtomicEnum<Trouble>,
    /// Whether two threads used the same memory.
    pub found: AtomicU32,
    /// Who they were.
    pub threads: [AtomicU32; 2],
    /// Their instructions, each with up to three calls that led to it.
    pub places: [[AtomicU64; 4]; 2],
    /// The memory.
    pub memory: AtomicU64,
    /// How often instructions were reached.
    pub reached: AtomicU64,
    /// Pieces of code.
    pub text: [WatchSpan; MOST_SPANS],
    /// Areas for copies.
    pub area: [WatchSpan; MOST_SPANS],
}

const _: () = assert!(size_of::<WatchSite>() == 64);
