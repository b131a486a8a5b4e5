//! All system calls of x86-64, and what each leaves behind.
//!
//! In snapshot mode one process runs one execution after the other, so nothing that a call changes may be there in the next. Calls
//! that are neither [`Class::Pure`] nor [`Class::Outside`] come back from the kernel to the runtime, wherever they are made.

/// What a system call leaves behind, and what is done about it in snapshot mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing but contents of memory, new mappings and new descriptors, which are put back after every execution.
    Pure,
    /// Changes outside of the process: files, other processes, the system. No mode undoes that.
    Outside,
    /// A step of the model, or answered without the kernel.
    Modelled,
    /// Changes something that is put back when its arguments allow it; otherwise the program leaves snapshot mode.
    PutBack(&'static str),
    /// What the program does with it cannot be undone: it leaves snapshot mode, for this reason.
    Leaves(&'static str),
    /// Fails in every mode, as on a kernel that does not have it.
    Absent,
}

/// All system calls by class, with their numbers and names.
#[rustfmt::skip]
pub const SYSTEM_CALLS: &[(Class, &[(u16, &str)])] = &[
    (Class::Pure, &[
        (0, "read"), (4, "stat"), (5, "fstat"), (6, "lstat"), (7, "poll"), (8, "lseek"), (14, "rt_sigprocmask"),
        (15, "rt_sigreturn"), (17, "pread64"), (19, "readv"), (21, "access"), (22, "pipe"), (23, "select"),
        (26, "msync"), (27, "mincore"), (32, "dup"), (34, "pause"), (35, "nanosleep"), (36, "getitimer"),
        (39, "getpid"), (40, "sendfile"), (41, "socket"), (42, "connect"), (43, "accept"), (45, "recvfrom"),
        (47, "recvmsg"), (48, "shutdown"), (50, "listen"), (51, "getsockname"), (52, "getpeername"),
        (53, "socketpair"), (54, "setsockopt"), (55, "getsockopt"), (61, "wait4"), (63, "uname"), (65, "semop"),
        (67, "shmdt"), (69, "msgsnd"), (70, "msgrcv"), (73, "flock"), (74, "fsync"), (75, "fdatasync"),
        (78, "getdents"), (79, "getcwd"), (89, "readlink"), (96, "gettimeofday"), (97, "getrlimit"),
        (98, "getrusage"), (99, "sysinfo"), (100, "times"), (102, "getuid"), (104, "getgid"), (107, "geteuid"),
        (108, "getegid"), (110, "getppid"), (111, "getpgrp"), (115, "getgroups"), (118, "getresuid"),
        (120, "getresgid"), (121, "getpgid"), (124, "getsid"), (125, "capget"), (127, "rt_sigpending"),
        (128, "rt_sigtimedwait"), (134, "uselib"), (136, "ustat"), (137, "statfs"), (138, "fstatfs"), (139, "sysfs"),
        (146, "sched_get_priority_max"), (147, "sched_get_priority_min"), (148, "sched_rr_get_interval"),
        (156, "_sysctl"), (162, "sync"), (174, "create_module"), (177, "get_kernel_syms"), (178, "query_module"),
        (180, "nfsservctl"), (181, "getpmsg"), (182, "putpmsg"), (183, "afs_syscall"), (184, "tuxcall"),
        (185, "security"), (186, "gettid"), (187, "readahead"), (191, "getxattr"), (192, "lgetxattr"),
        (193, "fgetxattr"), (194, "listxattr"), (195, "llistxattr"), (196, "flistxattr"), (201, "time"),
        (205, "set_thread_area"), (211, "get_thread_area"), (212, "lookup_dcookie"), (213, "epoll_create"),
        (214, "epoll_ctl_old"), (215, "epoll_wait_old"), (217, "getdents64"), (219, "restart_syscall"),
        (220, "semtimedop"), (221, "fadvise64"), (228, "clock_gettime"), (229, "clock_getres"),
        (230, "clock_nanosleep"), (232, "epoll_wait"), (233, "epoll_ctl"), (234, "tgkill"), (236, "vserver"),
        (239, "get_mempolicy"), (242, "mq_timedsend"), (243, "mq_timedreceive"), (245, "mq_getsetattr"),
        (247, "waitid"), (253, "inotify_init"), (254, "inotify_add_watch"), (255, "inotify_rm_watch"),
        (262, "newfstatat"), (267, "readlinkat"), (269, "faccessat"), (270, "pselect6"), (271, "ppoll"),
        (274, "get_robust_list"), (275, "splice"), (276, "tee"), (277, "sync_file_range"), (278, "vmsplice"),
        (281, "epoll_pwait"), (283, "timerfd_create"), (284, "eventfd"), (286, "timerfd_settime"),
        (287, "timerfd_gettime"), (288, "accept4"), (290, "eventfd2"), (291, "epoll_create1"), (293, "pipe2"),
        (294, "inotify_init1"), (295, "preadv"), (298, "perf_event_open"), (299, "recvmmsg"), (300, "fanotify_init"),
        (301, "fanotify_mark"), (303, "name_to_handle_at"), (304, "open_by_handle_at"), (306, "syncfs"),
        (309, "getcpu"), (310, "process_vm_readv"), (312, "kcmp"), (318, "getrandom"), (319, "memfd_create"),
        (324, "membarrier"), (327, "preadv2"), (332, "statx"), (335, "uretprobe"), (336, "uprobe"),
        (428, "open_tree"), (430, "fsopen"), (431, "fsconfig"), (432, "fsmount"), (433, "fspick"),
        (434, "pidfd_open"), (438, "pidfd_getfd"), (439, "faccessat2"), (441, "epoll_pwait2"),
        (444, "landlock_create_ruleset"), (445, "landlock_add_rule"), (447, "memfd_secret"), (451, "cachestat"),
        (453, "map_shadow_stack"), (457, "statmount"), (458, "listmount"), (459, "lsm_get_self_attr"),
        (461, "lsm_list_modules"), (464, "getxattrat"), (465, "listxattrat"), (467, "open_tree_attr"),
        (468, "file_getattr"),
    ]),
    (Class::Outside, &[
        (1, "write"), (2, "open"), (18, "pwrite64"), (20, "writev"), (29, "shmget"), (31, "shmctl"), (44, "sendto"),
        (46, "sendmsg"), (49, "bind"), (62, "kill"), (64, "semget"), (66, "semctl"), (68, "msgget"), (71, "msgctl"),
        (76, "truncate"), (77, "ftruncate"), (82, "rename"), (83, "mkdir"), (84, "rmdir"), (85, "creat"),
        (86, "link"), (87, "unlink"), (88, "symlink"), (90, "chmod"), (91, "fchmod"), (92, "chown"), (93, "fchown"),
        (94, "lchown"), (103, "syslog"), (129, "rt_sigqueueinfo"), (132, "utime"), (133, "mknod"), (159, "adjtimex"),
        (163, "acct"), (164, "settimeofday"), (165, "mount"), (166, "umount2"), (167, "swapon"), (168, "swapoff"),
        (169, "reboot"), (170, "sethostname"), (171, "setdomainname"), (175, "init_module"), (176, "delete_module"),
        (179, "quotactl"), (188, "setxattr"), (189, "lsetxattr"), (190, "fsetxattr"), (197, "removexattr"),
        (198, "lremovexattr"), (199, "fremovexattr"), (200, "tkill"), (227, "clock_settime"), (235, "utimes"),
        (240, "mq_open"), (241, "mq_unlink"), (246, "kexec_load"), (257, "openat"), (258, "mkdirat"),
        (259, "mknodat"), (260, "fchownat"), (261, "futimesat"), (263, "unlinkat"), (264, "renameat"),
        (265, "linkat"), (266, "symlinkat"), (268, "fchmodat"), (280, "utimensat"), (285, "fallocate"),
        (296, "pwritev"), (297, "rt_tgsigqueueinfo"), (305, "clock_adjtime"), (307, "sendmmsg"),
        (311, "process_vm_writev"), (313, "finit_module"), (316, "renameat2"), (320, "kexec_file_load"), (321, "bpf"),
        (326, "copy_file_range"), (328, "pwritev2"), (429, "move_mount"), (437, "openat2"), (442, "mount_setattr"),
        (443, "quotactl_fd"), (448, "process_mrelease"), (452, "fchmodat2"), (463, "setxattrat"),
        (466, "removexattrat"), (469, "file_setattr"),
    ]),
    (Class::Modelled, &[
        (24, "sched_yield"), (60, "exit"), (140, "getpriority"), (141, "setpriority"), (142, "sched_setparam"),
        (143, "sched_getparam"), (144, "sched_setscheduler"), (145, "sched_getscheduler"), (151, "mlockall"),
        (152, "munlockall"), (202, "futex"), (203, "sched_setaffinity"), (204, "sched_getaffinity"),
        (231, "exit_group"), (251, "ioprio_set"), (252, "ioprio_get"), (314, "sched_setattr"), (315, "sched_getattr"),
    ]),
    (Class::PutBack("descriptors that were open when main began"), &[
        (3, "close"), (16, "ioctl"), (33, "dup2"), (72, "fcntl"), (292, "dup3"), (436, "close_range"),
    ]),
    (Class::PutBack("mappings, but not those that were there when main began"), &[
        (9, "mmap"), (10, "mprotect"), (11, "munmap"), (25, "mremap"), (28, "madvise"), (30, "shmat"), (149, "mlock"),
        (150, "munlock"), (325, "mlock2"),
    ]),
    (Class::PutBack("the size of its heap"), &[
        (12, "brk"),
    ]),
    (Class::PutBack("its working directory"), &[
        (80, "chdir"), (81, "fchdir"),
    ]),
    (Class::PutBack("the mask of new files"), &[
        (95, "umask"),
    ]),
    (Class::PutBack("nothing, because only asking is allowed"), &[
        (135, "personality"), (154, "modify_ldt"), (158, "arch_prctl"), (317, "seccomp"),
    ]),
    (Class::PutBack("names and attributes of threads"), &[
        (157, "prctl"),
    ]),
    (Class::PutBack("limits of resources"), &[
        (160, "setrlimit"), (302, "prlimit64"),
    ]),
    (Class::Leaves("changes actions or stacks of signals by system calls of its own"), &[
        (13, "rt_sigaction"), (130, "rt_sigsuspend"), (131, "sigaltstack"), (282, "signalfd"), (289, "signalfd4"),
    ]),
    (Class::Leaves("sets timers by system calls of its own"), &[
        (37, "alarm"), (38, "setitimer"), (222, "timer_create"), (223, "timer_settime"), (224, "timer_gettime"),
        (225, "timer_getoverrun"), (226, "timer_delete"), (244, "mq_notify"),
    ]),
    (Class::Leaves("makes child processes"), &[
        (56, "clone"), (57, "fork"), (58, "vfork"), (435, "clone3"),
    ]),
    (Class::Leaves("becomes another program"), &[
        (59, "execve"), (322, "execveat"),
    ]),
    (Class::Leaves("traces processes"), &[
        (101, "ptrace"),
    ]),
    (Class::Leaves("changes its user, its groups or its capabilities"), &[
        (105, "setuid"), (106, "setgid"), (113, "setreuid"), (114, "setregid"), (116, "setgroups"),
        (117, "setresuid"), (119, "setresgid"), (122, "setfsuid"), (123, "setfsgid"), (126, "capset"),
    ]),
    (Class::Leaves("changes its process group or session"), &[
        (109, "setpgid"), (112, "setsid"),
    ]),
    (Class::Leaves("hangs up its terminal"), &[
        (153, "vhangup"),
    ]),
    (Class::Leaves("changes its root or its namespaces"), &[
        (155, "pivot_root"), (161, "chroot"), (272, "unshare"), (308, "setns"),
    ]),
    (Class::Leaves("changes its rights to ports of devices"), &[
        (172, "iopl"), (173, "ioperm"),
    ]),
    (Class::Leaves("uses asynchronous input and output of the kernel"), &[
        (206, "io_setup"), (207, "io_destroy"), (208, "io_getevents"), (209, "io_submit"), (210, "io_cancel"),
        (333, "io_pgetevents"),
    ]),
    (Class::Leaves("changes where its memory is"), &[
        (216, "remap_file_pages"), (237, "mbind"), (238, "set_mempolicy"), (256, "migrate_pages"),
        (279, "move_pages"), (323, "userfaultfd"), (329, "pkey_mprotect"), (331, "pkey_free"),
        (440, "process_madvise"), (450, "set_mempolicy_home_node"), (462, "mseal"),
    ]),
    (Class::Leaves("changes what the kernel knows of its threads"), &[
        (218, "set_tid_address"), (273, "set_robust_list"),
    ]),
    (Class::Leaves("uses keyrings"), &[
        (248, "add_key"), (249, "request_key"), (250, "keyctl"),
    ]),
    (Class::Leaves("sends signals through descriptors"), &[
        (424, "pidfd_send_signal"),
    ]),
    (Class::Leaves("restricts itself"), &[
        (446, "landlock_restrict_self"), (460, "lsm_set_self_attr"),
    ]),
    (Class::Absent, &[
        (330, "pkey_alloc"), (334, "rseq"), (425, "io_uring_setup"), (426, "io_uring_enter"),
        (427, "io_uring_register"), (449, "futex_waitv"), (454, "futex_wake"), (455, "futex_wait"),
        (456, "futex_requeue"),
    ]),
];

/// The class of a system call, and its name. A call that is not known may change anything.
pub fn system_call(number: i64) -> (Class, &'static str) {
    for (class, calls) in SYSTEM_CALLS {
        if let Some((_, name)) = calls.iter().find(|(n, _)| i64::from(*n) == number) {
            return (*class, name);
        }
    }
    (Class::Leaves("makes a system call that is not known"), "unknown")
}

impl Class {
    /// Whether calls of this class are made without asking the runtime.
    pub fn is_free(self) -> bool {
        matches!(self, Self::Pure | Self::Outside)
    }
}
