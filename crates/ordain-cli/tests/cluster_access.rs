//! Who is let in: tokens, passwords, credentials files and certificates, right and wrong ones.
#![cfg(feature = "cluster")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod fleet;
mod secrets;

use common::{directory, ordain, write};
use fleet::{Fleet, Server, json};
use predicates::str::contains;
use secrets::{Authority, Operator};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const DENIED: &str = "refuses these credentials";
const NOT_ENCRYPTED: &str = "no encrypted connection";

/// A server with that in its configuration.
fn server(directory: &TempDir, configuration: &str) -> Server {
    let file = write(directory.path(), "server.conf", configuration);
    Server::start_with("127.0.0.1", &["-js", "-c", file.to_str().unwrap()])
}

/// The command that lists runs.
fn list(directory: &TempDir, url: &str, options: &[&str]) -> assert_cmd::Command {
    let mut command = ordain(directory.path());
    command.env_remove("ORDAIN_NATS_TOKEN").args(["cluster", "list", url]).args(options);
    command
}

#[track_caller]
fn is_let_in(directory: &TempDir, url: &str, options: &[&str]) {
    list(directory, url, options).assert().success();
}

#[track_caller]
fn is_not_let_in(directory: &TempDir, url: &str, options: &[&str], message: &str) {
    list(directory, url, options).assert().code(2).stderr(contains(message));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_token_lets_in() {
    let directory = directory();
    let server = server(&directory, "authorization { token: s3cret }\n");
    let url = server.url();
    is_let_in(&directory, &url, &["--token", "s3cret"]);
    is_let_in(&directory, &url.replace("//", "//s3cret@"), &[]);
    list(&directory, &url, &[]).env("ORDAIN_NATS_TOKEN", "s3cret").assert().success();
    list(&directory, &url, &[]).env("ORDAIN_NATS_TOKEN", "wrong").assert().code(2).stderr(contains(DENIED));
    is_not_let_in(&directory, &url, &["--token", "wrong"], DENIED);
    is_not_let_in(&directory, &url, &[], DENIED);
}

#[test]
fn a_name_and_a_password_let_in() {
    let directory = directory();
    let server = server(&directory, "authorization { user: me, password: \"s3cret@\" }\n");
    let url = server.url();
    is_let_in(&directory, &url, &["--nats-user", "me", "--nats-password", "s3cret@"]);
    is_let_in(&directory, &url.replace("//", "//me:s3cret%40@"), &[]);
    is_not_let_in(&directory, &url, &["--nats-user", "me", "--nats-password", "wrong"], DENIED);
    is_not_let_in(&directory, &url, &[], DENIED);
    let wrong = list(&directory, &url.replace("//", "//me:wr0ng@"), &[]).assert().code(2).get_output().clone();
    let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(told.contains(DENIED) && !told.contains("wr0ng"), "{told}");
}

#[test]
fn a_credentials_file_lets_in() {
    let directory = directory();
    let operator = Operator::new();
    let server = server(&directory, &operator.configuration());
    let url = server.url();
    let mine = operator.user(directory.path(), "mine.creds");
    is_let_in(&directory, &url, &["--creds", text(&mine)]);
    let of_another = Operator::new().user(directory.path(), "other.creds");
    is_not_let_in(&directory, &url, &["--creds", text(&of_another)], DENIED);
    is_not_let_in(&directory, &url, &[], DENIED);
    let no_credentials = write(directory.path(), "no.creds", "hello\n");
    is_not_let_in(&directory, &url, &["--creds", text(&no_credentials)], "credentials file of a NATS user");
    is_not_let_in(&directory, &url, &["--creds", "absent.creds"], "cannot use absent.creds");
}

/// The configuration of a server with a certificate, and the options with which its clients trust it.
fn encrypted(directory: &TempDir, authority: &Authority, host: &str, more: &str) -> (String, PathBuf) {
    let (certificate, key) = authority.sign(directory.path(), host, "server");
    let ca = authority.write(directory.path(), "ca.pem");
    let (certificate, key) = (text(&certificate), text(&key));
    (format!("tls {{ cert_file: {certificate:?}, key_file: {key:?}, {more} }}\n"), ca)
}

#[test]
fn a_certificate_of_a_known_authority_is_trusted() {
    let directory = directory();
    let authority = Authority::new("Ordain's tests");
    let (configuration, ca) = encrypted(&directory, &authority, "127.0.0.1", "");
    let server = server(&directory, &configuration);
    let (plain, url) = (server.url(), server.url().replace("nats:", "tls:"));
    is_let_in(&directory, &url, &["--tls-ca", text(&ca)]);
    is_let_in(&directory, &plain, &["--tls-ca", text(&ca)]);
    let other = Authority::new("somebody else").write(directory.path(), "other.pem");
    is_not_let_in(&directory, &url, &["--tls-ca", text(&other)], NOT_ENCRYPTED);
    is_not_let_in(&directory, &url, &[], NOT_ENCRYPTED);
    is_not_let_in(&directory, &plain, &[], NOT_ENCRYPTED);
    let nonsense = write(directory.path(), "nonsense.pem", "hello\n");
    is_not_let_in(&directory, &url, &["--tls-ca", text(&nonsense)], NOT_ENCRYPTED);
    is_not_let_in(&directory, &url, &["--tls-ca", "absent.pem"], "cannot use absent.pem");
}

#[test]
fn a_certificate_of_another_host_is_not_trusted() {
    let directory = directory();
    let (configuration, ca) = encrypted(&directory, &Authority::new("Ordain's tests"), "elsewhere.example", "");
    let server = server(&directory, &configuration);
    is_not_let_in(&directory, &server.url(), &["--tls-ca", text(&ca)], NOT_ENCRYPTED);
}

#[test]
fn a_server_may_ask_for_a_certificate() {
    let directory = directory();
    let authority = Authority::new("Ordain's tests");
    let ca = directory.path().join("ca.pem");
    let (configuration, _) = encrypted(&directory, &authority, "127.0.0.1", &format!("ca_file: {ca:?}, verify: true"));
    let server = server(&directory, &configuration);
    let url = server.url();
    let (certificate, key) = authority.sign(directory.path(), "me", "me");
    let trusting = ["--tls-ca", text(&ca)];
    let showing = |certificate: &Path, key: &Path| {
        let more = ["--tls-cert", text(certificate), "--tls-key", text(key)];
        trusting.iter().chain(&more).map(|option| (*option).to_owned()).collect::<Vec<_>>()
    };
    let mine = showing(&certificate, &key);
    is_let_in(&directory, &url, &mine.iter().map(String::as_str).collect::<Vec<_>>());
    is_not_let_in(&directory, &url, &trusting, NOT_ENCRYPTED);
    let (certificate, key) = Authority::new("somebody else").sign(directory.path(), "me", "other");
    let of_another = showing(&certificate, &key);
    is_not_let_in(&directory, &url, &of_another.iter().map(String::as_str).collect::<Vec<_>>(), NOT_ENCRYPTED);
}

#[test]
fn a_check_runs_with_credentials_over_tls() {
    let directory = directory();
    let (operator, authority) = (Operator::new(), Authority::new("Ordain's tests"));
    let (tls, ca) = encrypted(&directory, &authority, "127.0.0.1", "");
    let server = server(&directory, &(operator.configuration() + &tls));
    let credentials = operator.user(directory.path(), "mine.creds");
    let access = ["--creds", text(&credentials), "--tls-ca", text(&ca)];
    let fleet = Fleet::on(server, &access, 2);
    let output = fleet.check_program("bugs/abba.c", &[], &[]).output().unwrap();
    assert_eq!(json(&output)["findings"][0]["kind"], "deadlock");
}
