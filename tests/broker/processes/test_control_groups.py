"""Which control group is ours to divide, told from what the kernel shows of a process."""

from pathlib import Path

import pytest

from broker.processes.control_groups import (
    Delegation,
    GroupMount,
    GroupState,
    choose_delegation,
    find_delegation,
    group_path,
    locate_group,
    read_mounts,
)

ALL = frozenset({"cpuset", "cpu", "io", "memory", "pids"})
HYBRID = """31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
CONTAINER = (
    "812 800 0:27 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup rw,nsdelegate\n"
)
BOUND = "9 1 0:27 /docker/a\\040b /mnt/c\\040g rw - cgroup2 cgroup rw\n"


def test_the_path_of_a_process_is_that_of_version_2() -> None:
    assert group_path("4:memory:/x\n1:cpu:/\n0::/user.slice/a.service\n") == "/user.slice/a.service"
    assert group_path("4:memory:/x\n") is None


def test_mounts_are_read_with_their_blanks() -> None:
    assert read_mounts(HYBRID) == [GroupMount("/", "/sys/fs/cgroup/unified")]
    assert read_mounts(CONTAINER) == [GroupMount("/", "/sys/fs/cgroup")]
    assert read_mounts(BOUND) == [GroupMount("/docker/a b", "/mnt/c g")]
    assert read_mounts("") == []


@pytest.mark.parametrize(
    ("path", "root", "folder"),
    [
        ("/", "/", "/m"), ("/a/b", "/", "/m/a/b"), ("/docker/x", "/docker/x", "/m"), ("/docker/x/y", "/docker/x", "/m/y"),
        ("/docker/xy", "/docker/x", None), ("/other", "/docker/x", None),
    ],
)  # fmt: skip
def test_a_group_lies_where_a_mount_shows_it(path: str, root: str, folder: str | None) -> None:
    found = locate_group(path, [GroupMount(root, "/m")])

    assert found == (None if folder is None else (Path(folder), Path("/m")))


def group(**more: bool) -> GroupState:
    return GroupState(Path("/g/own"), ALL, is_writable=True, **more)


def above(**more: bool) -> GroupState:
    return GroupState(Path("/g"), ALL, is_writable=True, **more)


@pytest.mark.parametrize(
    ("own", "parent", "folder"),
    [
        (group(is_top=True), None, "/g/own"),
        (group(is_edge=True), None, "/g/own"),
        (group(is_delegated=True), above(), "/g/own"),
        (group(), above(is_delegated=True), "/g"),
        (group(), above(is_edge=True), "/g"),
    ],
    ids=["the whole machine", "a container", "a service", "below a service", "below a container's root"],
)
def test_a_delegated_group_is_chosen(own: GroupState, parent: GroupState | None, folder: str) -> None:
    found = choose_delegation(own, parent)

    assert found == Delegation(Path(folder), frozenset({"memory", "pids", "cpu"}), own.is_top)


@pytest.mark.parametrize(
    ("own", "parent", "words"),
    [
        (group(), above(), "not delegated"),
        (group(), above(is_top=True), "not delegated"),
        (group(), None, "not delegated"),
        (GroupState(Path("/g"), ALL, is_edge=True), None, "cannot be written"),
        (GroupState(Path("/g"), frozenset({"hugetlb"}), is_writable=True, is_top=True), None, "no memory controller"),
        (GroupState(Path("/g"), frozenset({"pids"}), is_writable=True, is_delegated=True), None, "no memory controller"),
    ],
    ids=["another's", "root, below another's", "alone", "read-only", "version 1 has them", "not handed down"],
)  # fmt: skip
def test_any_other_group_is_left_alone(own: GroupState, parent: GroupState | None, words: str) -> None:
    found = choose_delegation(own, parent)

    assert isinstance(found, str)
    assert words in found


def test_this_machine_is_looked_at_without_changing_it() -> None:
    first = find_delegation()

    assert first == find_delegation()
    assert find_delegation(2**22 + 1) == "this system has no control groups"
