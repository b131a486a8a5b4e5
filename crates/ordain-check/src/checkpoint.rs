//! Checkpoints: files with what is left of a search, so that another process can resume it.
//!
//! A checkpoint is read only if it is whole (it is sealed with a hash) and of the same search: its *identity* names what is explored and how, so
//! that a refusal says what differs. What is inside is up to the campaign that writes it.

use ordain_report::{fingerprint, store};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// The name of a checkpoint, or what it begins with.
pub const FILE: &str = "checkpoint";
/// What the first line begins with; it changes when checkpoints of before cannot be read any more.
const HEAD: &str = "ordain checkpoint 3 ";
/// Larger files are refused.
const MOST_BYTES: u64 = 1 << 32;
/// The least time between checkpoints, and how often the time that writing one takes.
const PAUSE: Duration = Duration::from_millis(200);
const SHARE: u32 = 25;

/// All that decides what is explored, by name.
pub type Identity = Vec<(String, String)>;

/// Writes a checkpoint, whole or not at all.
pub fn write(directory: &Path, name: &str, identity: &Identity, body: &[u8]) -> Result<(), String> {
    let mut sealed = serde_json::to_vec(identity).map_err(|e| e.to_string())?;
    sealed.push(b'\n');
    sealed.extend_from_slice(body);
    let mut bytes = format!("{HEAD}{}\n", seal(&sealed)).into_bytes();
    bytes.append(&mut sealed);
    store::write(directory, name, &bytes).map(|_| ())
}

/// Reads a checkpoint; `None` if there is none. An error says why it cannot be resumed.
pub fn read(directory: &Path, name: &str, identity: &Identity) -> Result<Option<Vec<u8>>, String> {
    let mut bytes = Vec::new();
    match store::open(&directory.join(name)) {
        Ok(file) => file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|e| e.to_string())?,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.to_string()),
    };
    open(&bytes, identity).map(Some)
}

/// The note on a search that was to be resumed and is not.
pub fn begun_again(reason: &str) -> String {
    format!("it began again from its beginning, because its search could not be resumed: {reason}")
}

/// Removes all checkpoints of a directory. One that stays is found to be of a finished search, or is written over.
pub fn forget(directory: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(FILE) && entry.file_type()?.is_file() {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn seal(bytes: &[u8]) -> String {
    format!("{:032x}", fingerprint::of(bytes))
}

fn open(bytes: &[u8], identity: &Identity) -> Result<Vec<u8>, String> {
    let rest = bytes.strip_prefix(HEAD.as_bytes());
    let rest = rest.ok_or("it was made by another version of Ordain, or is no checkpoint")?;
    let (told, sealed) = split_line(rest).ok_or("it is damaged")?;
    if told != seal(sealed).as_bytes() {
        return Err("it is damaged".into());
    }
    let (theirs, body) = split_line(sealed).ok_or("it is damaged")?;
    let theirs: Identity = serde_json::from_slice(theirs).map_err(|_| "it is damaged")?;
    let known = |name: &str| theirs.iter().find(|(other, _)| other == name).map_or("unknown", |(_, value)| value);
    match identity.iter().find(|(name, now)| known(name) != now) {
        Some((name, now)) => Err(format!("it is of another {name}: {}, and now {now}", known(name))),
        None => Ok(body.to_vec()),
    }
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// When the next checkpoint is due.
#[derive(Debug)]
pub struct CheckpointTimer {
    written: Instant,
    pause: Duration,
}

impl Default for CheckpointTimer {
    fn default() -> Self {
        Self { written: Instant::now(), pause: PAUSE }
    }
}

impl CheckpointTimer {
    /// Whether it is time.
    pub fn is_due(&self) -> bool {
        self.written.elapsed() >= self.pause
    }

    /// One was written, since `begin`: that must not take more than a small share of the time.
    pub fn note(&mut self, begin: Instant) {
        *self = Self { written: Instant::now(), pause: PAUSE.max(begin.elapsed() * SHARE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(program: &str) -> Identity {
        vec![("version".into(), "1".into()), ("program".into(), program.into())]
    }

    #[test]
    fn a_checkpoint_is_read_again_if_its_identity_is_the_same() {
        let directory = tempfile::tempdir().expect("room for temporary files");
        let at = directory.path();
        assert_eq!(read(at, FILE, &identity("a")), Ok(None));
        write(at, FILE, &identity("a"), b"left\n\0").expect("it can be written");
        assert_eq!(read(at, FILE, &identity("a")), Ok(Some(b"left\n\0".to_vec())));
        assert_eq!(read(at, FILE, &identity("b")), Err("it is of another program: a, and now b".into()));
        assert!(forget(at).is_ok() && forget(&at.join("nowhere")).is_ok());
        assert_eq!(read(at, FILE, &identity("a")), Ok(None));
    }

    #[test]
    fn every_damage_is_noticed() {
        let directory = tempfile::tempdir().expect("room for temporary files");
        let at = directory.path();
        write(at, FILE, &identity("a"), b"what is left").expect("it can be written");
        let whole = std::fs::read(at.join(FILE)).expect("it is there");
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            assert!(open(&damaged, &identity("a")).is_err(), "byte {place}");
            assert!(open(&whole[..place], &identity("a")).is_err(), "{place} bytes");
        }
        assert!(open(&whole, &identity("a")).is_ok());
    }
}
