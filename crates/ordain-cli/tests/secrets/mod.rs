//! What servers and users know each other by: accounts with credentials files, as `nsc` makes them, and certificates.
#![allow(unreachable_pub, reason = "it belongs to one test")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::write;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// An operator with one account for users and one for the system.
pub struct Operator {
    operator: KeyPair,
    account: KeyPair,
    system: KeyPair,
}

/// What somebody states about somebody, signed: <https://github.com/nats-io/jwt>.
fn statement(issuer: &KeyPair, subject: &KeyPair, about: &Value) -> String {
    let name = about["type"].clone();
    let claims = json!({
        "jti": subject.public_key(), "iat": 0, "iss": issuer.public_key(), "sub": subject.public_key(), "name": name, "nats": about,
    });
    let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let header = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let text = format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
    let signature = encode(&issuer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

impl Operator {
    pub fn new() -> Self {
        Self { operator: KeyPair::new_operator(), account: KeyPair::new_account(), system: KeyPair::new_account() }
    }

    /// What a server must know to let its users in.
    pub fn configuration(&self) -> String {
        let operator = statement(&self.operator, &self.operator, &json!({ "type": "operator", "version": 2 }));
        let anything = json!({
            "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
            "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
        });
        let nothing_stored = json!({ "subs": -1, "data": -1, "payload": -1, "conn": -1, "leaf": -1 });
        let account = |key: &KeyPair, limits: Value| {
            let about = json!({ "type": "account", "version": 2, "limits": limits });
            format!("  {}: {}\n", key.public_key(), statement(&self.operator, key, &about))
        };
        format!(
            "operator: {operator}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload {{\n{}{}}}\n",
            self.system.public_key(),
            account(&self.account, anything),
            account(&self.system, nothing_stored),
        )
    }

    /// Writes the credentials file of a new user.
    pub fn user(&self, directory: &Path, name: &str) -> PathBuf {
        let user = KeyPair::new_user();
        let about =
            json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {} });
        let statement = statement(&self.account, &user, &about);
        let file = format!(
            "-----BEGIN NATS USER JWT-----\n{statement}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            user.seed().unwrap()
        );
        write(directory, name, file)
    }
}

/// One who signs certificates.
pub struct Authority {
    issuer: CertifiedIssuer<'static, rcgen::KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut about = CertificateParams::default();
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        about.distinguished_name.push(DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().unwrap();
        Self { issuer: CertifiedIssuer::self_signed(about, key).unwrap() }
    }

    /// Writes its own certificate.
    pub fn write(&self, directory: &Path, name: &str) -> PathBuf {
        write(directory, name, self.issuer.pem())
    }

    /// Writes a certificate for a host or a user, and its key.
    pub fn sign(&self, directory: &Path, whom: &str, name: &str) -> (PathBuf, PathBuf) {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut about = CertificateParams::new([whom.to_owned()]).unwrap();
        about.distinguished_name.push(DnType::CommonName, whom);
        let certificate = about.signed_by(&key, &self.issuer).unwrap();
        let certificate = write(directory, &format!("{name}.pem"), certificate.pem());
        (certificate, write(directory, &format!("{name}-key.pem"), key.serialize_pem()))
    }
}
