//! What this system offers to Ordain, found out by trying.
//!
//! A kernel may be new enough and still refuse: containers filter system calls, administrators turn features off. So
//! each feature is used once, in a way that leaves nothing changed, and each one missing comes with its fix. What belongs
//! to a thread alone (its personality, its filters, its clock) is tried on a thread that ends right after.

use linux_raw_sys::general::{
    PAGE_IS_PRESENT, PAGE_IS_WPALLOWED, PAGE_IS_WRITTEN, UFFD_FEATURE_WP_ASYNC, UFFD_USER_MODE_ONLY, page_region,
    pm_scan_arg, uffdio_api,
};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::ioctl::{self, Updater, opcode};
use rustix::mm::UserfaultfdFlags;
use rustix::process::TimeStampCounterReadability;
use std::fs::{self, File};
use std::thread;

/// The first kernel with `PAGEMAP_SCAN` and asynchronous write protection.
const SNAPSHOT_KERNEL: (u32, u32) = (6, 7);

/// The first glibc that has its threads in `libc.so`.
const OLDEST_GLIBC: (u32, u32) = (2, 34);

/// What helps when a container filters a system call.
const IN_CONTAINER: &str = "in a container, allow the call: with docker or podman, --security-opt seccomp=unconfined";

/// Whether the system offers something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// It does.
    Ok,
    /// It does in part.
    Limited,
    /// It does not.
    Missing,
}

/// One thing that Ordain can use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Check {
    /// What it is.
    pub name: &'static str,
    /// Whether it is there.
    pub status: Status,
    /// What was found, in words.
    pub found: String,
    /// What Ordain does with it.
    pub needed_for: &'static str,
    /// How to get it, if it is not there.
    pub fix: Option<String>,
}

/// What the choice of a mode depends on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Features {
    /// Pages can be write-protected so that the kernel only notes that they were written.
    pub userfaultfd_wp_async: bool,
    /// The kernel lists the pages that were written.
    pub pagemap_scan: bool,
    /// A filter can turn a system call into a signal.
    pub seccomp_trap: bool,
    /// The base of thread-local storage can be switched without a system call.
    pub fsgsbase: bool,
    /// Programs can be started at fixed addresses.
    pub no_aslr: bool,
}

/// Finds out what the choice of a mode depends on.
pub fn features() -> Features {
    Features {
        userfaultfd_wp_async: try_userfaultfd().is_ok(),
        pagemap_scan: try_pagemap_scan().is_ok(),
        seccomp_trap: try_seccomp().is_ok(),
        fsgsbase: has_fsgsbase(),
        no_aslr: try_no_aslr().is_ok(),
    }
}

/// Looks at everything that Ordain can use, what matters most first.
pub fn examine() -> Vec<Check> {
    vec![
        processor(),
        kernel(),
        glibc(),
        userfaultfd(),
        pagemap_scan(),
        seccomp(),
        fsgsbase(),
        no_aslr(),
        time_stamp_counter(),
        memfd(),
        ptrace_scope(),
        shadow_stacks(),
        cores(),
        memory(),
    ]
}

fn processor() -> Check {
    let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
    let (status, fix) = match &*machine {
        "x86_64" => (Status::Ok, None),
        _ => (Status::Missing, Some("run Ordain on a 64-bit x86 machine".into())),
    };
    Check { name: "processor", status, found: machine, needed_for: "running programs at all", fix }
}

fn kernel() -> Check {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let (status, fix) = match version(&release) {
        Some(version) if version >= SNAPSHOT_KERNEL => (Status::Ok, None),
        _ => {
            let (major, minor) = SNAPSHOT_KERNEL;
            let fix =
                format!("boot Linux {major}.{minor} or newer; until then, executions are forked, which is slower");
            (Status::Limited, Some(fix))
        }
    };
    Check { name: "kernel", status, found: format!("Linux {release}"), needed_for: "snapshot mode", fix }
}

