//! What is mapped into a process, and its memory, through `/proc`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// One line of `/proc/PID/maps`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Mapping {
    /// Its first address.
    pub(crate) start: u64,
    /// The address behind its last.
    pub(crate) end: u64,
    /// Where in the file it begins.
    pub(crate) offset: u64,
    /// Whether code in it can run.
    pub(crate) executable: bool,
    /// Whether it can be written.
    pub(crate) writable: bool,
    /// The mapped file, which may be deleted by now.
    pub(crate) file: Option<PathBuf>,
    /// What the kernel calls memory without a file: `[heap]`, `[vdso]`.
    label: String,
}

impl Mapping {
    /// A name to show.
    pub(crate) fn name(&self) -> String {
        match self.file.as_ref().and_then(|file| file.file_name()) {
            Some(name) => name.to_string_lossy().into_owned(),
            None if self.label.is_empty() => "anonymous memory".to_owned(),
            None => self.label.clone(),
        }
    }

    /// Reads one line; nothing if it is not as expected.
    fn parse(line: &[u8]) -> Option<Mapping> {
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let mut field = || fields.next().and_then(|field| str::from_utf8(field).ok());
        let (start, end) = field()?.split_once('-')?;
        let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
        let (start, end) = (hex(start)?, hex(end)?);
        let rights = field()?.as_bytes();
        let (writable, executable) = (rights.get(1) == Some(&b'w'), rights.get(2) == Some(&b'x'));
        let offset = hex(field()?)?;
        let (_device, _inode) = (field()?, field()?);
        let name = fields.next().unwrap_or_default().trim_ascii_start();
        let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
        let file = name.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(&unescape(name))));
        let label = if file.is_some() { String::new() } else { String::from_utf8_lossy(name).into_owned() };
        (start < end).then_some(Mapping { start, end, offset, executable, writable, file, label })
    }
}

/// Undoes the one escape that the kernel uses, for a newline.
fn unescape(name: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(br"\012") {
            result.push(b'\n');
            rest = after;
        } else {
            result.push(first);
            rest = after;
        }
    }
    result
}

/// Reads what is mapped into a process, in ascending order.
pub(crate) fn read(pid: u32) -> io::Result<Vec<Mapping>> {
    Ok(parse(&fs::read(format!("/proc/{pid}/maps"))?))
}

/// Reads the text of `/proc/PID/maps`.
pub(crate) fn parse(text: &[u8]) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = text.split(|&byte| byte == b'\n').filter_map(Mapping::parse).collect();
    mappings.sort_by_key(|mapping| mapping.start);
    mappings
}

/// The mapping that holds an address.
pub(crate) fn find(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let behind = mappings.partition_point(|mapping| mapping.start <= address);
    mappings.get(behind.checked_sub(1)?).filter(|mapping| address < mapping.end)
}

/// The memory of another process.
pub(crate) struct Memory(File);

impl Memory {
    /// Opens it; the system may forbid that, as it may forbid to trace the process.
    pub(crate) fn open(pid: u32) -> io::Result<Memory> {
        File::open(format!("/proc/{pid}/mem")).map(Memory)
    }

    /// Fills the buffer, or nothing.
    pub(crate) fn read(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        self.0.read_exact_at(buffer, address).ok()
    }

    /// Reads one word.
    pub(crate) fn read_u64(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.read(address, &mut word)?;
        Some(u64::from_le_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn reads_names_with_spaces_newlines_and_none() {
        let text = b"\
            00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a b\n\
            00651000-00652000 r--p 00051000 08:02 173521      /tmp/x\\012y (deleted)\n\
            7ffe1000-7ffe2000 rw-p 00000000 00:00 0 \n\
            7fff1000-7fff2000 r-xp 00000000 00:00 0           [vdso]\n";
        let mappings = parse(text);
        assert_eq!(mappings.len(), 4);
        assert_eq!(mappings[0].file.as_deref(), Some(Path::new("/usr/bin/a b")));
        assert!(mappings[0].executable && !mappings[1].executable);
        assert_eq!((mappings[0].start, mappings[0].end, mappings[0].offset), (0x400000, 0x452000, 0x1000));
        assert_eq!(mappings[1].file.as_deref(), Some(Path::new("/tmp/x\ny")));
        assert_eq!(mappings[2].name(), "anonymous memory");
        assert_eq!(mappings[3].name(), "[vdso]");
    }

    #[test]
    fn skips_lines_that_make_no_sense() {
        let text = b"\n-\n1-\nzz-10 r-xp 0 0 0\n20-10 r-xp 0 0 0 /x\n10-20\n10-20 r-xp\n\xff\xff-\xff r-xp 0 0 0\n";
        assert_eq!(parse(text), []);
    }

    #[test]
    fn finds_the_mapping_of_an_address() {
        let mappings = parse(b"10-20 r-xp 0 0 0 /a\n30-40 rw-p 0 0 0 /b\n");
        let name = |address| find(&mappings, address).map(Mapping::name);
        assert_eq!(name(0x0f), None);
        assert_eq!(name(0x10).as_deref(), Some("a"));
        assert_eq!(name(0x1f).as_deref(), Some("a"));
        assert_eq!(name(0x20), None);
        assert_eq!(name(0x3f).as_deref(), Some("b"));
        assert_eq!(name(u64::MAX), None);
    }
}
