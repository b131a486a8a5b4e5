//! Lines of source files, and what they call the objects that they use.
//!
//! A mutex on the heap has no name, but the line that locks it has one for it: `pthread_mutex_lock(&queue->lock)`,
//! `self.queue.lock()`. Files are read with care: they may be missing, huge, or newer than what was built from them.

use ordain_model::ObjectKind;
use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Directories of sources that are not the user's.
const FOREIGN: [&str; 8] =
    ["/rustc/", "/usr/", "/.cargo/registry/", "/.cargo/git/", "/.rustup/", "/glibc", "/libsanitizer/", "/compiler-rt/"];

/// Whether a file may be one of the user's own sources.
pub fn is_own(file: &str) -> bool {
    !FOREIGN.iter().any(|directory| file.contains(directory))
}

/// Larger files are not shown.
const MOST_BYTES: u64 = 16 << 20;
/// Longer lines are cut.
const MOST_CHARACTERS: usize = 240;
/// Directories above the current one in which relative paths are looked for: cargo runs tests in the package's directory, and
/// the compiler names files from the workspace's.
const MOST_PARENTS: usize = 4;

/// Source files that were looked at.
#[derive(Debug, Default)]
pub struct Sources {
    built: Option<SystemTime>,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Sources of something that was built at that time: files that changed later are not shown, since their lines may be others.
    pub fn built(built: Option<SystemTime>) -> Self {
        Self { built, files: HashMap::new() }
    }

    /// Sources of a program or library in a file.
    pub fn of_file(path: &Path) -> Self {
        Self::built(fs::metadata(path).and_then(|m| m.modified()).ok())
    }

    /// The text of a line, counted from 1, without the space around it.
    pub fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let text = self.raw_line(file, line)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// A line as it is, with its indentation; nothing behind the end of the file.
    pub(crate) fn raw_line(&mut self, file: &str, line: u32) -> Option<&str> {
        if !self.files.contains_key(file) {
            let lines = read(file, self.built);
            self.files.insert(file.to_owned(), lines);
        }
        let lines = self.files.get(file)?.as_ref()?;
        lines.get(usize::try_from(line).ok()?.checked_sub(1)?).map(String::as_str)
    }

    /// What the source calls the descriptor that it reads from at a place: `lfd` of `accept(lfd, 0, 0)`.
    pub fn descriptor_at(&mut self, file: &str, line: u32) -> Option<String> {
        let (function, descriptor) = descriptor_call(self.raw_line(file, line)?)?;
        READING.contains(&function).then(|| descriptor.to_owned())
    }

    /// The call at a place that uses a descriptor: `accept(lfd)`.
    pub fn descriptor_call_at(&mut self, file: &str, line: u32) -> Option<String> {
        let (function, descriptor) = descriptor_call(self.raw_line(file, line)?)?;
        Some(format!("{function}({descriptor})"))
    }

    /// What the source calls the object that it uses at a place: the receiver of a method, or the first argument of a call.
    pub fn object_at(&mut self, kind: ObjectKind, file: &str, line: u32, column: u32) -> Option<String> {
        let text = self.raw_line(file, line)?;
        let name = match file.rsplit('.').next() {
            Some("rs") => receiver(text, usize::try_from(column).ok()?.checked_sub(1)?),
            _ => first_argument(kind, text),
        };
        name.filter(|name| name.len() <= 60)
    }
}

