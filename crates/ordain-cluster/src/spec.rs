//! What a run is about: the program and how it is explored. Written once by whoever submits it, read by everybody, trusted by nobody.

use crate::error::ClusterError;
use ordain_explore::frontier::Rule;
use ordain_model::Level;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};

/// The version of everything that is stored and sent.
pub(crate) const VERSION: u32 = 2;
/// Larger files are refused.
pub(crate) const MOST_FILE: u64 = 512 << 20;
/// More arguments or variables are refused.
const MOST_TEXTS: usize = 100_000;

/// The name of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RunId(String);

impl RunId {
    /// A new name, of which something is recognised.
    pub fn new(about: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let about: String = about.chars().map(plain).take(24).collect();
        let about = about.trim_matches('-');
        Self(format!("{}-{:08x}", if about.is_empty() { "run" } else { about }, random() as u32))
    }

    /// A name from elsewhere. It becomes part of subjects and keys, so only plain ones will do.
    pub fn parse(text: &str) -> Result<Self, ClusterError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
            let text = text.chars().filter(|c| !c.is_control()).take(80).collect();
            return Err(ClusterError::BadRun { text });
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = ClusterError;

    fn try_from(text: String) -> Result<Self, ClusterError> {
        Self::parse(&text)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A number that nobody else has. The standard library's tables are seeded at random.
pub(crate) fn random() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Hash([u8; 32]);

impl Hash {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("a hash has 64 hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut hash = [0; 32];
        for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(Self(hash))
    }
}

/// A stored object: what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectRef {
    pub(crate) hash: Hash,
    pub(crate) size: u64,
}

impl ObjectRef {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { hash: Hash::of(bytes), size: bytes.len() as u64 }
    }
}

/// Bytes that are text most of the time: arguments, variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => Self(text.into_bytes()),
            Either::Bytes(bytes) => Self(bytes),
        })
    }
}

/// A file that a run needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSpec {
    /// Its name in the directory of the run: one plain component.
    pub name: String,
    pub(crate) object: ObjectRef,
}

impl FileSpec {
    /// A file of that name with these contents.
    pub fn new(name: impl Into<String>, contents: &[u8]) -> Self {
        Self { name: name.into(), object: ObjectRef::of(contents) }
    }

    /// The SHA-256 of its contents, in hexadecimal digits.
    pub fn hash(&self) -> String {
        self.object.hash.to_string()
    }
}

/// What kind of program is explored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An unmodified program.
    Program,
    /// A test of a Rust test binary.
    Test {
        /// The full name of the test.
        name: String,
    },
}

/// When to stop before everything is explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// After that many executions.
    pub executions: Option<u64>,
    /// After that many milliseconds.
    pub millis: Option<u64>,
    /// Go on after the first finding.
    pub keep_going: bool,
}

/// What a run is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The version of the format.
    pub version: u32,
    /// What kind of program it is.
    pub kind: Kind,
    /// The program.
    pub program: FileSpec,
    /// Where it was when it was submitted: what is found is replayed there.
    #[serde(default)]
    pub origin: Option<Text>,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<Text>,
    /// Its variables.
    #[serde(default)]
    pub environment: Vec<(Text, Text)>,
    /// What it reads.
    #[serde(default)]
    pub stdin: Option<FileSpec>,
    /// Which operations are visible.
    pub level: Level,
    /// Further options, for whoever explores.
    #[serde(default)]
    pub options: serde_json::Value,
    /// How what was found is added.
    pub rule: Rule,
    /// The seed of everything random.
    pub seed: u64,
    /// When to stop.
    #[serde(default)]
    pub limits: Limits,
}

impl RunSpec {
    /// A run of a program with nothing special about it.
    pub fn new(kind: Kind, program: FileSpec) -> Self {
        let level = match kind {
            Kind::Program => Level::Sync,
            Kind::Test { .. } => Level::Types,
        };
        Self {
            version: VERSION,
            kind,
            program,
            origin: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            stdin: None,
            level,
            options: serde_json::Value::Null,
            rule: Rule::Optimal,
            seed: 0,
            limits: Limits::default(),
        }
    }

    /// The files that it needs.
    pub fn files(&self) -> impl Iterator<Item = &FileSpec> {
        std::iter::once(&self.program).chain(&self.stdin)
    }

    /// Whether it can be meant. It may come from anybody.
    pub(crate) fn verify(&self) -> Result<(), ClusterError> {
        let bad = |reason: &str| Err(ClusterError::BadSpec(reason.to_owned()));
        if self.version != VERSION {
            return Err(ClusterError::BadSpec(format!(
                "it is of version {}, and this is version {VERSION}",
                self.version
            )));
        }
        for file in self.files() {
            if !is_plain(&file.name) {
                return bad("the name of a file is not one plain component");
            }
            if file.object.size > MOST_FILE {
                return Err(ClusterError::TooLarge { what: "a file".into(), size: file.object.size, most: MOST_FILE });
            }
        }
        if self.stdin.as_ref().is_some_and(|stdin| stdin.name == self.program.name) {
            return bad("two files have the same name");
        }
        if self.arguments.len() > MOST_TEXTS || self.environment.len() > MOST_TEXTS {
            return bad("it has too many arguments or variables");
        }
        let texts = self.arguments.iter().chain(self.environment.iter().flat_map(|(name, value)| [name, value]));
        if texts.into_iter().any(|text| text.0.contains(&0)) {
            return bad("an argument or a variable has a NUL byte");
        }
        if self.environment.iter().any(|(name, _)| name.0.is_empty() || name.0.contains(&b'=')) {
            return bad("a variable has no name");
        }
        Ok(())
    }
}

/// Whether a name stays in the directory that it is put in.
fn is_plain(name: &str) -> bool {
    let odd = |c: char| c == '/' || c == '\\' || c.is_control();
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && !name.contains(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runs_are_plain() {
        let run = RunId::new("/usr/bin/Pigz 2.8");
        assert!(run.as_str().starts_with("usr-bin-pigz-2-8-"), "{run}");
        assert!(RunId::parse(run.as_str()).is_ok());
        for wrong in ["", "a.b", "a>", "*", "a b", "../x", "\u{1b}[0m"] {
            assert!(RunId::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_stay_in_their_directory() {
        for wrong in ["", "..", ".", "a/b", "/etc/passwd", "a\nb", ".hidden", "a\\b"] {
            let spec = RunSpec::new(Kind::Program, FileSpec::new(wrong, b""));
            assert!(spec.verify().is_err(), "{wrong:?}");
        }
        assert!(RunSpec::new(Kind::Program, FileSpec::new("prog-1.0", b"")).verify().is_ok());
    }

    #[test]
    fn specifications_come_back_as_they_were() {
        let mut spec = RunSpec::new(Kind::Test { name: "a::b".into() }, FileSpec::new("t", b"x"));
        spec.arguments = vec![Text(b"plain".to_vec()), Text(vec![0xff, 1])];
        assert_eq!(spec.level, Level::Types);
        let text = serde_json::to_string(&spec).expect("it can be written");
        assert_eq!(serde_json::from_str::<RunSpec>(&text).expect("it can be read"), spec);
    }
}