fn glibc() -> Check {
    let (status, found) = match glibc_version() {
        Some(text) if version(&text).is_some_and(|version| version >= OLDEST_GLIBC) => (Status::Ok, text),
        Some(text) => (Status::Limited, text),
        None => (Status::Missing, "not found".into()),
    };
    let (major, minor) = OLDEST_GLIBC;
    let fix = (status != Status::Ok).then(|| format!("use a system with glibc {major}.{minor} or newer"));
    Check { name: "glibc", status, found, needed_for: "entering programs and controlling their threads", fix }
}

fn userfaultfd() -> Check {
    let fix = |error| match error {
        Errno::PERM | Errno::ACCESS => IN_CONTAINER.to_owned(),
        Errno::NOSYS => format!("use a kernel built with CONFIG_USERFAULTFD; {IN_CONTAINER}"),
        _ => "boot Linux 6.7 or newer: this kernel cannot protect pages asynchronously".to_owned(),
    };
    tried("userfaultfd", try_userfaultfd(), "asynchronous write protection works", "snapshot mode", fix)
}

fn pagemap_scan() -> Check {
    let fix = |error| match error {
        Errno::NOENT | Errno::PERM | Errno::ACCESS => "mount /proc so that /proc/self/pagemap can be opened".to_owned(),
        _ => "boot Linux 6.7 or newer, built with CONFIG_PROC_PAGE_MONITOR".to_owned(),
    };
    tried("PAGEMAP_SCAN", try_pagemap_scan(), "written pages can be listed", "snapshot mode", fix)
}

fn seccomp() -> Check {
    let fix = |error| match error {
        Errno::PERM | Errno::ACCESS => IN_CONTAINER.to_owned(),
        _ => "use a kernel built with CONFIG_SECCOMP_FILTER".to_owned(),
    };
    let needed_for = "raw futex calls (OpenMP, locks inside libc)";
    tried("seccomp", try_seccomp(), "filters that trap are accepted", needed_for, fix)
}

fn fsgsbase() -> Check {
    let (status, found, fix) = if has_fsgsbase() {
        (Status::Ok, "the processor and the kernel allow it", None)
    } else {
        let fix =
            "boot Linux 5.9 or newer without `nofsgsbase`, on a processor since 2012; switches are slower until then";
        (Status::Limited, "not allowed", Some(fix.into()))
    };
    Check { name: "FSGSBASE", status, found: found.into(), needed_for: "fast switches between threads", fix }
}

fn no_aslr() -> Check {
    let needed_for = "the same addresses in every execution";
    tried("fixed addresses", try_no_aslr(), "address randomisation can be turned off", needed_for, |_| {
        IN_CONTAINER.to_owned()
    })
}

fn time_stamp_counter() -> Check {
    let needed_for = "the same readings of the processor's clock in every execution";
    tried("time stamp counter", try_tsc(), "its reading can be trapped", needed_for, |_| IN_CONTAINER.to_owned())
}

fn memfd() -> Check {
    let result = rustix::fs::memfd_create("ordain-doctor", MemfdFlags::CLOEXEC).map(drop);
    let needed_for = "keeping the output of executions, and memory shared with the program";
    tried("memfd", result, "files in memory can be made", needed_for, |_| IN_CONTAINER.to_owned())
}

fn ptrace_scope() -> Check {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let scope = scope.as_deref().map(str::trim);
    let (status, found) = match scope {
        None => (Status::Ok, "no restriction".to_owned()),
        Some("0") => (Status::Ok, "0: processes of the same user".to_owned()),
        Some("1") => (Status::Ok, "1: child processes, which is enough".to_owned()),
        Some("2") if may_trace() => (Status::Ok, "2: for the privileged, such as this process".to_owned()),
        Some(other) => (Status::Missing, format!("{other}: other processes cannot be looked into")),
    };
    let fix = match scope {
        _ if status == Status::Ok => None,
        Some("3") => Some("boot with kernel.yama.ptrace_scope = 1 in /etc/sysctl.d: 3 cannot be lowered".into()),
        _ => Some("sysctl kernel.yama.ptrace_scope=1".into()),
    };
    Check { name: "ptrace scope", status, found, needed_for: "backtraces in findings", fix }
}

