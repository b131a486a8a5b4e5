//! A check that came to no verdict, as plain data: there is no [`Run`](crate::Run) to make a report of, but those who
//! read reports must learn of it.

/// Why a program was not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unchecked {
    /// What was to be checked: the command line, or the name of the test.
    pub program: String,
    /// What kept the check from a verdict.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}
