//! `ordain.toml`: the tests of a suite, and how its budget is spent.

use crate::allocate::Policy;
use crate::result::directory_name;
use miette::{Diagnostic, NamedSource, SourceSpan};
use ordain_check::{Amount, Settings, amount, settings};
use ordain_native::ProgramSettings;
use ordain_report::{Require, Timeouts};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// What `ordain.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How the budget is spent.
    #[serde(default)]
    pub suite: SuiteConfig,
    /// The tests.
    #[serde(rename = "test", default)]
    pub tests: Vec<TestConfig>,
}

/// How the budget of a suite is spent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SuiteConfig {
    /// The time for all tests together.
    #[serde(with = "settings::optional_time")]
    pub budget: Option<Duration>,
    /// The executions for all tests together.
    pub executions: Option<u64>,
    /// What is aimed at.
    pub policy: Policy,
    /// How long a test goes on before another one may.
    #[serde(deserialize_with = "amount")]
    pub slice: Amount,
    /// How many tests run at a time; as many as there are processors if not told.
    pub workers: Option<usize>,
    /// How long a test may be silent before it counts as hanging.
    #[serde(deserialize_with = "duration")]
    pub patience: Duration,
    /// What tests must reach that do not say it themselves.
    pub require: Option<Require>,
}

impl Default for SuiteConfig {
    fn default() -> Self {
        Self {
            budget: None,
            executions: None,
            policy: Policy::default(),
            slice: Amount::Time(Duration::from_millis(200)),
            workers: None,
            patience: Duration::from_secs(60),
            require: None,
        }
    }
}

/// A test: a program, or a test of Rust code that uses the library.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TestConfig {
    /// What it is called; unique in the suite.
    pub name: String,
    /// The program to check, found as a shell finds it, or from the directory of the file.
    pub program: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The file that it reads as standard input.
    pub stdin: Option<PathBuf>,
    /// Variables of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The options that every check has.
    #[serde(flatten)]
    pub settings: Settings,
    /// Those of checks of programs.
    #[serde(flatten)]
    pub program_settings: ProgramSettings,
    /// `timeouts = "last"` by its old name.
    #[serde(default)]
    pub(crate) kind_time: bool,

    /// The cargo package of a test that uses the library.
    pub package: Option<String>,
    /// Or the test binary itself.
    pub binary: Option<PathBuf>,
    /// What cargo needs to build the package's tests, such as `--release`.
    #[serde(default)]
    pub cargo_args: Vec<String>,
    /// The full name of the test in its package or binary.
    pub test: Option<String>,

    /// How much more it counts than others.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

/// What is wrong with a configuration, with the place where it is.
#[derive(Debug, Diagnostic, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    #[diagnostic(help(
        "a suite is described by a file: `ordain suite --init` writes one to begin with, docs/suite.md tells all"
    ))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    #[diagnostic(help("{help}"))]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
        /// What would be right.
        help: String,
        /// The text.
        #[source_code]
        text: Arc<NamedSource<String>>,
        /// The place in it.
        #[label("here")]
        place: SourceSpan,
    },
}

impl Config {
    /// Reads a configuration.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })?;
        Self::parse(path, &text)
    }

    /// Reads a configuration from text; `path` is for messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config: Self = toml::from_str(text).map_err(|error| {
            // In a table of a test, only that table is known.
            let unknown = error.message().strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
            let assigned = unknown.map(|key| assignment(text, key)).filter(|place| !place.is_empty());
            let place = assigned.or_else(|| error.span()).unwrap_or(0..0);
            wrong(path, text, place, error.message().to_owned(), help(error.message()))
        })?;
        config.check(path, text)?;
        for test in &mut config.tests {
            test.settings.require = test.settings.require.or(config.suite.require);
            if std::mem::take(&mut test.kind_time) {
                test.settings.timeouts = Timeouts::Last;
            }
        }
        Ok(config)
    }

    fn check(&self, path: &Path, text: &str) -> Result<(), ConfigError> {
        if self.tests.is_empty() {
            let help = "add a table [[test]] for each test, with `name` and `program`, or `name`, `package` and `test`";
            return Err(wrong(path, text, 0..0, "there are no tests".into(), help.into()));
        }
        for (key, is_zero) in
            [("workers", self.suite.workers == Some(0)), ("executions", self.suite.executions == Some(0))]
        {
            if is_zero {
                let reason = format!("`{key}` is 0, so nothing would ever run");
                return Err(wrong(
                    path,
                    text,
                    assignment(text, key),
                    reason,
                    "leave it out, or give a larger number".into(),
                ));
            }
        }
        let mut names = HashMap::new();
        for (number, test) in self.tests.iter().enumerate() {
            let fail = |(reason, help): (String, String)| wrong(path, text, table(text, number), reason, help);
            test.check().map_err(fail)?;
            if let Some(other) = names.insert(directory_name(&test.name), &test.name) {
                let name = &test.name;
                let reason = match other == name {
                    true => format!("there are two tests called `{name}`"),
                    false => format!("tests `{other}` and `{name}` would have the same directory"),
                };
                return Err(fail((reason, "give them names that differ in letters, digits, or one of -_.+".into())));
            }
        }
        Ok(())
    }
}