fn shadow_stacks() -> Check {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = flags.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let found = if flags.split_whitespace().any(|flag| flag == "user_shstk") {
        "the processor has them; programs run without"
    } else {
        "the processor has none"
    };
    let needed_for = "nothing: they would forbid to switch stacks";
    Check { name: "shadow stacks", status: Status::Ok, found: found.into(), needed_for, fix: None }
}

fn cores() -> Check {
    let found = thread::available_parallelism().map_or_else(|_| "unknown".into(), |cores| cores.to_string());
    Check { name: "cores", status: Status::Ok, found, needed_for: "several workers at once", fix: None }
}

fn memory() -> Check {
    let info = rustix::system::sysinfo();
    let unit = u64::from(info.mem_unit.max(1));
    let gibibytes = |amount: u64| amount.saturating_mul(unit) as f64 / f64::from(1 << 30);
    let found = format!("{:.1} GiB, {:.1} GiB free", gibibytes(info.totalram), gibibytes(info.freeram));
    Check { name: "memory", status: Status::Ok, found, needed_for: "snapshots, one for each worker", fix: None }
}

/// The check of something that was tried, and works or is missing.
fn tried(
    name: &'static str,
    result: Result<(), Errno>,
    works: &str,
    needed_for: &'static str,
    fix: impl FnOnce(Errno) -> String,
) -> Check {
    match result {
        Ok(()) => Check { name, status: Status::Ok, found: works.into(), needed_for, fix: None },
        Err(error) => {
            let found = format!("refused: {error}");
            Check { name, status: Status::Missing, found, needed_for, fix: Some(fix(error)) }
        }
    }
}

/// Opens a descriptor as a program without privileges may, and asks for asynchronous write protection.
fn try_userfaultfd() -> Result<(), Errno> {
    const API: u64 = 0xaa;
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::from_bits_retain(UFFD_USER_MODE_ONLY);
    // SAFETY: no memory is registered with the descriptor, so no fault is ever left to it.
    let descriptor = unsafe { rustix::mm::userfaultfd(flags)? };
    let mut api = uffdio_api { api: API, features: u64::from(UFFD_FEATURE_WP_ASYNC), ioctls: 0 };
    const UFFDIO_API: ioctl::Opcode = opcode::read_write::<uffdio_api>(API as u8, 0x3f);
    // SAFETY: this is the struct that the call reads and fills.
    unsafe { ioctl::ioctl(&descriptor, Updater::<UFFDIO_API, _>::new(&mut api))? };
    if api.features & u64::from(UFFD_FEATURE_WP_ASYNC) == 0 { Err(Errno::INVAL) } else { Ok(()) }
}

/// Asks for the state of one page of this process, in the categories that snapshots use.
fn try_pagemap_scan() -> Result<(), Errno> {
    const PAGE: u64 = 4096;
    const PAGEMAP_SCAN: ioctl::Opcode = opcode::read_write::<pm_scan_arg>(b'f', 16);
    let pagemap =
        File::open("/proc/self/pagemap").map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let mut found = page_region { start: 0, end: 0, categories: 0 };
    let start = (&raw const found).addr() as u64 & !(PAGE - 1);
    let categories = u64::from(PAGE_IS_WPALLOWED | PAGE_IS_WRITTEN | PAGE_IS_PRESENT);
    let mut scan = pm_scan_arg {
        size: size_of::<pm_scan_arg>() as u64,
        flags: 0,
        start,
        end: start + PAGE,
        walk_end: 0,
        vec: (&raw mut found).addr() as u64,
        vec_len: 1,
        max_pages: 0,
        category_inverted: 0,
        category_mask: u64::from(PAGE_IS_PRESENT),
        category_anyof_mask: 0,
        return_mask: categories,
    };
    // SAFETY: this is the struct that the call reads and updates; the one region that it may write is `found`, which
    // lives until the call is over.
    unsafe { ioctl::ioctl(&pagemap, Updater::<PAGEMAP_SCAN, _>::new(&mut scan)) }
}

