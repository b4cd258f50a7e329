"""Definitions that are read from the file of an earlier start are those that would be compiled."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from broker.processes.definition_cache import DefinitionCache

_PROGRAM = """
import re, sys
from dataclasses import dataclass
from pathlib import Path
from broker.processes.definition_cache import stored_definitions

with stored_definitions("here", Path(sys.argv[1])) as cache:
    @dataclass(frozen=True, slots=True, order=True)
    class Pair:
        left: int
        right: str = "r"

    patterns = [
        re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})", re.ASCII),
        re.compile(rb"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})"),
        re.compile(r"stra(?:ss|ß)e", re.IGNORECASE),
        re.compile(r"stra(?:ss|ß)e"),
        re.compile(rb"(?L)[a-z]"),
    ]
print(len(cache.new))
try:
    Pair(1).left = 2
except AttributeError as error:
    print(type(error).__name__)
print(Pair(2), Pair(2) == Pair(2), hash(Pair(2)) == hash(Pair(2)), Pair(1) < Pair(2), Pair(1) < Pair(1, "s"))
print([found and (found.groupdict(), found.span()) for found in (
    patterns[0].search("on 2026-11"), patterns[1].search(b"on 2026-11"), patterns[2].search("STRASSE"), patterns[3].search("STRASSE"),
    patterns[4].search(b"x"))])
print(patterns[0].flags, patterns[2], patterns[1].pattern)
import dataclasses
print(hasattr(dataclasses, "exec"), re._compiler._sre.compile is sys.modules["_sre"].compile, re._compiler.compile.__module__)
"""


def _load(folder: Path) -> tuple[int, str]:
    """Load the definitions in a process of its own; return how many were new, and what they are."""
    command = [sys.executable, "-c", _PROGRAM, str(folder)]
    environment = {
        "PYTHONPATH": str(Path(__file__).parents[3])
    }  # without what forbids to write compiled code
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    new, _, text = done.stdout.partition("\n")
    return int(new), text


def test_a_later_start_compiles_nothing_and_defines_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "cache"  # it is created
    new, first = _load(folder)
    again, second = _load(folder)

    assert new > 8
    assert again == 0
    assert first == second
    assert "FrozenInstanceError" in first
    assert "Pair(left=2, right='r') True True True True" in first
    assert (
        "[({'year': '2026', 'month': '11'}, (3, 10)), ({'year': b'2026', 'month': b'11'}, (3, 10))" in first
    )
    assert re.search(
        r"\(\{\}, \(0, 7\)\), None, \(\{\}, \(0, 1\)\)\]", first
    )  # flags and kind are in the key
    assert first.endswith("False True re._compiler\n")  # nothing stays replaced


def test_a_file_that_is_damaged_or_of_another_interpreter_is_replaced(tmp_path: Path) -> None:
    new, text = _load(tmp_path)
    (path,) = tmp_path.glob("here.*.definitions")
    whole = path.read_bytes()
    for content in (whole[:-1], whole[:40], b"", whole.replace(sys.version.encode()[:6], b"9.99.9", 1)):
        path.write_bytes(content)
        assert _load(tmp_path) == (new, text)
        assert path.read_bytes() == whole


def test_a_few_that_are_new_at_each_start_do_not_grow_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "here.definitions"

    def start(keys: range) -> int:
        cache = DefinitionCache(path)
        for key in keys:
            if cache.get(b"%d" % key) is None:
                cache.add(b"%d" % key, key)
        cache.save()
        return path.stat().st_size

    size = start(range(200))

    assert start(range(204)) == size
    assert start(range(205)) > size
    assert DefinitionCache(path).get(b"204") == 204
