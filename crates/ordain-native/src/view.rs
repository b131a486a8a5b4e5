//! A view of the system for one worker: what a program makes there, no other worker sees.
//!
//! It is a mount namespace in which every file system that can be written is covered by an overlay, with what is new in memory, and a
//! namespace for queues, semaphores and shared memory. The kernel lets a program with the right to mount make them; without that right,
//! and where something cannot be covered, there is no view. An overlay differs from what it covers for files that were there before and
//! are changed (one that was opened for reading shows the old contents), so only programs that make new files are given views.

use std::ffi::{CStr, CString};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Directories at which a view is put together; it is seen there by nobody else, and hides what is below.
const PLACES: [&str; 4] = ["/mnt", "/media", "/srv", "/opt"];

/// What a view may hold in memory.
const SIZE: &CStr = c"size=25%";

/// A file system at a path.
struct Covering {
    /// Where it is outside.
    source: CString,
    /// Where it is to be in the view.
    target: CString,
    /// How it is covered; none if both sides share it.
    overlay: Option<Overlay>,
}

/// An overlay over a file system.
struct Overlay {
    options: CString,
    /// Where what is new is kept. The root of the file system has its rights.
    upper: CString,
    mode: u32,
    owner: (u32, u32),
    /// A place that the kernel needs.
    work: CString,
}

impl Overlay {
    fn new(place: &str, number: usize, path: &str, status: &Metadata) -> Option<Self> {
        let [upper, work] = ["new", "work"].map(|what| format!("{place}/{what}{number}"));
        let options = format!("lowerdir={path},upperdir={upper},workdir={work}");
        Some(Self {
            options: CString::new(options).ok()?,
            upper: CString::new(upper).ok()?,
            mode: status.mode() & 0o7777,
            owner: (status.uid(), status.gid()),
            work: CString::new(work).ok()?,
        })
    }
}

/// How to make a view; everything that must be allocated is.
pub(crate) struct View {
    place: CString,
    root: CString,
    /// The root first, then what is below it.
    coverings: Vec<Covering>,
    directory: CString,
}

/// A line of the kernel's list of mounts.
struct Mount {
    path: String,
    kind: String,
    writable: bool,
}

/// What the kernel's list of mounts says, the last one at each path alone.
fn read_mounts(text: &str) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = Vec::new();
    for line in text.lines() {
        let Some((before, behind)) = line.split_once(" - ") else { continue };
        let before: Vec<&str> = before.split(' ').collect();
        let behind: Vec<&str> = behind.split(' ').collect();
        let (Some(path), Some(options), Some(kind)) = (before.get(4), before.get(5), behind.first()) else { continue };
        let is = |options: &str, wanted: &str| options.split(',').any(|option| option == wanted);
        let writable = is(options, "rw") && behind.get(2).is_some_and(|of_system| is(of_system, "rw"));
        mounts.retain(|mount| mount.path != *path);
        mounts.push(Mount { path: (*path).to_owned(), kind: (*kind).to_owned(), writable });
    }
    mounts
}

impl Mount {
    /// Whether files are made there by the kernel alone.
    fn is_of_kernel(&self) -> bool {
        const KINDS: [&str; 9] =
            ["proc", "sysfs", "devtmpfs", "devpts", "mqueue", "hugetlbfs", "autofs", "binfmt_misc", "nsfs"];
        KINDS.contains(&self.kind.as_str()) || ["/proc", "/sys"].iter().any(|above| is_within(&self.path, above))
    }
}

/// Whether a path is another one, or below it.
fn is_within(path: &str, above: &str) -> bool {
    Path::new(path).starts_with(above)
}

