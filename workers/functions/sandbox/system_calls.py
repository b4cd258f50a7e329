"""The system calls that functions do not need, with their numbers on the two architectures that Deno supports.

The filter (`system_call_filter.py`) denies them. Each gives access to other processes, or bypasses the file rules of Landlock
(`chmod`, extended attributes, times: Landlock does not restrict them), or allocates memory that no limit counts (System V
segments, message queues), or enters a part of the kernel with a history of vulnerabilities that a JavaScript runtime never uses.

Numbers: x86_64, then aarch64; None if the architecture lacks the call or the call is newer than our tables.
Source: Linux, asm/unistd_64.h and asm-generic/unistd.h.
"""

Numbers = tuple[int | None, int | None]

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""By machine name: the column in the tables, and the AUDIT_ARCH value that the kernel reports."""

SOCKET, BIND, LISTEN = (41, 198), (49, 200), (50, 201)
CLONE, CLONE3 = (56, 220), (435, 435)
SECCOMP = (317, 277)
SENDTO, SENDMSG, SENDMMSG = (44, 206), (46, 211), (307, 269)
OPEN, OPENAT = (2, None), (257, 56)
MKDIR, MKDIRAT = (83, None), (258, 34)

OF_ONE_PROCESS: dict[str, Numbers] = {
    "kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "prlimit64": (302, 261),
}  # fmt: skip
"""Calls whose first argument is a process id: allowed only for the process itself (and 0, its own group)."""

ABSENT: dict[str, Numbers] = {
    "clone3": CLONE3,  # its flags are in memory, which a filter cannot read; the C library falls back to clone
    "openat2": (437, 437),  # its flags are in memory, too
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "landlock_create_ruleset": (444, 444), "memfd_secret": (447, 447), "process_mrelease": (448, 448),
    "set_mempolicy_home_node": (450, 450), "fchmodat2": (452, 452), "open_tree_attr": (467, 467),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip
"""Answered with ENOSYS, as a kernel without them does."""

REFUSED: dict[str, Numbers] = {
    # other processes
    "fork": (57, None), "vfork": (58, None), "execveat": (322, 281), "tkill": (200, 130),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "kcmp": (312, 272), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "setpriority": (141, 140), "sched_setaffinity": (203, 122), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "sched_setattr": (314, 274), "ioprio_set": (251, 30),
    "migrate_pages": (256, 238), "move_pages": (279, 239),
    # namespaces, mounts
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51),
    # access to files that Landlock does not restrict
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "creat": (85, None), "link": (86, None), "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36),
    "truncate": (76, 45), "mknod": (133, None), "mknodat": (259, 33),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "acct": (163, 89),
    # memory and messages outside of processes, or not counted by any limit
    "memfd_create": (319, 279),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # the kernel itself
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "sethostname": (170, 161), "setdomainname": (171, 162),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266), "personality": (135, 92),
    "syslog": (103, 116), "vhangup": (153, 58), "uselib": (134, None), "sysfs": (139, None),
    "lookup_dcookie": (212, 18), "vmsplice": (278, 75),
}  # fmt: skip
"""Answered with EPERM."""
