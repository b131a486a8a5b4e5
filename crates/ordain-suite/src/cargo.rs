//! Finds the binary of a Rust test, and builds it if need be.

use crate::config::TestConfig;
use crate::process::{self, NotEnded};
use crate::result::Trouble;
use crate::suite::locate;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longer messages of cargo are not read.
const MOST_MESSAGES: usize = 1 << 28;
/// Longer lists of tests are not read.
const MOST_TESTS: usize = 1 << 24;

/// A test in its binary.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) binary: PathBuf,
    pub(crate) test: String,
    /// Where cargo would run it.
    pub(crate) directory: PathBuf,
}

/// A test binary, and the directory that cargo would run it in.
type Built = (PathBuf, PathBuf);

/// What was built and listed, so that it is done once.
pub(crate) struct Builds<'a> {
    base: &'a Path,
    patience: Duration,
    packages: HashMap<Vec<String>, Result<Vec<Built>, Trouble>>,
    tests: HashMap<PathBuf, Result<Vec<String>, Trouble>>,
}

impl<'a> Builds<'a> {
    /// Nothing yet. Paths are seen from `base`.
    pub(crate) fn new(base: &'a Path, patience: Duration) -> Self {
        Self { base, patience, packages: HashMap::new(), tests: HashMap::new() }
    }

    /// The package that is to be built to find the test, if it is not built yet.
    pub(crate) fn missing<'c>(&self, config: &'c TestConfig) -> Option<&'c str> {
        let package = config.package.as_deref().filter(|_| config.binary.is_none())?;
        (!self.packages.contains_key(&key(package, &config.cargo_args))).then_some(package)
    }

    /// Finds a test.
    pub(crate) fn find(&mut self, config: &TestConfig, is_stopped: &dyn Fn() -> bool) -> Result<Found, Trouble> {
        let test = config.test.clone().unwrap_or_default();
        let (binaries, place) = match (&config.binary, &config.package) {
            (Some(binary), _) => {
                let binary = locate(self.base, binary);
                let place = binary.display().to_string();
                (vec![(binary, self.base.to_owned())], place)
            }
            (None, package) => {
                let package = package.as_deref().unwrap_or_default();
                (self.build(package, &config.cargo_args, is_stopped)?, format!("package {package}"))
            }
        };
        let mut names = Vec::new();
        for (binary, directory) in binaries {
            let tests = self.list(&binary, is_stopped)?;
            if tests.contains(&test) {
                // It will not be run from here.
                let binary = std::path::absolute(&binary).unwrap_or(binary);
                return Ok(Found { binary, test, directory });
            }
            names.extend(tests);
        }
        let near = |name: &&String| name.ends_with(&format!("::{test}"));
        let help = match names.iter().find(near) {
            Some(name) => format!("did you mean `{name}`? `test` is the full name of the test"),
            None => "`cargo test -- --list` shows the full names of tests".into(),
        };
        Err(Trouble::new(format!("there is no test called `{test}` in {place}"), help))
    }

    fn list(&mut self, binary: &Path, is_stopped: &dyn Fn() -> bool) -> Result<Vec<String>, Trouble> {
        if let Some(known) = self.tests.get(binary) {
            return known.clone();
        }
        let tests = list(binary, self.patience, is_stopped);
        self.tests.insert(binary.to_owned(), tests.clone());
        tests
    }

    /// Builds the tests of a package.
    fn build(
        &mut self,
        package: &str,
        options: &[String],
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<Built>, Trouble> {
        let key = key(package, options);
        if let Some(known) = self.packages.get(&key) {
            return known.clone();
        }
        let built = build(package, options, self.base, is_stopped);
        self.packages.insert(key, built.clone());
        built
    }
}

fn key(package: &str, options: &[String]) -> Vec<String> {
    [package.to_owned()].into_iter().chain(options.iter().cloned()).collect()
}

/// The names of the tests in a binary.
fn list(binary: &Path, patience: Duration, is_stopped: &dyn Fn() -> bool) -> Result<Vec<String>, Trouble> {
    let mut command = Command::new(binary);
    command.args(["--list", "--format", "terse"]);
    let ended =
        process::run(&mut command, MOST_TESTS, Some(patience), is_stopped).map_err(|problem| match problem {
            NotEnded::Failed(error) => Trouble::new(
                format!("cannot run {}: {error}", binary.display()),
                "`binary` is the path of a test binary that cargo has built",
            ),
            NotEnded::Late => Trouble::new(
                format!("{} did not list its tests within {} seconds", binary.display(), patience.as_secs_f64()),
                "is it a test binary that cargo has built?",
            ),
            NotEnded::Stopped => Trouble::stopped(),
        })?;
    if !ended.status.success() {
        return Err(Trouble::new(
            format!("{} does not list its tests: it ended with {}", binary.display(), ended.status),
            "is it a test binary that cargo has built?",
        ));
    }
    Ok(ended.output.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn build(package: &str, options: &[String], base: &Path, is_stopped: &dyn Fn() -> bool) -> Result<Vec<Built>, Trouble> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(&cargo);
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics", "--package", package]);
    command.args(options).current_dir(base);
    let ended = process::run(&mut command, MOST_MESSAGES, None, is_stopped).map_err(|problem| match problem {
        NotEnded::Failed(error) => Trouble::new(
            format!("cannot run {}: {error}", Path::new(&cargo).display()),
            "install it, or set the variable CARGO to where it is",
        ),
        NotEnded::Late | NotEnded::Stopped => Trouble::stopped(),
    })?;
    if !ended.status.success() {
        let first = ended.errors.lines().find(|l| l.starts_with("error")).unwrap_or("cargo failed");
        return Err(Trouble::new(
            format!("the tests of package {package} cannot be built: {first}"),
            format!("see `cargo test --no-run --package {package}`"),
        ));
    }
    Ok(ended.output.lines().filter_map(built).collect())
}

/// The test binary that a message of cargo is about, if it is about one.
fn built(line: &str) -> Option<Built> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let directory = message["manifest_path"].as_str().map(Path::new).and_then(Path::parent)?;
    let binary = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    Some((PathBuf::from(binary), directory.to_owned()))
}