/// Asks whether filters can trap, and installs one that allows everything.
fn try_seccomp() -> Result<(), Errno> {
    on_a_thread(|| {
        let action: u32 = libc::SECCOMP_RET_TRAP;
        // SAFETY: the kernel reads four bytes, which are there.
        let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
        succeeded(result)?;
        rustix::thread::set_no_new_privs(true)?;
        let allow = libc::BPF_RET | libc::BPF_K;
        let mut filter = [libc::sock_filter { code: allow as u16, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }];
        let program = libc::sock_fprog { len: 1, filter: filter.as_mut_ptr() };
        // SAFETY: the kernel copies the filter, which is alive; it allows every call, and ends with this thread.
        let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
        succeeded(result)
    })
}

/// Whether user code may write the FS base.
fn has_fsgsbase() -> bool {
    const HWCAP2_FSGSBASE: usize = 1 << 1;
    cfg!(target_arch = "x86_64") && rustix::param::linux_hwcap().1 & HWCAP2_FSGSBASE != 0
}

/// Turns address randomisation off for what a thread would execute.
fn try_no_aslr() -> Result<(), Errno> {
    const ASK: libc::c_ulong = 0xffff_ffff;
    on_a_thread(|| {
        let wanted = libc::ADDR_NO_RANDOMIZE;
        // SAFETY: the call has no memory argument; the flag only matters for an exec, which this thread does not do.
        unsafe {
            let before = libc::personality(ASK);
            succeeded(before.into())?;
            succeeded(libc::personality((before | wanted) as libc::c_ulong).into())?;
            if libc::personality(ASK) & wanted == 0 { Err(Errno::PERM) } else { Ok(()) }
        }
    })
}

/// Makes the time stamp counter unreadable for a moment.
fn try_tsc() -> Result<(), Errno> {
    on_a_thread(|| {
        rustix::process::set_time_stamp_counter_readability(TimeStampCounterReadability::RaiseSIGSEGV)?;
        // At once, before anything asks for the time: the C library reads the counter for that.
        rustix::process::set_time_stamp_counter_readability(TimeStampCounterReadability::Readable)
    })
}

/// Runs a trial on a thread of its own, which takes what it changed of itself to its end.
fn on_a_thread(trial: impl FnOnce() -> Result<(), Errno> + Send + 'static) -> Result<(), Errno> {
    let thread = thread::Builder::new().name("ordain-doctor".into()).spawn(trial);
    let thread = thread.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
    thread.join().unwrap_or(Err(Errno::IO))
}

/// The error of a call of the C library that returned `result`.
fn succeeded(result: i64) -> Result<(), Errno> {
    if result != -1 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

/// Whether this process has the capability to trace any other.
fn may_trace() -> bool {
    const CAP_SYS_PTRACE: u64 = 1 << 19;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .is_some_and(|set| set & CAP_SYS_PTRACE != 0)
}

/// The version of the C library that this process runs with, which programs run with too.
fn glibc_version() -> Option<String> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the function returns a static string.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        Some(version.to_string_lossy().into_owned())
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

/// The first two numbers of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|character: char| !character.is_ascii_digit()).map(|digits| digits.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn reads_versions_as_kernels_write_them() {
        assert_eq!(version("6.18.44-fc-v445"), Some((6, 18)));
        assert_eq!(version("5.10.0-8-amd64"), Some((5, 10)));
        assert_eq!(version("2.36"), Some((2, 36)));
        assert_eq!(version("6"), None);
        assert_eq!(version("next"), None);
    }
}
