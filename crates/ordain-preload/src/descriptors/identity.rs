//! What the kernel says about the program's own process in files of /proc: numbers as the program sees them, and the threads that it has.

use crate::engine::engine;
use crate::handles;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::fmt::Write as _;

/// The text of a file about the program's own process, as the program may see it; as it is if it is another file.
pub(super) fn of_program(path: &[u8], text: Vec<u8>) -> Vec<u8> {
    let Some((thread, file)) = own_file(path) else { return text };
    match (file, core::str::from_utf8(&text)) {
        (b"status", Ok(known)) => status(known, thread).into_bytes(),
        (b"stat", Ok(known)) => stat(known, thread).into_bytes(),
        _ => text,
    }
}

/// The number of the thread that a path is about, and its last part, if it is about this process.
fn own_file(path: &[u8]) -> Option<(c_int, &[u8])> {
    let mut parts = path.strip_prefix(b"/proc/")?.split(|c| *c == b'/').filter(|part| !part.is_empty());
    let own = handles::own();
    let mut thread = match parts.next()? {
        b"self" => own,
        b"thread-self" => handles::of_thread(engine().me()),
        number => Some(parse(number)?).filter(|number| *number == own)?,
    };
    let mut file = parts.next()?;
    if file == b"task" {
        thread = parse(parts.next()?)?;
        file = parts.next()?;
    }
    parts.next().is_none().then_some((thread, file))
}

fn parse(number: &[u8]) -> Option<c_int> {
    core::str::from_utf8(number).ok()?.parse().ok()
}

fn threads() -> usize {
    engine().arbiter.alive().len().max(1)
}

/// A line for each property.
fn status(known: &str, thread: c_int) -> String {
    let mut text = String::new();
    for line in known.lines() {
        let name = line.split(':').next().unwrap_or_default();
        let number = match name {
            "Tgid" | "NStgid" | "NSpgid" => Some(handles::own()),
            "Pid" | "NSpid" => Some(thread),
            "PPid" => Some(handles::parent()),
            "NSsid" => Some(handles::OUTSIDE),
            "TracerPid" => Some(0),
            "Threads" => Some(threads() as c_int),
            _ => None,
        };
        // Writing to a string does not fail.
        let _ = match number {
            Some(number) => writeln!(text, "{name}:\t{number}"),
            None => writeln!(text, "{line}"),
        };
    }
    text
}

/// One line of numbers: the process, its name in brackets, its state, its parent, its group, its session, and so on.
fn stat(known: &str, thread: c_int) -> String {
    let Some((head, fields)) = known.rsplit_once(')') else { return known.into() };
    let name = head.split_once('(').map_or("", |(_, name)| name);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(text, "{thread} ({name})");
    for (place, field) in fields.split_whitespace().enumerate() {
        let _ = match place {
            1 => write!(text, " {}", handles::parent()),
            2 => write!(text, " {}", handles::own()),
            3 => write!(text, " {}", handles::OUTSIDE),
            17 => write!(text, " {}", threads()),
            _ => write!(text, " {field}"),
        };
    }
    text.push('\n');
    text
}
