//! What stands in the place of clusters in a command that was built without them: it says what to do.

use crate::Outcome;
use crate::options::Format;
use crate::problem::Problem;
use std::ffi::OsString;

/// No options.
#[derive(clap::Args)]
pub(crate) struct Connection {}

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

impl Arguments {
    pub(crate) fn format(&self) -> Format {
        Format::Human
    }
}

/// Runs any command of clusters.
pub(crate) fn run(_arguments: &Arguments) -> Result<Outcome, Problem> {
    Err(Problem::NoCluster)
}

pub(crate) mod worker {
    pub(crate) use super::{Arguments, run};
}
