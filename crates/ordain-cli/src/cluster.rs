//! `ordain cluster`: lists and cancels runs on a cluster; and what all commands that connect to one share.

mod connection;
mod explorer;
mod run;
mod spec;
pub(crate) mod worker;

use crate::Outcome;
use crate::options::Format;
use crate::output;
use crate::problem::Problem;
use crate::progress::plural_large;
use ordain_cluster::{Cluster, ClusterError, Listed, RunId, Status};
use serde::Serialize;
use std::fmt::Write as _;

pub(crate) use connection::Connection;
use connection::{block_on, stop_on_signals};
pub(crate) use run::{Subject, Watch, check};
use spec::{Record, check_of};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Lists the runs on a cluster
    List {
        /// The NATS server, such as nats://host:4222
        url: String,
        #[command(flatten)]
        connection: Connection,
        /// For whom the result is written
        #[arg(long, value_name = "FORMAT", default_value = "human")]
        format: Format,
    },
    /// Ends a run and removes everything of it
    Cancel {
        /// The NATS server, such as nats://host:4222
        url: String,
        /// The name of the run, as `ordain cluster list` tells it
        run: String,
        #[command(flatten)]
        connection: Connection,
    },
}

impl Arguments {
    pub(crate) fn format(&self) -> Format {
        match &self.command {
            Command::List { format, .. } => *format,
            Command::Cancel { .. } => Format::Human,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    match &arguments.command {
        Command::List { url, connection, format } => {
            let listed = block_on(async {
                let cluster = Cluster::connect(&connection.access(url)?, connection.timing()).await?;
                Ok(ordain_cluster::list(&cluster).await?)
            })?;
            tell(&listed, *format)?;
        }
        Command::Cancel { url, run, connection } => {
            let run = RunId::parse(run).map_err(Box::new)?;
            block_on(async {
                let cluster = Cluster::connect(&connection.access(url)?, connection.timing()).await?;
                Ok(ordain_cluster::cancel(&cluster, &run).await?)
            })?;
            output::tell(&format!("run {run} is cancelled, and everything of it is removed\n"));
        }
    }
    Ok(Outcome::Clean)
}

impl From<ClusterError> for Problem {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(Box::new(error))
    }
}

#[derive(Serialize)]
struct Row<'a> {
    run: &'a str,
    program: Option<&'a str>,
    status: &'a Status,
    controlled: bool,
    progress: &'a ordain_cluster::Progress,
}

fn tell(listed: &[Listed], format: Format) -> Result<(), Problem> {
    let rows: Vec<Row<'_>> = listed.iter().map(row).collect();
    if format == Format::Json {
        return output::write_json(&rows);
    }
    let mut text = String::new();
    if rows.is_empty() {
        text.push_str("there are no runs\n");
    }
    for row in &rows {
        let status = match row.status {
            Status::Running if row.controlled => "running".to_owned(),
            Status::Running => "waits for a worker".to_owned(),
            Status::Finished => "finished; fetch its result with --attach".to_owned(),
            Status::Cancelled => "cancelled".to_owned(),
            Status::Failed { reason } => format!("failed: {reason}"),
        };
        let progress = row.progress;
        let _ = write!(text, "{}  {status}, {}", row.run, plural_large(progress.summary.executions, "execution"));
        if progress.findings > 0 {
            let _ = write!(text, ", {}", plural_large(progress.findings, "finding"));
        }
        let _ =
            writeln!(text, ", {} assigned, {} waiting", plural_large(progress.assigned, "fragment"), progress.waiting);
    }
    output::show(&output::printable_lines(&text))
}

fn row(listed: &Listed) -> Row<'_> {
    Row {
        run: listed.run.as_str(),
        program: listed.spec.as_ref().map(|spec| spec.program.name.as_str()),
        status: &listed.state.status,
        controlled: listed.state.holder.is_some(),
        progress: &listed.state.progress,
    }
}