impl TestConfig {
    /// What is wrong with it, and what would be right.
    fn check(&self) -> Result<(), (String, String)> {
        let name = &self.name;
        let fail = |reason: String, help: &str| Err((reason, help.to_owned()));
        if name.trim().is_empty() || name.contains(char::is_control) {
            return fail("a test has no name".into(), "`name` is what the test is called in reports");
        }
        let library = self.package.is_some() || self.binary.is_some();
        match (&self.program, library) {
            (Some(_), true) => {
                return fail(
                    format!("test `{name}` is a program and a Rust test at the same time"),
                    "give `program`, or one of `package` and `binary` with `test`",
                );
            }
            (None, false) => {
                return fail(
                    format!("test `{name}` does not say what it runs"),
                    "give `program`, or one of `package` and `binary` with `test`",
                );
            }
            (None, true) if self.test.is_none() => {
                return fail(
                    format!("test `{name}` does not say which Rust test it is"),
                    "`test` is the full name, as `cargo test -- --list` shows it",
                );
            }
            _ => {}
        }
        if self.package.is_some() && self.binary.is_some() {
            return fail(format!("test `{name}` has a package and a binary"), "give one of `package` and `binary`");
        }
        let foreign = if library { self.only_of_programs() } else { self.only_of_rust_tests() };
        if let Some(key) = foreign {
            return match library {
                true => fail(
                    format!("`{key}` is for programs, and `{name}` is a Rust test"),
                    "leave it out: a Rust test says such things in its code, by ordain::Check or #[ordain::test]",
                ),
                false => fail(format!("`{key}` is for Rust tests, and `{name}` is a program"), "leave it out"),
            };
        }
        if !(self.weight > 0.0 && self.weight.is_finite()) {
            return fail(format!("the weight of test `{name}` is {}", self.weight), "weights are above zero");
        }
        if let Err(reason) = self.settings.verify().and_then(|()| self.program_settings.verify()) {
            return fail(format!("test `{name}`: {reason}"), "docs/suite.md explains every key");
        }
        let variable =
            |(name, value): (&String, &String)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        if self.env.iter().any(variable) {
            return fail(format!("a variable of test `{name}` cannot be set"), "names have no `=`, values no NUL byte");
        }
        Ok(())
    }

    /// The first key that only programs have. Of the settings, Rust tests say all but these in their code.
    fn only_of_programs(&self) -> Option<String> {
        let keys = [("args", !self.args.is_empty()), ("stdin", self.stdin.is_some()), ("kind-time", self.kind_time)];
        let given = keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key.to_owned());
        let common = Settings { require: None, max_executions: None, ..self.settings.clone() };
        given.or_else(|| settings::unusual(&common)).or_else(|| settings::unusual(&self.program_settings))
    }

    /// The first key that only Rust tests have.
    fn only_of_rust_tests(&self) -> Option<String> {
        let keys = [("test", self.test.is_some()), ("cargo-args", !self.cargo_args.is_empty())];
        keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key.to_owned())
    }
}

/// Keys of `[[test]]` that are no options of checks.
const OWN_KEYS: [&str; 10] =
    ["name", "program", "args", "stdin", "env", "package", "binary", "cargo-args", "test", "weight"];

/// All keys of `[[test]]`.
fn test_keys() -> Vec<String> {
    let mut keys: Vec<String> = OWN_KEYS.map(str::to_owned).into();
    keys.extend(settings::keys::<Settings>());
    keys.extend(settings::keys::<ProgramSettings>());
    keys
}

/// All that may be written.
fn all_keys() -> String {
    format!(
        "valid keys of [suite]: budget, executions, policy, slice, workers, patience, require. Of [[test]]: {}. Policies: {}. Times: \
         \"500ms\", \"30s\", \"5m\", \"1h\"",
        test_keys().join(", "),
        Policy::ALL.map(Policy::name).join(", ")
    )
}

/// What would be right instead of what a message is about.
fn help(message: &str) -> String {
    // unknown field `programm`, expected one of `name`, `program`
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(wrong) = quoted.next().filter(|_| message.starts_with("unknown ")) else { return all_keys() };
    let mut known: Vec<String> = quoted.map(str::to_owned).collect();
    if known.is_empty() {
        known = test_keys();
    }
    let near = known.iter().map(|right| (strsim::damerau_levenshtein(wrong, right), right)).min();
    match near {
        Some((distance, right)) if distance <= 3 => format!("did you mean `{right}`? docs/suite.md explains every key"),
        _ => "docs/suite.md explains every key".into(),
    }
}

/// The place of the n-th table of a test.
fn table(text: &str, number: usize) -> Range<usize> {
    lines(text)
        .filter(|(_, line)| line.starts_with("[[test]]"))
        .nth(number)
        .map_or(0..0, |(at, _)| at..at + "[[test]]".len())
}

