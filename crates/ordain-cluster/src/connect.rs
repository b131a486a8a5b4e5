//! Where the server is, how to be let in, and how patient to be.

use crate::error::ClusterError;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

/// How a server is reached.
#[derive(Clone, Debug)]
pub struct Access {
    /// `nats://host:port` or `tls://host:port`; several with commas between them.
    pub url: String,
    /// How to be let in.
    pub login: Login,
    /// The authority that signs the server's certificate, if it is not one that the system knows.
    pub tls_ca: Option<PathBuf>,
    /// The certificate and key to show to the server.
    pub tls_identity: Option<(PathBuf, PathBuf)>,
}

/// How to be let in.
#[derive(Clone)]
pub enum Login {
    /// As the URL says, if it says anything.
    Url,
    /// A credentials file, as `nsc` makes it.
    Credentials(PathBuf),
    /// A name and a password.
    Password(String, String),
    /// A token.
    Token(String),
}

// Secrets do not belong into logs.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => write!(f, "Url"),
            Self::Credentials(path) => write!(f, "Credentials({})", path.display()),
            Self::Password(user, _) => write!(f, "Password({user})"),
            Self::Token(_) => write!(f, "Token"),
        }
    }
}

/// How patient the parts of a cluster are with each other.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// After how long without a sign of life a task or a result is delivered again.
    pub ack_wait: Duration,
    /// How often a worker tells that it lives, and looks for runs.
    pub beat: Duration,
    /// After how long without a renewal a controller is taken for dead.
    pub claim: Duration,
    /// After how long a fragment that nobody answers for is given away anew.
    pub patience: Duration,
    /// After how long a worker tries again what it has refused; longer each time.
    pub retry: Duration,
    /// For how long the server may be away before whoever waits for it gives up.
    pub outage: Duration,
    /// For how long the result of a finished run is kept for somebody who comes back.
    pub keep: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ack_wait: Duration::from_secs(10),
            beat: Duration::from_secs(1),
            claim: Duration::from_secs(8),
            patience: Duration::from_secs(300),
            retry: Duration::from_secs(30),
            outage: Duration::from_secs(600),
            keep: Duration::from_secs(7 * 86_400),
        }
    }
}

/// The longest wait for an answer of the server.
pub(crate) const ANSWER: Duration = Duration::from_secs(5);

impl Access {
    /// A server that lets everybody in, or whom the URL names.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), login: Login::Url, tls_ca: None, tls_identity: None }
    }

    /// The address without secrets, for people.
    pub fn shown(&self) -> String {
        let shown = self.url.split(',').map(|url| match url.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host)),
            None => url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned(),
        });
        shown.collect::<Vec<_>>().join(",")
    }

    fn addresses(&self) -> Result<Vec<ServerAddr>, ClusterError> {
        let bad = |reason: String| ClusterError::BadAddress { url: self.shown(), reason };
        let each = self.url.split(',').map(|url| {
            if let Some((scheme, _)) = url.split_once("://")
                && !matches!(scheme, "nats" | "tls")
            {
                return Err(bad(format!("there is no scheme `{scheme}` here")));
            }
            ServerAddr::from_str(url).map_err(|error| bad(error.to_string()))
        });
        each.collect()
    }

    pub(crate) async fn connect(&self, name: &str, timing: &Timing) -> Result<Client, ClusterError> {
        let addresses = self.addresses()?;
        let slowest = timing.beat.max(Duration::from_millis(200)) * 2;
        let mut options = ConnectOptions::new()
            .name(format!("ordain {name}"))
            .connection_timeout(ANSWER)
            .request_timeout(Some(ANSWER))
            .ping_interval(slowest)
            // A server that is started again should not wait for its workers.
            .reconnect_delay_callback(move |attempts| {
                Duration::from_millis(50).saturating_mul(1 << attempts.min(10)).min(slowest)
            });
        let bad_file =
            |path: &PathBuf, what, reason: String| ClusterError::BadFile { path: path.clone(), what, reason };
        match &self.login {
            // The client does not look for them there.
            Login::Url => {
                let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
                if let Some(address) = addresses.iter().find(|address| address.has_user_pass()) {
                    let name = address.username().map(decoded).unwrap_or_default();
                    options = match address.password().map(decoded) {
                        Some(password) => options.user_and_password(name, password),
                        None => options.token(name),
                    };
                }
            }
            Login::Credentials(path) => {
                let loaded = options.credentials_file(path).await;
                options = loaded.map_err(|error| {
                    bad_file(path, "credentials file of a NATS user, as `nsc` makes it", error.to_string())
                })?;
            }
            Login::Password(user, password) => options = options.user_and_password(user.clone(), password.clone()),
            Login::Token(token) => options = options.token(token.clone()),
        }
        let readable = |path: &PathBuf, what| match std::fs::File::open(path) {
            Ok(_) => Ok(()),
            Err(error) => Err(bad_file(path, what, error.to_string())),
        };
        if let Some(ca) = &self.tls_ca {
            readable(ca, "certificate of the authority that signs the server's, in PEM form")?;
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &self.tls_identity {
            readable(certificate, "certificate to show to the server, in PEM form")?;
            readable(key, "private key of that certificate, in PEM form")?;
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        // A broken certificate must not lead to a connection without one.
        let encrypted =
            self.tls_ca.is_some() || self.tls_identity.is_some() || self.url.split(',').any(|u| u.starts_with("tls"));
        options = options.require_tls(encrypted);
        let connected = tokio::time::timeout(ANSWER * 2, options.connect(addresses)).await;
        let url = self.shown();
        match connected {
            Err(_) => Err(ClusterError::Unreachable { url, reason: "it does not answer".into() }),
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => {
                let mut reason = error.to_string();
                if let Some(source) = std::error::Error::source(&error)
                    && !reason.contains(&source.to_string())
                {
                    reason = format!("{reason}: {source}");
                }
                Err(match error.kind() {
                    ConnectErrorKind::ServerParse => ClusterError::BadAddress { url, reason },
                    ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                        ClusterError::Denied { url, reason }
                    }
                    ConnectErrorKind::Tls => ClusterError::Tls { url, reason },
                    _ if is_about_encryption(&reason, encrypted) => ClusterError::Tls { url, reason },
                    _ => ClusterError::Unreachable { url, reason },
                })
            }
        }
    }
}

/// Whether a connection failed because of certificates or the like. What the client says of it is all that there is to tell it by.
fn is_about_encryption(reason: &str, encrypted: bool) -> bool {
    let reason = reason.to_lowercase();
    let has = |word: &&str| reason.contains(word);
    // A server without encryption answers what makes no sense.
    ["certificate", "fatal alert", "handshake", "tls"].iter().any(has) || encrypted && reason.contains("corrupt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let access = Access::new("nats://me:secret@a:4222,tls://token@b");
        assert_eq!(access.shown(), "nats://a:4222,tls://b");
        let login = Login::Password("me".into(), "secret".into());
        assert!(!format!("{login:?}").contains("secret"));
    }

    #[test]
    fn other_schemes_are_refused() {
        assert!(Access::new("http://a").addresses().is_err());
        assert!(Access::new("nats://127.0.0.1:4222").addresses().is_ok());
    }
}
