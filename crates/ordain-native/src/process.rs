//! Starting a program under control, and waiting for it without ever hanging.

use crate::shared::Shared;
use crate::view::View;
use ordain_check::Limit;
use ordain_check::count_child;
use ordain_wire::{IMAGE_FD, LOADER_ENVIRONMENT, Mode, SHARED_FD, Status, Turn};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::thread::futex;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::time::{Duration, Instant};

/// The runtime that is preloaded into programs.
const IMAGE: &[u8] = include_bytes!(env!("ORDAIN_PRELOAD"));

/// The runtime that is preloaded into programs, as a shared library: for tests of what it exports.
#[doc(hidden)]
pub fn runtime_image() -> &'static [u8] {
    IMAGE
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// Variables to add to the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads from standard input; nothing if not told.
    pub input: Vec<u8>,
}

/// Variables that programs get from the environment of the launcher; everything else is left out, so that an execution does
/// not depend on it.
const INHERITED: [&str; 7] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "TERM"];

/// What sanitizers are asked for in programs that are built with them: what they notice ends the program where it is noticed; the runtime may
/// come before them; and leaks are not looked for, which would need a thread that is not the program's.
const SANITIZERS: [(&str, &str); 3] = [
    ("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0:abort_on_error=1"),
    ("UBSAN_OPTIONS", "halt_on_error=1:abort_on_error=1:print_stacktrace=1"),
    ("LSAN_OPTIONS", "detect_leaks=0"),
];

/// A process under control.
pub(crate) struct Process {
    child: Child,
    output: [File; 2],
    /// The heartbeat when it last changed, when that was, and how much processor time had been used then, by the program and to lead its threads.
    beat: (u64, Instant, Duration, Duration),
    /// It has ended, and its number is free.
    waited_for: bool,
}

/// What a wait ended with.
#[derive(Debug)]
pub(crate) enum Waited {
    /// The runtime has given the turn.
    Turn,
    /// The process is gone.
    Ended(ExitStatus),
    /// Nothing happened for too long, and the process does not answer any more.
    Stuck,
    /// The limit was reached, and the process did not come back in time.
    Over,
}

/// How long a program may do nothing that is visible.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Time of the processor.
    pub busy: Duration,
    /// Time by the clock, if it does not run at all.
    pub blocked: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { busy: Duration::from_secs(2), blocked: Duration::from_secs(10) }
    }
}