fn read(file: &str, built: Option<SystemTime>) -> Option<Vec<String>> {
    let path = find(file)?;
    let metadata = fs::metadata(&path).ok()?;
    let newer = built.zip(metadata.modified().ok()).is_some_and(|(built, changed)| changed > built);
    if !metadata.is_file() || metadata.len() > MOST_BYTES || newer {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(&path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.lines().map(|line| line.chars().take(MOST_CHARACTERS).collect()).collect())
}

fn find(file: &str) -> Option<PathBuf> {
    let path = Path::new(file);
    if path.is_absolute() || path.is_file() {
        return Some(path.to_owned());
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().skip(1).take(MOST_PARENTS).map(|parent| parent.join(path)).find(|p| p.is_file())
}

/// What stands before the dot of the method at a column: `queue.items` of `queue.items.lock()`.
fn receiver(line: &str, column: usize) -> Option<String> {
    let before: Vec<char> = line.chars().take(column).collect();
    let mut rest = before.as_slice();
    let trimmed = |mut rest: &[char]| -> usize {
        while let [others @ .., ' ' | '\t'] = rest {
            rest = others;
        }
        rest.len()
    };
    rest = &rest[..trimmed(rest)];
    let [receiver @ .., '.'] = rest else { return None };
    let mut depth = 0usize;
    let mut start = receiver.len();
    while start > 0 {
        let c = receiver[start - 1];
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            _ if depth > 0 || c.is_alphanumeric() || "_.:".contains(c) => {}
            _ => break,
        }
        start -= 1;
    }
    let name: String = receiver[start..].iter().collect();
    let name = name.trim_matches(|c: char| c == '.' || c == ':');
    // A number, or the result of a call, is no name.
    (!name.is_empty() && !name.contains('(') && !name.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| name.to_owned())
}

/// Functions that wait for what their first argument is, a descriptor.
const READING: [&str; 8] = ["accept", "accept4", "read", "readv", "recv", "recvfrom", "recvmsg", "epoll_wait"];
/// Other functions whose first argument is a descriptor.
const USING: [&str; 10] =
    ["bind", "close", "connect", "listen", "send", "sendmsg", "sendto", "shutdown", "write", "writev"];

/// The function and the descriptor of a line in C that has one such call.
fn descriptor_call(line: &str) -> Option<(&'static str, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut calls = READING.iter().chain(&USING).flat_map(|function| {
        line.match_indices(function).filter_map(move |(start, _)| {
            let arguments = line[start + function.len()..].trim_start().strip_prefix('(')?;
            // `obj.read(`, `obj->close(` and `ns::bind(` are functions of the program, but `::read(` is the one meant.
            let (before, qualified) = match line[..start].strip_suffix("::") {
                Some(before) => (before, true),
                None => (&line[..start], false),
            };
            let own = before.ends_with(is_name) || (!qualified && before.ends_with(['.', ':', '>', '"']));
            (!own).then_some((*function, arguments))
        })
    });
    let (function, arguments) = calls.next()?;
    if calls.next().is_some() {
        return None;
    }
    let descriptor = arguments[..arguments.find([',', ')'])?].trim();
    let plain = |c: char| is_name(c) || "->.[]*:".contains(c);
    let named = descriptor.starts_with(|c: char| c.is_alphabetic() || "_*".contains(c));
    (named && descriptor.chars().all(plain)).then_some((function, descriptor))
}

/// How functions of C begin that are about an object of a kind.
fn prefixes(kind: ObjectKind) -> &'static [&'static str] {
    match kind {
        ObjectKind::Mutex => &["pthread_mutex_", "mtx_"],
        ObjectKind::Condvar => &["pthread_cond_", "cnd_"],
        ObjectKind::RwLock => &["pthread_rwlock_"],
        ObjectKind::Spin => &["pthread_spin_"],
        ObjectKind::Semaphore => &["sem_"],
        ObjectKind::Barrier => &["pthread_barrier_"],
        ObjectKind::Once => &["pthread_once", "call_once"],
        _ => &[],
    }
}

