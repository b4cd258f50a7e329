"""Copies of trees of files, and trees that share their files."""

import os
from pathlib import Path

import pytest

from broker.processes.file_copies import copy_file, copy_tree, flush_file_system, link_tree


def tree(folder: Path) -> Path:
    """Make a small tree."""
    (folder / "inner" / "empty").mkdir(parents=True)
    (folder / "a").write_bytes(b"a" * 100_000)
    (folder / "inner" / "b").write_bytes(b"b")
    (folder / "out").symlink_to("/etc/passwd")
    return folder


def test_a_tree_is_copied_without_what_is_left_out(tmp_path: Path):
    source = tree(tmp_path / "source")
    (source / "left").write_text("out")

    copied = copy_tree(source, tmp_path / "target", lambda path: path == "left")

    assert sorted(str(path.relative_to(tmp_path / "target")) for path in (tmp_path / "target").rglob("*")) == [
        "a", "inner", "inner/b", "inner/empty",
    ]  # fmt: skip
    assert (copied.files, copied.size) == (2, 100_001)
    assert (tmp_path / "target" / "a").read_bytes() == b"a" * 100_000
    assert (tmp_path / "target" / "a").stat().st_mode & 0o777 == 0o600
    assert copied.cloned in (0, copied.size)
    flush_file_system(tmp_path / "target")
    with pytest.raises(FileNotFoundError):
        flush_file_system(tmp_path / "gone")


def test_a_file_that_is_gone_is_no_error(tmp_path: Path):
    assert copy_file(tmp_path / "gone", tmp_path / "copy") is None
    assert not (tmp_path / "copy").exists()


def test_linked_files_are_one_until_a_name_gets_another_file(tmp_path: Path):
    source, target = tree(tmp_path / "source"), tmp_path / "target"
    target.mkdir()

    assert link_tree(source, target) == 2
    assert link_tree(source, target) == 0
    assert (target / "a").samefile(source / "a")
    (target / "draft").write_bytes(b"new")
    os.replace(target / "draft", target / "a")
    (target / "inner" / "b").unlink()
    assert (source / "a").read_bytes() == b"a" * 100_000
    assert (source / "inner" / "b").read_bytes() == b"b"
