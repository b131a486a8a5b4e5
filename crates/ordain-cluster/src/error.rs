//! What keeps a cluster from working: the cause, and what to do about it.

use crate::spec::RunId;
use miette::Diagnostic;
use std::path::PathBuf;
use thiserror::Error;

/// Why something cannot be done with a cluster.
#[derive(Clone, Debug, Diagnostic, Error)]
pub enum ClusterError {
    /// The address makes no sense.
    #[error("`{url}` is not the address of a NATS server: {reason}")]
    #[diagnostic(help("write nats://HOST:4222, or tls://HOST:4222 to demand encryption"))]
    BadAddress {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody answers.
    #[error("the NATS server at {url} cannot be reached: {reason}")]
    #[diagnostic(help(
        "is it running there, and is its port open from here? `nats-server -js -a ADDRESS` starts one; nothing listens unless you let it"
    ))]
    Unreachable {
        /// The address.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The server does not let us in.
    #[error("the NATS server at {url} refuses these credentials: {reason}")]
    #[diagnostic(help(
        "pass what its operator gave you: --creds FILE, --nats-user and --nats-password, or --token (variable ORDAIN_NATS_TOKEN)"
    ))]
    Denied {
        /// The address.
        url: String,
        /// What the server said.
        reason: String,
    },
    /// There is no encrypted connection.
    #[error("no encrypted connection to the NATS server at {url}: {reason}")]
    #[diagnostic(help(
        "does the server use TLS? Name the authority that signed its certificate with --tls-ca FILE; if it asks for a certificate of \
         yours, --tls-cert FILE and --tls-key FILE"
    ))]
    Tls {
        /// The address.
        url: String,
        /// What happened.
        reason: String,
    },
    /// A file for the connection cannot be used.
    #[error("cannot use {}: {reason}", path.display())]
    #[diagnostic(help("it must be the {what}"))]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What it is for.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The server stores nothing.
    #[error("the NATS server at {url} has no JetStream: {reason}")]
    #[diagnostic(help("start it with `nats-server -js`, or enable JetStream for your account"))]
    NoJetStream {
        /// The address.
        url: String,
        /// What the server said.
        reason: String,
    },
    /// Messages are too small to be of use.
    #[error("the NATS server takes messages of {have} bytes at most, and Ordain needs {need}")]
    #[diagnostic(help("set `max_payload` in its configuration to 1MB, which is its default"))]
    SmallPayload {
        /// What it takes.
        have: usize,
        /// What is needed.
        need: usize,
    },
    /// There is no room.
    #[error("the NATS server has no room left for {what}: {reason}")]
    #[diagnostic(help(
        "free its disk, raise `max_file_store` (JetStream), or remove old runs: `ordain cluster list`, `ordain cluster cancel RUN`"
    ))]
    Full {
        /// What was to be stored.
        what: String,
        /// What the server said.
        reason: String,
    },
    /// The server does not do something.
    #[error("the NATS server failed to {what}: {reason}")]
    #[diagnostic(help("its log tells more; nothing is lost, and a run goes on when the server does"))]
    Server {
        /// What it was asked for.
        what: String,
        /// What it said.
        reason: String,
    },
    /// There is no such run.
    #[error("there is no run `{run}` on this cluster")]
    #[diagnostic(help("`ordain cluster list` lists the runs; a run is forgotten when its result has been fetched"))]
    NoRun {
        /// Its name.
        run: String,
    },
    /// A name of a run makes no sense.
    #[error("`{text}` is not the name of a run")]
    #[diagnostic(help("names are letters, digits and `-`; `ordain cluster list` lists them"))]
    BadRun {
        /// What was given.
        text: String,
    },
    /// What is stored is not what its name says.
    #[error("{what} of run {run} is not what it should be: {reason}")]
    #[diagnostic(help("somebody changed it on the server, or its disk is broken; cancel the run and submit it again"))]
    Tampered {
        /// What was fetched.
        what: String,
        /// Of which run.
        run: RunId,
        /// What is wrong with it.
        reason: String,
    },
    /// Something is too large.
    #[error("{what} has {size} bytes, and {most} are allowed")]
    #[diagnostic(help(
        "clusters take programs and inputs of up to half a gigabyte; strip the program, or make the input shorter"
    ))]
    TooLarge {
        /// What was to be stored or fetched.
        what: String,
        /// Its size.
        size: u64,
        /// The limit.
        most: u64,
    },
    /// A specification makes no sense.
    #[error("the specification of the run makes no sense: {0}")]
    #[diagnostic(help("was it submitted by another version of Ordain? Use the same one everywhere"))]
    BadSpec(String),
    /// A file to submit cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    #[diagnostic(help("it is to be sent to the workers"))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What happened.
        reason: String,
    },
    /// A worker cannot do something on its own machine.
    #[error("cannot {what}: {reason}")]
    #[diagnostic(help("is the disk full, or the directory for temporary files (TMPDIR) not writable?"))]
    Local {
        /// What was to be done.
        what: &'static str,
        /// What happened.
        reason: String,
    },
    /// Somebody else controls the run now.
    #[error("another controller has taken over run {0}")]
    #[diagnostic(help("nothing is lost: come back to it with `ordain check --cluster URL --attach RUN`"))]
    Fenced(RunId),
}

impl ClusterError {
    /// The server failed at something, for a reason that may say that it is full.
    pub(crate) fn server(what: impl Into<String>, error: impl std::fmt::Display) -> Self {
        let (what, reason) = (what.into(), error.to_string());
        let full =
            ["insufficient resources", "maximum bytes", "maximum messages", "no space", "resource limits", "storage"];
        let lower = reason.to_lowercase();
        if full.iter().any(|word| lower.contains(word)) {
            Self::Full { what, reason }
        } else {
            Self::Server { what, reason }
        }
    }

    /// Whether it may be well later, without anybody's doing.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Server { .. } | Self::Full { .. } | Self::Unreachable { .. })
    }
}
