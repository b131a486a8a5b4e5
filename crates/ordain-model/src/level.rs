//! Levels: which operations of a program are steps, so that their order is explored.

use core::fmt;

/// Which operations are visible. Every verdict, finding and schedule names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Level {
    /// Calls of the C library: what is visible of unmodified programs.
    #[cfg_attr(feature = "serde", serde(rename = "sync"))]
    Sync,
    /// Operations on Ordain's types: what is visible of Rust code that uses the library.
    #[cfg_attr(feature = "serde", serde(rename = "ordain types", alias = "ordain types, sequential consistency"))]
    Types,
}

impl Level {
    /// The name that verdicts, records and schedule files have.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Types => "ordain types",
        }
    }

    /// What `verified` rests on at this level.
    pub const fn assumption(self) -> &'static str {
        match self {
            Self::Sync => "holds if threads share memory only under the calls that Ordain sees",
            Self::Types => "holds if threads share data only by types of Ordain",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
