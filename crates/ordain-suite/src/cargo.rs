//! Finds the binary of a Rust test, and builds it if need be.

use crate::config::TestConfig;
use crate::result::Trouble;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// A test in its binary.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) binary: PathBuf,
    pub(crate) test: String,
    /// Where cargo would run it.
    pub(crate) directory: PathBuf,
}

/// Cargo is run by one at a time: it would wait for its own lock anyway.
static CARGO: Mutex<()> = Mutex::new(());

/// Finds a test.
pub(crate) fn find(config: &TestConfig, base: &Path) -> Result<Found, Trouble> {
    let test = config.test.clone().unwrap_or_default();
    if let Some(binary) = &config.binary {
        let binary = base.join(binary);
        let directory = base.to_owned();
        return match has_test(&binary, &test)? {
            true => Ok(Found { binary, test, directory }),
            false => Err(unknown(&test, &binary.display().to_string())),
        };
    }
    let package = config.package.as_deref().unwrap_or_default();
    for (binary, directory) in build(package, base)? {
        if has_test(&binary, &test)? {
            return Ok(Found { binary, test, directory });
        }
    }
    Err(unknown(&test, &format!("package {package}")))
}

fn unknown(test: &str, place: &str) -> Trouble {
    Trouble {
        message: format!("there is no test called `{test}` in {place}"),
        help: Some("`cargo test -- --list` shows the full names of tests".into()),
    }
}

fn has_test(binary: &Path, test: &str) -> Result<bool, Trouble> {
    let output = Command::new(binary).args(["--list", "--format", "terse"]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Trouble {
        message: format!("cannot run {}: {error}", binary.display()),
        help: Some("`binary` is the path of a test binary that cargo has built".into()),
    })?;
    let line = format!("{test}: test");
    Ok(String::from_utf8_lossy(&output.stdout).lines().any(|l| l == line))
}

/// Builds the tests of a package; gives their binaries and the directory of the package.
fn build(package: &str, base: &Path) -> Result<Vec<(PathBuf, PathBuf)>, Trouble> {
    let _one = CARGO.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(&cargo);
    command.args(["test", "--no-run", "--message-format=json", "--package", package]).current_dir(base);
    let output = command.stdin(Stdio::null()).output().map_err(|error| Trouble {
        message: format!("cannot run {}: {error}", Path::new(&cargo).display()),
        help: Some("install it, or set the variable CARGO to where it is".into()),
    })?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let first = errors.lines().find(|l| l.starts_with("error")).unwrap_or_default().to_owned();
        return Err(Trouble {
            message: format!("the tests of package {package} cannot be built: {first}"),
            help: Some(format!("see `cargo test --no-run --package {package}`")),
        });
    }
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let manifest = message["manifest_path"].as_str().map(Path::new).and_then(Path::parent);
        if let (Some(binary), Some(directory), true) =
            (message["executable"].as_str(), manifest, message["profile"]["test"] == true)
        {
            found.push((PathBuf::from(binary), directory.to_owned()));
        }
    }
    Ok(found)
}
