//! All system calls of x86-64, and what other threads of the program can notice of each.
//!
//! A call that changes or asks something that threads share is a step, whatever it is: descriptors, files and signals have models of their own,
//! and for the rest one object for each kind of state is enough. What is asked commutes. A coarse object is right; a missing one is not,
//! because a class would be taken for explored in which another thread asks before the change instead of after it.

/// A kind of state that all threads of a process share, and that the kernel only keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// The mask of new files.
    Mask,
    /// The working directory, and what paths mean.
    Directory,
    /// Limits of resources.
    Limits,
    /// Users, groups and capabilities.
    Credentials,
    /// The process group and the session.
    Session,
    /// Names, priorities, policies and processors: an object for each thread.
    Threads,
    /// What belongs to the descriptor in the first argument: an object for each opening.
    Descriptor,
    /// Options of the process (`prctl`, `personality`).
    Options,
    /// Settings of terminals.
    Terminal,
    /// Names of the system.
    System,
    /// Keys and keyrings.
    Keys,
    /// Keys of thread-specific values, which no system call is about either.
    ValueKeys,
    /// Dispositions of signals, in a program whose threads cannot send any.
    Actions,
    /// Functions that are called when the program ends, which the C library keeps and no system call is about.
    Handlers,
}

/// What other threads can notice of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Nothing: it is about the thread that makes it, or about what no call of the program changes.
    Own,
    /// It is about memory, which is as visible to Ordain as memory is at the level of the check.
    Memory,
    /// It is a step of something that has a model of its own: descriptors, files, queues, signals, threads, processes, time.
    Step,
    /// It asks for state: a step that reads its object.
    Asks(State),
    /// It changes state: a step that writes its object.
    Changes(State),
    /// Its arguments say what it asks or changes.
    Arguments,
    /// It is not followed: nothing is verified if there are other threads.
    Unfollowed,
}

