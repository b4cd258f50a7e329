"""What the kernel takes from a function's process: files, system calls, users, memory (Landlock, seccomp, cgroup v2)."""
