//! What the system does not give: its errors, in terms of the limit that is behind them.

use ordain_wire::{IMAGE_FD, SHARED_FD};
use rustix::process::{Resource, getrlimit};
use std::io;

/// How many files a process may have open that runs a program: the program finds two of them by these numbers.
const FILES: u64 = (if SHARED_FD > IMAGE_FD { SHARED_FD } else { IMAGE_FD }) as u64 + 1;

/// How large the stack of a program must be: the runtime has a part of it.
const STACK: u64 = 1 << 20;

/// Which limit keeps programs from being started whatever they are, if one does.
pub(crate) fn too_small() -> Option<String> {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if files < FILES {
        return Some(format!("a process may have {files} files open, and {FILES} are needed: see ulimit -n"));
    }
    let stack = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
    (stack < STACK)
        .then(|| format!("a stack may have {} KiB, and {} are needed: see ulimit -s", stack >> 10, STACK >> 10))
}

/// Which limit an error is about, if it is about one.
pub(crate) fn limit_behind(error: &io::Error) -> Option<String> {
    let most = |resource| getrlimit(resource).current.map_or("all".to_owned(), |most| most.to_string());
    Some(match error.raw_os_error()? {
        libc::EMFILE => format!(
            "too many files are open; a process may have {}: use fewer workers, or raise ulimit -n",
            most(Resource::Nofile)
        ),
        libc::ENFILE => "too many files are open in the whole system: use fewer workers".into(),
        libc::EAGAIN => format!(
            "no more processes and threads can be started; {} are allowed: use fewer workers, or raise ulimit -u",
            most(Resource::Nproc)
        ),
        libc::EFBIG => {
            format!("files may not become larger than {} bytes: raise ulimit -f", most(Resource::Fsize))
        }
        libc::ENOMEM => "there is not enough memory: use fewer workers, or raise ulimit -v".into(),
        _ => return None,
    })
}