fn anonymous_file(name: &str, contents: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all(contents)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

impl Process {
    /// Starts the program; it stops at main.
    pub(crate) fn start(
        launch: &Launch,
        shared: &Shared,
        mode: Mode,
        pool: u32,
        debugged: bool,
        view: Option<Arc<View>>,
    ) -> io::Result<Self> {
        let control = shared.control();
        control.mode.store(mode);
        control.pool.store(pool, Relaxed);
        control.debugged.store(debugged.into(), Relaxed);
        control.status.store(Status::None);
        control.hang.store(0, Relaxed);
        // Nobody hears anything before main.
        control.carrier.store(0, Relaxed);
        control.turn.store(Turn::RUNTIME, SeqCst);
        let image = anonymous_file("ordain-preload", IMAGE)?;
        let input = anonymous_file("input", &launch.input)?;
        let output = [anonymous_file("output", &[])?, anonymous_file("errors", &[])?];
        let mut command = Command::new(&launch.program);
        command.args(&launch.arguments);
        command.env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let for_loader = |name: &str| {
            LOADER_ENVIRONMENT.iter().find_map(|own| own.to_str().ok()?.strip_prefix(name)?.strip_prefix('='))
        };
        for name in ["LD_BIND_NOW", "GLIBC_TUNABLES"] {
            command.env(name, for_loader(name).unwrap_or_default());
        }
        // Threads of OpenMP programs spin before they wait, which only takes time here.
        command.env("GOMP_SPINCOUNT", "0").env("OMP_WAIT_POLICY", "passive");
        command.envs(launch.environment.iter().map(|(k, v)| (k, v)));
        for (name, options) in SANITIZERS {
            let own = launch.environment.iter().rev().find(|(variable, _)| variable == name);
            let mut options = OsString::from(options);
            if let Some((_, own)) = own {
                // Later options win.
                options.push(":");
                options.push(own);
            }
            command.env(name, options);
        }
        command.env("LD_PRELOAD", for_loader("LD_PRELOAD").unwrap_or_default());
        command.stdin(Stdio::from(input));
        command.stdout(Stdio::from(output[0].try_clone()?));
        command.stderr(Stdio::from(output[1].try_clone()?));
        command.process_group(0);
        let (shared_fd, image_fd) = (shared.descriptor(), image.as_raw_fd());
        let process = std::ptr::from_ref(&control.process) as usize;
        let parent = std::process::id() as i32;
        // SAFETY: only system calls and a store to shared memory happen between fork and exec.
        unsafe {
            command.pre_exec(move || {
                view.as_ref().map_or(Ok(()), |view| view.enter())?;
                prepare(shared_fd, image_fd, process, parent, debugged)
            });
        }
        let child = command.spawn()?;
        Ok(Self { child, output, beat: (0, Instant::now(), Duration::ZERO, Duration::ZERO), waited_for: false })
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Gives the runtime the turn, to come back at once if the limit is reached.
    pub(crate) fn give_turn(&mut self, shared: &Shared, limit: &Limit) {
        let control = shared.control();
        control.stop.store(limit.is_over().into(), Relaxed);
        control.turn.store(Turn::RUNTIME, SeqCst);
        let _ = futex::wake(&control.turn, futex::Flags::empty(), 1);
    }

    /// Waits until the runtime gives the turn, or ends. At the limit it is asked to.
    pub(crate) fn wait(&mut self, shared: &Shared, patience: Patience, limit: &Limit) -> io::Result<Waited> {
        let control = shared.control();
        let mut told = None;
        let mut late: Option<Instant> = None;
        self.beat = (control.heartbeat.load(Relaxed), Instant::now(), Duration::ZERO, Duration::ZERO);
        let mut first = true;
        while control.turn.load(Acquire) != Turn::LAUNCHER {
            match late {
                None if limit.is_over() => {
                    control.stop.store(1, Relaxed);
                    late = Some(Instant::now());
                }
                Some(since) if since.elapsed() > limit.grace() => return Ok(Waited::Over),
                _ => {}
            }
            let tick = futex::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            if control.turn.load(Acquire) > Turn::RUNTIME {
                // The program has written over it.
                return Ok(Waited::Stuck);
            }
            match futex::wait(&control.turn, futex::Flags::empty(), Turn::RUNTIME, Some(&tick)) {
                Err(rustix::io::Errno::TIMEDOUT) => {}
                _ => continue,
            }
            if self.has_ended()? {
                // What it has started and left in its group ends with it, as long as nobody else can have its number.
                // SAFETY: signals to the process group that we started.
                unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
                self.waited_for = true;
                count_child(self.child.id());
                let status = self.child.wait()?;
                // It may have given the turn just before.
                return Ok(if control.turn.load(Acquire) == Turn::LAUNCHER {
                    Waited::Turn
                } else {
                    Waited::Ended(status)
                });
            }
            let carrier = self.carrier(shared);
            let (beat, used) = (control.heartbeat.load(Relaxed), time_used(carrier));
            let led = Duration::from_nanos(control.led.load(Relaxed));
            if beat != self.beat.0 || first {
                self.beat = (beat, Instant::now(), used, led);
                (first, told) = (false, None);
                continue;
            }
            let idle = self.beat.1.elapsed();
            // Leading threads one by one takes longer than what they do.
            let used = used.saturating_sub(self.beat.2).saturating_sub(led.saturating_sub(self.beat.3));
            let hangs = used > patience.busy || idle > patience.blocked;
            match told {
                None if hangs => {
                    // Before main nobody would hear it.
                    if control.carrier.load(Relaxed) <= 0 {
                        return Ok(Waited::Stuck);
                    }
                    // Who is stopped cannot say that it hangs.
                    let stopped = control.debugged.load(Relaxed) == 0
                        && [carrier, self.child.id() as i32].into_iter().any(is_stopped);
                    control.hang.store(if stopped { 2 } else { 1 }, SeqCst);
                    signal(carrier, libc::SIGVTALRM);
                    if stopped {
                        signal(self.child.id() as i32, libc::SIGCONT);
                        signal(carrier, libc::SIGCONT);
                    }
                    told = Some(Instant::now());
                }
                Some(since) if since.elapsed() > Duration::from_secs(2) => return Ok(Waited::Stuck),
                _ => {}
            }
        }
        Ok(Waited::Turn)
    }

    /// Whether it has ended. It is not waited for, so that its number stays its own.
    fn has_ended(&self) -> io::Result<bool> {
        let Some(id) = Pid::from_raw(self.child.id() as i32) else { return Ok(true) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(id), options)?.is_some())
    }

    /// The process that runs the program: the one that was started, or its child in fork mode. What the runtime says is not believed: the
    /// program may have written over it, or has not come to main.
    fn carrier(&self, shared: &Shared) -> i32 {
        let (own, told) = (self.child.id() as i32, shared.control().carrier.load(Relaxed));
        if told > 0 && parent_of(told) == Some(own) { told } else { own }
    }

    /// What the last execution wrote to standard output (0) or standard error (1).
    pub(crate) fn output(&mut self, which: usize, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = File::open(format!("/proc/self/fd/{}", self.output[which].as_raw_fd()))?;
        (&mut file).take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let id = self.child.id() as i32;
        // Once it was waited for, its number may be that of another process.
        if !self.waited_for && id > 1 {
            end_descendants(id);
            // SAFETY: signals to the process group that we started; its leader was not waited for, so the number is not used again.
            unsafe { libc::kill(-id, libc::SIGKILL) };
        }
        let _ = self.child.kill();
        if !self.waited_for {
            count_child(id as u32);
        }
        let _ = self.child.wait();
    }
}

/// Between fork and exec: addresses are not random, and the process ends with the launcher.
fn prepare(shared: i32, image: i32, process: usize, parent: i32, debugged: bool) -> io::Result<()> {
    // SAFETY: system calls; `process` is the address of an atomic in shared memory that is mapped here too.
    unsafe {
        let persona = libc::personality(0xffff_ffff);
        if persona < 0 || libc::personality((persona | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if debugged {
            // A debugger that is no parent of the program may attach, where the system asks. It fails where it does not.
            libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        }
        if libc::getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // What the launcher happened to inherit is none of the program's business, and would differ from run to run.
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        for (from, to) in [(shared, SHARED_FD), (image, IMAGE_FD)] {
            if libc::dup2(from, to) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        (*(process as *const std::sync::atomic::AtomicI32)).store(libc::getpid(), SeqCst);
    }
    Ok(())
}

/// Signals one process of our own: nobody else, and no group, whatever the number.
fn signal(process: i32, signal: i32) {
    if process > 1 {
        // SAFETY: a signal to one process; if that is gone, there is an error and nothing else.
        unsafe { libc::kill(process, signal) };
    }
}

/// What the kernel says of a process, behind its name: state, parent, group, session, …
fn fields_of(process: i32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

fn parent_of(process: i32) -> Option<i32> {
    fields_of(process)?.get(1)?.parse().ok()
}

/// Whether a signal has stopped a process.
fn is_stopped(process: i32) -> bool {
    fields_of(process).is_some_and(|fields| fields.first().is_some_and(|state| state == "T"))
}

/// Processor time that a process has used.
fn time_used(process: i32) -> Duration {
    let fields = fields_of(process).unwrap_or_default();
    let ticks: u64 = fields.iter().skip(11).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Ends everything that a process which was started here has started. It takes over what its children leave behind, so nothing gets
/// away as long as it is there; meanwhile it is stopped.
fn end_descendants(root: i32) {
    /// Who makes processes faster than they are ended is not waited for.
    const MOST_ROUNDS: usize = 100;
    if let Ok(children) = std::fs::read(format!("/proc/{root}/task/{root}/children"))
        && children.is_empty()
    {
        return;
    }
    signal(root, libc::SIGSTOP);
    for _ in 0..MOST_ROUNDS {
        let descendants = descendants_of(root);
        if descendants.is_empty() {
            break;
        }
        descendants.iter().for_each(|process| signal(*process, libc::SIGKILL));
    }
}

/// The processes below one that still run.
fn descendants_of(root: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let known: Vec<(i32, i32, bool)> = numbers
        .filter_map(|process| {
            let fields = fields_of(process)?;
            let ended = matches!(fields.first()?.as_str(), "Z" | "X");
            Some((process, fields.get(1)?.parse().ok()?, ended))
        })
        .collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(known.iter().filter(|(_, p, _)| *p == parent).map(|(process, ..)| *process));
        next += 1;
    }
    let runs = |process: &i32| known.iter().any(|(p, _, ended)| p == process && !ended);
    family.into_iter().skip(1).filter(runs).collect()
}

/// How a process ended, for messages.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (_, Some(signal)) => format!("signal {signal} ended it"),
        _ => "it ended".into(),
    }
}
