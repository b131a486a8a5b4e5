//! `ordain worker`: explores for runs on a cluster until it is told to leave.

use super::explorer::Factory;
use super::{Connection, block_on, stop_on_signals};
use crate::Outcome;
use crate::options;
use crate::output;
use crate::problem::Problem;
use ordain_cluster::{Cluster, Event, WorkerOptions, work};

#[derive(clap::Args)]
#[command(
    after_help = "A worker runs the programs that others submit: whoever may submit may run code here. Let in only whom you \
                        trust, with credentials and TLS: docs/cluster.md."
)]
pub(crate) struct Arguments {
    /// The NATS server, such as nats://host:4222
    url: String,
    /// How many fragments are explored at the same time; 0 for one on each core
    #[arg(long, value_name = "N", alias = "parallel", default_value_t = 0, value_parser = options::at_most::<1024>)]
    workers: usize,
    /// What the worker is called [default: the name of this machine]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    connection: Connection,
    /// Tell nothing
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let parallel = match arguments.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let name = arguments.name.clone().unwrap_or_else(machine);
    let access = arguments.connection.access(&arguments.url)?;
    let quiet = arguments.quiet;
    let say = move |text: &str| {
        if !quiet {
            output::tell(&format!("{}\n", output::printable(text)));
        }
    };
    block_on(async {
        let stop = stop_on_signals();
        let cluster = Cluster::connect(&access, arguments.connection.timing()).await?;
        let places =
            if parallel == 1 { "one fragment at a time".to_owned() } else { format!("{parallel} fragments at a time") };
        say(&format!("worker {name} explores {places} for {}; Ctrl-C leaves", access.shown()));
        let options = WorkerOptions::new(&name, parallel, || Box::new(Factory));
        work(&cluster, options, stop, move |event| say(&told(&event))).await?;
        Ok(Outcome::Clean)
    })
}

fn told(event: &Event) -> String {
    match event {
        Event::Opened(run) => format!("run {run}: taking part"),
        Event::Refused(run, reason) => format!("run {run}: refused: {reason}"),
        Event::Closed(run) => format!("run {run}: over"),
        Event::Controls(run) => format!("run {run}: controlled from here"),
        Event::Trouble(reason) => format!("waiting: {reason}"),
        Event::Recovered => "going on".to_owned(),
    }
}

/// The name of this machine.
fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "worker".to_owned() } else { name.to_owned() }
}