/// The first argument of the call in a line that is about an object of this kind: `q->lock` of `pthread_mutex_lock(&q->lock)`. Nothing if there
/// are several.
fn first_argument(kind: ObjectKind, line: &str) -> Option<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut calls = prefixes(kind).iter().flat_map(|prefix| line.match_indices(prefix)).filter_map(|(start, _)| {
        let call = &line[start..];
        let open = call.find('(')?;
        let is_call = call[..open].trim_end().chars().all(is_name) && !line[..start].ends_with(is_name);
        is_call.then_some((call, open))
    });
    let (call, open) = calls.next()?;
    if calls.next().is_some() {
        return None;
    }
    let mut depth = 0usize;
    let mut argument = String::new();
    for c in call[open + 1..].chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                let name = argument.trim().trim_start_matches('&').trim();
                let plain = |c: char| c.is_alphanumeric() || "_->.[]*:() +".contains(c);
                return (!name.is_empty() && name.chars().all(plain)).then(|| name.to_owned());
            }
            _ => {}
        }
        argument.push(c);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_called_as_the_source_calls_them() {
        let at = |line: &str, method: &str| receiver(line, line.find(method).unwrap_or(0));
        assert_eq!(at("let guard = bell.0.lock().unwrap();", "lock").as_deref(), Some("bell.0"));
        assert_eq!(at("    self.shards[i].write()", "write").as_deref(), Some("self.shards[i]"));
        assert_eq!(at("drop(queue.lock())", "lock").as_deref(), Some("queue"));
        assert_eq!(at("state().lock()", "lock"), None);
        assert_eq!(at("    .lock()", "lock"), None);
        assert_eq!(at("Self::TABLE.lock()", "lock").as_deref(), Some("Self::TABLE"));
        assert_eq!(receiver("x.lock()", 400), None);
        assert_eq!(receiver("", 0), None);
        let of = |kind, line: &str| first_argument(kind, line);
        let (mutex, semaphore) = (ObjectKind::Mutex, ObjectKind::Semaphore);
        assert_eq!(of(mutex, "    pthread_mutex_lock(&from->lock);").as_deref(), Some("from->lock"));
        assert_eq!(of(ObjectKind::Condvar, "pthread_cond_wait(&q.full, &q.lock)").as_deref(), Some("q.full"));
        assert_eq!(of(semaphore, "if (sem_wait(&forks[(i + 1) % n]) != 0)"), None);
        assert_eq!(of(semaphore, "if (sem_wait(&forks[left(i)]) != 0)").as_deref(), Some("forks[left(i)]"));
        assert_eq!(of(mutex, "mtx_lock(m)").as_deref(), Some("m"));
        assert_eq!(of(mutex, "lock(m)"), None);
        assert_eq!(of(mutex, "my_mtx_lock(m)"), None);
        assert_eq!(of(mutex, "pthread_mutex_lock(&from"), None);
        // Several calls in a line: each has its own kind of object, and if there are two of a kind, nobody knows which.
        let both = "pthread_mutex_lock(&table); sem_wait(&ready);";
        assert_eq!(of(mutex, both).as_deref(), Some("table"));
        assert_eq!(of(semaphore, both).as_deref(), Some("ready"));
        assert_eq!(of(mutex, "pthread_mutex_lock(&a); pthread_mutex_lock(&b);"), None);
        assert_eq!(of(ObjectKind::RwLock, "pthread_mutex_lock(&a)"), None);
    }

    #[test]
    fn descriptors_are_called_as_the_source_calls_them() {
        assert_eq!(descriptor_call("    int con = accept(lfd, 0, 0);"), Some(("accept", "lfd")));
        assert_eq!(descriptor_call("while ((n = ::recv(c->fds[0], b, 4, 0)) > 0)"), Some(("recv", "c->fds[0]")));
        assert_eq!(descriptor_call("close (self->sock);"), Some(("close", "self->sock")));
        // Functions of the program, results of calls, numbers, and lines with two calls.
        for line in
            ["file.read(fd)", "queue->close(fd)", "my::read(fd)", "do_read(fd)", "reads(fd)", "read(open(p), b, 4)"]
        {
            assert_eq!(descriptor_call(line), None, "{line}");
        }
        for line in ["read(0, b, 4)", "read(a, b, 4) + read(c, b, 4)", "write(fd", "read", "puts(\"read(fd)\")"] {
            assert_eq!(descriptor_call(line), None, "{line}");
        }
    }

    #[test]
    fn lines_come_from_files_that_are_there_and_not_newer_than_the_program() {
        let file = file!();
        let mut sources = Sources::default();
        assert!(sources.line(file, 1).is_some_and(|l| l.starts_with("//! Lines of source files")));
        assert_eq!(sources.line(file, 0), None);
        assert_eq!(sources.line(file, 100_000), None);
        assert_eq!(sources.line("no/such/file.rs", 1), None);
        assert_eq!(sources.line("/", 1), None);
        assert_eq!(Sources::built(Some(SystemTime::UNIX_EPOCH)).line(file, 1), None);
    }
}
