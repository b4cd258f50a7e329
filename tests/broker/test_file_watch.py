"""A file that is watched: what counts as a change."""

import asyncio
import os
from pathlib import Path

import pytest

from broker import file_watch
from broker.file_watch import FileWatch


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("one")
    return path


def test_a_file_that_stays_as_it_is_has_not_changed(file: Path) -> None:
    watch = FileWatch(file)

    assert not watch.has_changed()


def test_a_change_is_told_once(file: Path) -> None:
    watch = FileWatch(file)
    file.write_text("other")

    assert [watch.has_changed(), watch.has_changed()] == [True, False]


def test_a_file_that_was_replaced_has_changed_even_with_equal_times(file: Path) -> None:
    watch = FileWatch(file)
    before = file.stat()
    (file.parent / "new").write_text("two")
    os.utime(file.parent / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (file.parent / "new").replace(file)

    assert watch.has_changed()


def test_a_change_between_making_the_watch_and_reading_is_seen(file: Path) -> None:
    watch = FileWatch(file)
    file.write_text("something else")
    file.read_text()

    assert watch.has_changed()


def test_a_file_that_is_gone_has_not_changed_and_one_that_comes_has(file: Path) -> None:
    watch = FileWatch(file)
    file.unlink()
    assert not watch.has_changed()

    file.write_text("back again")
    assert watch.has_changed()


async def test_looks_are_repeated_until_the_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "EVERY_S", 0.001)
    watch, seen = FileWatch(file), asyncio.Event()
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if watch.has_changed():
            seen.set()

    watch.start(look)
    file.write_text("changed")
    await asyncio.wait_for(seen.wait(), 60)
    await watch.stop()

    count = looks
    await asyncio.sleep(0)
    assert looks == count


async def test_a_watch_that_never_started_can_be_stopped(file: Path) -> None:
    await FileWatch(file).stop()
