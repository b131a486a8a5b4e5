//! How commands connect to a cluster, and how they hear that they shall stop.

use crate::options;
use crate::problem::Problem;
use ordain_cluster::{Access, Login, Timing};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::watch;

/// The variable that a token is taken from, so that it need not be on the command line, where others see it.
const TOKEN: &str = "ORDAIN_NATS_TOKEN";

/// How to be let in by a NATS server.
#[derive(clap::Args)]
#[command(next_help_heading = "NATS")]
pub(crate) struct Connection {
    /// The credentials file of a NATS user, as nsc makes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nats_user", "token"])]
    creds: Option<PathBuf>,
    /// The name of a NATS user; may be in the URL instead
    #[arg(long, value_name = "NAME", requires = "nats_password", conflicts_with = "token")]
    nats_user: Option<String>,
    /// Its password
    #[arg(long, value_name = "PASSWORD", requires = "nats_user")]
    nats_password: Option<String>,
    /// A token; better in the variable ORDAIN_NATS_TOKEN, where others do not see it
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The authority that signs the server's certificate, if the system does not know it
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The certificate to show to the server
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// After how long without a sign of life a worker or a controller is taken for dead
    #[arg(long, value_name = "TIME", value_parser = options::duration, hide = true)]
    dead_after: Option<Duration>,
}

impl Connection {
    pub(crate) fn access(&self, url: &str) -> Result<Access, Problem> {
        let given = |token: &String| !token.is_empty();
        let token = self.token.clone().or_else(|| std::env::var(TOKEN).ok()).filter(given);
        let login = match (&self.creds, &self.nats_user, &self.nats_password, token) {
            (Some(path), ..) => Login::Credentials(path.clone()),
            (None, Some(user), Some(password), _) => Login::Password(user.clone(), password.clone()),
            (None, None, None, Some(token)) => Login::Token(token),
            _ => Login::Url,
        };
        let identity = self.tls_cert.clone().zip(self.tls_key.clone());
        Ok(Access { url: url.to_owned(), login, tls_ca: self.tls_ca.clone(), tls_identity: identity })
    }

    pub(crate) fn timing(&self) -> Timing {
        let usual = Timing::default();
        match self.dead_after {
            Some(time) => Timing { ack_wait: time, claim: time, beat: (time / 8).min(usual.beat), ..usual },
            None => usual,
        }
    }
}

/// Runs something that waits for a server.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Problem::Threads { error })?;
    let result = runtime.block_on(future);
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// A flag for whoever waits, set by Ctrl-C or SIGTERM. The second one ends the process at once.
pub(crate) fn stop_on_signals() -> watch::Receiver<bool> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: whoever asks a second time is heard before the first is noted.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.clone());
        let _ = signal_hook::flag::register(signal, stop.clone());
    }
    follow(stop)
}

/// A flag for whoever waits that follows one which is set by a signal.
pub(crate) fn follow(stop: Arc<AtomicBool>) -> watch::Receiver<bool> {
    let (tell, told) = watch::channel(false);
    tokio::spawn(async move {
        while !stop.load(Relaxed) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tell.send_replace(true);
        // Keeps the channel open for those who have not looked yet.
        std::future::pending::<()>().await;
    });
    told
}