/// The place of the first assignment to a key.
fn assignment(text: &str, key: &str) -> Range<usize> {
    let is = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    lines(text).find(|(_, line)| is(line)).map_or(0..0, |(at, line)| at..at + line.trim_end().len())
}

/// Lines without their indentation, each with its place.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let begin = at + line.len() - line.trim_start().len();
        at += line.len();
        (begin, line.trim_start())
    })
}

fn wrong(path: &Path, text: &str, place: Range<usize>, reason: String, help: String) -> ConfigError {
    let before = &text[..(0..=place.start.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let name = path.display().to_string();
    ConfigError::Wrong {
        path: path.to_owned(),
        line,
        column,
        reason,
        help,
        text: Arc::new(NamedSource::new(name, text.to_owned())),
        place: (place.start, place.end.saturating_sub(place.start)).into(),
    }
}

fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<Amount, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|reason| serde::de::Error::custom(format!("`{text}`: {reason}")))
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    amount::duration(&text).map_err(|reason| serde::de::Error::custom(format!("`{text}`: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_explore::strategy::Kind as Strategy;

    fn parse(text: &str) -> Result<Config, (usize, usize, String)> {
        Config::parse(Path::new("ordain.toml"), text).map_err(|error| match error {
            ConfigError::Wrong { line, column, reason, .. } => (line, column, reason),
            ConfigError::Unreadable { .. } => (0, 0, String::new()),
        })
    }

    #[test]
    fn a_suite_is_read() {
        let config = parse(
            "[suite]\nbudget = \"5m\"\npolicy = \"even-coverage\"\n\n[[test]]\nname = \"queue\"\nprogram = \"./queue\"\n\
             args = [\"2\"]\nstrategy = \"pct\"\nenv = { A = \"b\" }\n\n[[test]]\nname = \"bank\"\npackage = \"bank\"\n\
             test = \"transfer\"\nweight = 2.5\n",
        );
        let config = config.expect("it is right");
        assert_eq!(config.suite.budget, Some(Duration::from_secs(300)));
        assert_eq!((config.suite.policy, config.tests.len()), (Policy::EvenCoverage, 2));
        assert_eq!(config.tests[0].settings.strategy, Some(Strategy::Pct));
        assert_eq!(config.tests[1].weight, 2.5);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let program = "[[test]]\nname = \"a\"\nprogram = \"./a\"\n";
        let (line, column, reason) =
            parse(&format!("[suite]\nbugdet = \"5m\"\n{program}")).expect_err("a typing error");
        assert_eq!((line, column), (2, 1));
        assert!(reason.contains("unknown field `bugdet`") && reason.contains("`budget`"), "{reason}");
        let (line, column, reason) = parse(&format!("[suite]\nbudget = 5\n{program}")).expect_err("a number");
        assert_eq!((line, column), (2, 10));
        assert!(reason.contains("invalid type"), "{reason}");
        let (line, _, reason) = parse(&format!("[suite]\npolicy = \"best\"\n{program}")).expect_err("no policy");
        assert_eq!(line, 2);
        assert!(reason.contains("`shortest-first`"), "{reason}");
        let (line, _, reason) = parse(&format!("{program}\n{program}")).expect_err("two of a name");
        assert_eq!(line, 5);
        assert!(reason.contains("two tests called `a`"), "{reason}");
        for (text, about) in [
            ("", "there are no tests"),
            ("[[test]]\nname = \"a\"\n", "does not say what it runs"),
            ("[[test]]\nname = \"a\"\npackage = \"p\"\n", "which Rust test"),
            ("[[test]]\nname = \"a\"\nprogram = \"p\"\nbinary = \"b\"\n", "at the same time"),
            ("[[test]]\nname = \"a\"\nprogram = \"p\"\nweight = 0.0\n", "weight"),
            ("[[test]]\nname = \"a\"\nprogram = \"p\"\nstrategy = \"x\"\n", "no strategy `x`"),
            ("[suite]\nslice = \"1 day\"\n", "the unit is unknown"),
            ("[suite]\nslice = \"0 executions\"\n", "more than nothing"),
            ("[suite]\nworkers = 0\n[[test]]\nname = \"a\"\nprogram = \"p\"\n", "`workers` is 0"),
            (
                "[[test]]\nname = \"a b\"\nprogram = \"p\"\n[[test]]\nname = \"a-b\"\nprogram = \"p\"\n",
                "same directory",
            ),
            ("[[test]]\nname = \"a\"\nbinary = \"p\"\ntest = \"t\"\nseed = 1\n", "`seed` is for programs"),
            ("[[test]]\nname = \"a\"\nprogram = \"p\"\ntest = \"t\"\n", "`test` is for Rust tests"),
            ("[[test]]\nname = \"a\"\nprogram = \"p\"\nenv = { \"A=\" = \"\" }\n", "cannot be set"),
            ("[[test]]\nname = \"\u{e4}\"\nprogram = \"p\"\nseed = -1\n", "expected u64"),
            ("[[test]", ""),
        ] {
            let (line, _, reason) = parse(text).expect_err(text);
            assert!(line >= 1 && reason.contains(about), "{text}: {reason}");
        }
    }
}