impl View {
    /// A view of the system as it is now; `None` if it cannot be made here.
    pub(crate) fn of_system() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let directory = std::env::current_dir().ok()?;
        Self::new(&read_mounts(&text), &directory)
    }

    fn new(mounts: &[Mount], directory: &Path) -> Option<Self> {
        let is_free = |place: &str| Path::new(place).is_dir() && !mounts.iter().any(|m| is_within(&m.path, place));
        let place = PLACES.into_iter().find(|place| is_free(place))?;
        let root = format!("{place}/root");
        let mut coverings: Vec<Covering> = Vec::new();
        let mut shared: Vec<&str> = Vec::new();
        let mut mounts: Vec<&Mount> = mounts.iter().collect();
        mounts.sort_by(|a, b| a.path.cmp(&b.path));
        for mount in mounts {
            // Characters that mean something in options of overlays, or that the kernel writes in another way.
            if mount.path.contains(['\\', ':', ',']) {
                return None;
            }
            let covered = mount.writable && !mount.is_of_kernel();
            if !covered && shared.iter().any(|above| is_within(&mount.path, above)) {
                // It comes along with what is above it.
                continue;
            }
            let Ok(status) = std::fs::symlink_metadata(&mount.path) else { continue };
            let overlay = match covered {
                false => None,
                // A file that is a mount of its own cannot be covered.
                true if !status.is_dir() => return None,
                true => Some(Overlay::new(place, coverings.len(), &mount.path, &status)?),
            };
            if overlay.is_none() {
                shared.push(&mount.path);
            }
            let target = if mount.path == "/" { root.clone() } else { format!("{root}{}", mount.path) };
            let [source, target] = [mount.path.as_str(), target.as_str()].map(CString::new);
            coverings.push(Covering { source: source.ok()?, target: target.ok()?, overlay });
        }
        if coverings.first().is_none_or(|root| root.source.as_bytes() != b"/" || root.overlay.is_none()) {
            return None;
        }
        Some(Self {
            place: CString::new(place).ok()?,
            root: CString::new(root).ok()?,
            coverings,
            directory: CString::new(directory.as_os_str().as_bytes()).ok()?,
        })
    }

    /// Makes the view, and goes there. Between fork and exec: there are system calls, and nothing else.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let null = std::ptr::null();
        let check = |result: i64| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        let make = |path: &CStr| {
            // SAFETY: a path that ends with a zero.
            check(unsafe { libc::mkdir(path.as_ptr(), 0o755) }.into())
        };
        let mount = |source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong, options: *const libc::c_char| {
            // SAFETY: strings that end with a zero; the mounts are seen by this process and what it starts alone.
            check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.cast()) }.into())
        };
        // SAFETY: system calls on this process, which has one thread.
        unsafe {
            check(libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWIPC).into())?;
            mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE, null)?;
            mount(c"ordain", &self.place, c"tmpfs", 0, SIZE.as_ptr())?;
            make(&self.root)?;
            for covering in &self.coverings {
                match &covering.overlay {
                    Some(overlay) => {
                        let upper = overlay.upper.as_ptr();
                        make(&overlay.upper)?;
                        check(libc::chown(upper, overlay.owner.0, overlay.owner.1).into())?;
                        check(libc::chmod(upper, overlay.mode).into())?;
                        make(&overlay.work)?;
                        mount(c"overlay", &covering.target, c"overlay", 0, overlay.options.as_ptr())?;
                    }
                    None => mount(&covering.source, &covering.target, c"none", libc::MS_BIND | libc::MS_REC, null)?,
                }
            }
            check(libc::chdir(self.root.as_ptr()).into())?;
            check(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
            check(libc::umount2(c".".as_ptr(), libc::MNT_DETACH).into())?;
            check(libc::chdir(self.directory.as_ptr()).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
22 27 0:21 / /proc rw,relatime - proc proc rw
24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw
25 24 0:23 / /dev/shm rw,relatime shared:4 - tmpfs tmpfs rw
26 24 0:24 / /dev/pts rw,relatime - devpts devpts rw
23 27 0:22 / /sys rw,relatime - sysfs sysfs rw
30 23 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw
31 27 0:26 / /usr ro,relatime - ext4 /dev/vdb rw
";

    fn described(list: &str) -> Option<Vec<String>> {
        let view = View::new(&read_mounts(list), Path::new("/"))?;
        let line = |c: &Covering| {
            format!("{} {}", c.source.to_string_lossy(), if c.overlay.is_some() { "own" } else { "shared" })
        };
        Some(view.coverings.iter().map(line).collect())
    }

    #[test]
    fn what_can_be_written_is_covered_and_what_the_kernel_makes_is_shared() {
        let expected = ["/ own", "/dev shared", "/dev/shm own", "/proc shared", "/sys shared", "/usr shared"];
        assert_eq!(described(LIST).expect("a view"), expected);
    }

    #[test]
    fn there_is_no_view_of_what_cannot_be_covered() {
        let file = format!("{LIST}40 27 0:9 / /proc/self/mountinfo rw - ext4 /dev/vda rw\n");
        assert!(described(&file).is_some(), "files of the kernel are shared");
        assert!(described(&format!("{LIST}40 27 0:9 / /etc/passwd rw - ext4 /dev/vda rw\n")).is_none());
        assert!(described(&format!("{LIST}40 27 0:9 / /data\\040x rw - ext4 /dev/vda rw\n")).is_none());
        assert!(described(&LIST.replace("/ / rw,relatime - ext4", "/ / ro,relatime - ext4")).is_none());
    }
}
