//! What a worker explores with: unmodified programs, and tests of Rust test binaries.

mod program;
mod test;

use ordain_cluster::{Explorer, ExplorerFactory, Kind, Refusal, RunSpec};
use std::path::Path;

/// Makes explorers of programs and tests.
pub(crate) struct Factory;

impl ExplorerFactory for Factory {
    fn open(&mut self, spec: &RunSpec, directory: &Path) -> Result<Box<dyn Explorer>, Refusal> {
        match &spec.kind {
            Kind::Program => Ok(Box::new(program::Program::open(spec, directory)?)),
            Kind::Test { name } => Ok(Box::new(test::Test::open(spec, name, directory)?)),
        }
    }
}