/// What other threads can notice of all system calls.
#[rustfmt::skip]
pub const SHARING: &[(Sharing, &[&str])] = &[
    (Sharing::Own, &[
        "rt_sigreturn", "getpid", "fsync", "fdatasync", "gettimeofday", "getrusage", "sysinfo", "times",
        "getppid", "uselib", "ustat", "sysfs", "sched_get_priority_max",
        "sched_get_priority_min", "_sysctl", "sync", "create_module", "get_kernel_syms", "query_module",
        "nfsservctl", "getpmsg", "putpmsg", "afs_syscall", "tuxcall", "security", "gettid", "readahead", "time",
        "set_thread_area", "get_thread_area", "lookup_dcookie", "epoll_ctl_old", "epoll_wait_old",
        "restart_syscall", "fadvise64", "clock_gettime", "clock_getres", "vserver", "get_robust_list",
        "sync_file_range", "syncfs", "getcpu", "getrandom", "memfd_create", "uretprobe", "uprobe",
        "landlock_create_ruleset", "landlock_add_rule", "cachestat", "lsm_list_modules", "syslog", "reboot",
        "init_module", "delete_module", "kexec_load", "finit_module", "kexec_file_load", "arch_prctl",
        "sigaltstack", "set_tid_address", "set_robust_list", "pkey_alloc", "rseq", "io_uring_setup",
        "io_uring_enter", "io_uring_register", "futex_waitv", "futex_wake", "futex_wait", "futex_requeue",
    ]),
    (Sharing::Memory, &[
        "msync", "mincore", "mlockall", "munlockall", "mmap", "mprotect", "munmap", "mremap", "madvise",
        "mlock", "munlock", "mlock2", "brk", "remap_file_pages", "pkey_mprotect", "pkey_free", "mseal",
        "map_shadow_stack", "membarrier",
    ]),
    (Sharing::Step, &[
        "read", "write", "open", "close", "stat", "fstat", "lstat", "poll", "lseek", "rt_sigaction",
        "rt_sigprocmask", "pread64", "pwrite64", "readv", "writev", "access", "pipe", "select", "sched_yield",
        "dup", "dup2", "pause", "nanosleep", "alarm", "setitimer", "getitimer", "sendfile", "socket", "connect",
        "accept", "sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown", "bind", "listen", "socketpair",
        "clone", "fork", "vfork", "execve", "exit", "wait4", "kill", "semget", "semop", "semctl", "msgget",
        "msgsnd", "msgrcv", "msgctl", "shmget", "shmat", "shmdt", "shmctl", "flock", "truncate", "ftruncate",
        "getdents", "chdir", "fchdir", "rename", "mkdir", "rmdir", "creat", "link", "unlink", "symlink",
        "readlink", "chmod", "fchmod", "chown", "fchown", "lchown", "utime", "utimes", "futimesat", "mknod",
        "rt_sigpending", "rt_sigtimedwait", "rt_sigqueueinfo", "rt_sigsuspend", "setxattr", "lsetxattr",
        "fsetxattr", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
        "removexattr", "lremovexattr", "fremovexattr", "tkill", "tgkill", "futex", "epoll_create", "epoll_wait",
        "epoll_ctl", "getdents64", "semtimedop", "clock_nanosleep", "exit_group", "mq_open", "mq_unlink",
        "mq_timedsend", "mq_timedreceive", "mq_getsetattr", "waitid", "openat", "mkdirat", "mknodat",
        "fchownat", "statfs", "fstatfs", "newfstatat", "unlinkat", "renameat", "linkat", "symlinkat", "readlinkat", "fchmodat",
        "faccessat", "pselect6", "ppoll", "utimensat", "epoll_pwait", "timerfd_create", "eventfd", "fallocate",
        "timerfd_settime", "timerfd_gettime", "accept4", "eventfd2", "epoll_create1", "dup3", "pipe2", "preadv",
        "pwritev", "rt_tgsigqueueinfo", "copy_file_range", "preadv2", "pwritev2", "statx", "openat2",
        "faccessat2", "epoll_pwait2", "execveat", "renameat2", "fchmodat2", "clone3", "close_range",
        "getsockname", "getpeername", "setxattrat", "getxattrat", "listxattrat", "removexattrat",
    ]),
    (Sharing::Changes(State::Mask), &[
        "umask",
    ]),
    (Sharing::Asks(State::Directory), &[
        "getcwd",
    ]),
    (Sharing::Asks(State::Limits), &[
        "getrlimit",
    ]),
    (Sharing::Changes(State::Limits), &[
        "setrlimit",
    ]),
    (Sharing::Asks(State::Credentials), &[
        "getuid", "getgid", "geteuid", "getegid", "getgroups", "getresuid", "getresgid", "capget",
    ]),
    (Sharing::Changes(State::Credentials), &[
        "setuid", "setgid", "setreuid", "setregid", "setgroups", "setresuid", "setresgid", "setfsuid",
        "setfsgid", "capset",
    ]),
    (Sharing::Asks(State::Session), &[
        "getpgrp", "getpgid", "getsid",
    ]),
    (Sharing::Changes(State::Session), &[
        "setpgid", "setsid",
    ]),
    (Sharing::Asks(State::Threads), &[
        "getpriority", "sched_getparam", "sched_getscheduler", "sched_getaffinity", "sched_getattr",
        "sched_rr_get_interval", "ioprio_get",
    ]),
    (Sharing::Changes(State::Threads), &[
        "setpriority", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr",
        "ioprio_set",
    ]),
    (Sharing::Asks(State::Descriptor), &[
        "getsockopt",
    ]),
    (Sharing::Changes(State::Descriptor), &[
        "setsockopt",
    ]),
    (Sharing::Asks(State::System), &[
        "uname",
    ]),
    (Sharing::Changes(State::System), &[
        "sethostname", "setdomainname",
    ]),
    (Sharing::Asks(State::Keys), &[
        "request_key",
    ]),
    (Sharing::Changes(State::Keys), &[
        "add_key", "keyctl",
    ]),
    (Sharing::Arguments, &[
        "ioctl", "fcntl", "prctl", "prlimit64", "personality",
    ]),
    (Sharing::Unfollowed, &[
        "splice", "tee", "vmsplice", "recvmmsg", "sendmmsg", "inotify_init", "inotify_init1",
        "inotify_add_watch", "inotify_rm_watch", "fanotify_init", "fanotify_mark", "signalfd", "signalfd4",
        "timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete", "mq_notify",
        "ptrace", "process_vm_readv", "process_vm_writev", "io_setup", "io_destroy", "io_getevents",
        "io_submit", "io_cancel", "io_pgetevents", "pidfd_open", "pidfd_getfd", "pidfd_send_signal",
        "userfaultfd", "perf_event_open", "bpf", "chroot", "pivot_root", "unshare", "setns", "mount", "umount2",
        "move_mount", "mount_setattr", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick",
        "name_to_handle_at", "open_by_handle_at", "file_getattr", "file_setattr", "kcmp", "modify_ldt",
        "seccomp", "landlock_restrict_self", "lsm_set_self_attr", "settimeofday", "clock_settime", "adjtimex",
        "clock_adjtime", "vhangup", "acct", "swapon", "swapoff", "quotactl", "quotactl_fd", "iopl", "ioperm",
        "memfd_secret", "set_mempolicy", "get_mempolicy", "mbind", "migrate_pages", "move_pages",
        "set_mempolicy_home_node", "process_madvise", "process_mrelease", "statmount", "listmount",
        "lsm_get_self_attr",
    ]),
];

/// What other threads can notice of a system call. One that is not known may change anything.
pub fn sharing(number: i64) -> Sharing {
    let (_, name) = crate::system_call(number);
    let known = SHARING.iter().find(|(_, calls)| calls.contains(&name));
    known.map_or(Sharing::Unfollowed, |(sharing, _)| *sharing)
}
