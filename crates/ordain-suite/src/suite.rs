//! A suite: what is run, from which file, what is known from an earlier run, and who watches.

use crate::allocate::Policy;
use crate::cargo::{Builds, Found};
use crate::conduct::{self, Prepared};
use crate::config::{Config, ConfigError, TestConfig};
use crate::program;
use crate::record;
use crate::result::{Row, SuiteResult, TestKind};
use ordain_check::checkpoint;
use ordain_check::{Amount, Settings};
use ordain_report::fingerprint;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A suite that can be run.
pub struct Suite {
    /// What to run.
    pub config: Config,
    /// The file that it comes from: paths in it are seen from its directory, and a change of its policy is followed.
    pub file: PathBuf,
    /// Where its record and the run directories of its tests are.
    pub directory: PathBuf,
    /// Tests that an earlier run came to an end with.
    before: Vec<Row>,
    /// Whether searches of tests that are not done go on from where they were.
    pub(crate) resumed: bool,
    /// The file when it was read, and the policy in it: the command line may say another one.
    pub(crate) stamp: Option<(SystemTime, u64)>,
    pub(crate) file_policy: Policy,
}

/// How far a suite is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Time since it began.
    pub elapsed: Duration,
    /// The time for all tests together.
    pub budget: Option<Duration>,
    /// Tests.
    pub tests: usize,
    /// Tests that are done.
    pub done: usize,
    /// Findings so far.
    pub findings: usize,
    /// Executions of all tests.
    pub executions: u64,
    /// The executions for all tests together.
    pub most_executions: Option<u64>,
    /// What is aimed at.
    pub policy: Policy,
    /// The test that had the last slice.
    pub last: String,
    /// The share of it that is explored, if that can be told.
    pub last_share: Option<f64>,
}

/// Watches a suite.
pub trait SuiteObserver {
    /// A slice has ended.
    fn progress(&mut self, progress: &Progress);
    /// The tests of a package are built; that is not of the budget.
    fn building(&mut self, _package: &str) {}
    /// A test has ended.
    fn done(&mut self, _row: &Row) {}
    /// The file says another policy than before, and it is followed.
    fn changed(&mut self, _from: Policy, _to: Policy) {}
    /// The file has changed, but cannot be read: the policy stays.
    fn unchanged(&mut self, _policy: Policy, _error: &ConfigError) {}
    /// Whether the suite shall end as it is.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Suite {
    /// Reads the file of a suite.
    pub fn read(file: &Path, directory: &Path) -> Result<Self, ConfigError> {
        let stamp = conduct::stamp(file);
        let config = Config::read(file)?;
        Ok(Self {
            file_policy: config.suite.policy,
            config,
            file: file.to_owned(),
            directory: directory.to_owned(),
            before: Vec::new(),
            resumed: false,
            stamp,
        })
    }

    /// The directory that paths in the file are seen from.
    pub fn base(&self) -> &Path {
        self.file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Whether the budget is in executions alone: then that is what tests cost.
    pub(crate) fn counts_executions(&self) -> bool {
        let suite = &self.config.suite;
        suite.budget.is_none() && (suite.executions.is_some() || matches!(suite.slice, Amount::Executions(_)))
    }

    /// Keeps the tests whose name has one of these parts; `false` if there are none.
    pub fn keep(&mut self, parts: &[String]) -> bool {
        self.config.tests.retain(|test| parts.is_empty() || parts.iter().any(|part| test.name.contains(part)));
        !self.config.tests.is_empty()
    }

    /// Takes over the rows of an earlier run that are done. Those that came to no verdict are tried again; the others go on.
    pub fn resume(&mut self, record: &record::Suite) {
        self.resumed = true;
        self.config.tests.retain(|test| record.tests.iter().any(|row| row.name == test.name));
        let rows = record.tests.iter().filter_map(|row| row.restore(&self.directory));
        self.before = rows.filter(|row| row.done && row.trouble.is_none()).collect();
    }

    /// Runs it.
    pub fn run(&self, observer: &mut dyn SuiteObserver) -> SuiteResult {
        let base = self.base();
        let mut builds = Builds::new(base, self.config.suite.patience);
        let mut tests = Vec::new();
        for config in &self.config.tests {
            let mut prepared = Prepared::Program;
            let mut found = None;
            if config.program.is_none() {
                if let Some(package) = builds.missing(config) {
                    observer.building(package);
                }
                prepared = match builds.find(config, &|| observer.is_stopped()) {
                    Ok(test) => {
                        found = Some(test.clone());
                        Prepared::Rust(test)
                    }
                    Err(trouble) => Prepared::Trouble(trouble),
                };
            }
            let fingerprint = fingerprint(config, base, found.as_ref());
            let known = self.before.iter().find(|row| row.name == config.name);
            let row = match known.filter(|row| fingerprint.is_some() && row.fingerprint == fingerprint) {
                Some(row) => {
                    prepared = Prepared::Done;
                    let mut row = row.clone();
                    // The file may say something else now.
                    row.require = config.settings.require;
                    if let Some(run) = row.run.as_mut().filter(|_| row.kind == TestKind::Program) {
                        run.unmet = None;
                    }
                    row
                }
                None => Row { fingerprint, ..Row::new(config, &self.directory) },
            };
            if !self.resumed {
                // What an earlier suite has left there is not of this one; if it stays, it is not looked at.
                let _ = checkpoint::forget(&row.directory);
            }
            tests.push((row, prepared));
        }
        conduct::run(self, tests, observer.is_stopped(), observer)
    }
}

/// A path as seen from the directory of the file, without steps that lead nowhere.
pub(crate) fn locate(base: &Path, path: impl AsRef<Path>) -> PathBuf {
    base.join(path).components().collect()
}

/// What a test is made of: what the file says about it, its binary, and what it reads.
fn fingerprint(config: &TestConfig, base: &Path, found: Option<&Found>) -> Option<u128> {
    let (binary, input) = match found {
        Some(found) => (fingerprint::of_file(&found.binary).ok()?, Vec::new()),
        None => program::files(config, base).ok().map(|(binary, input)| (binary.fingerprint, input))?,
    };
    // How much it counts, and what is expected, changes nothing of what it is.
    let settings = Settings { require: None, ..config.settings.clone() };
    let config = TestConfig { weight: 1.0, settings, ..config.clone() };
    let version = env!("CARGO_PKG_VERSION");
    Some(fingerprint::of(format!("{version} {binary:032x} {:032x} {config:?}", fingerprint::of(&input)).as_bytes()))
}
