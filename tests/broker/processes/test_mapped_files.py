"""Pages of files that a process lets go of: only unchanged ones of mappings that cannot be written."""

import subprocess
import sys

import pytest

from broker.processes.mapped_files import unchanged_ranges

_FIGURES = "Size: 8 kB\nRss: 8 kB\nAnonymous: {changed} kB\nVmFlags: rd mr mw me\n"
_RUN = """
import hashlib, json, ssl
from pathlib import Path
from broker.processes.mapped_files import release_file_pages

def file_kb():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Shared_Clean:", "Private_Clean:")))

def work():
    return [hashlib.sha256(b"x").hexdigest(), json.dumps({"a": [1.5]}), ssl.create_default_context().check_hostname]

before, first = file_kb(), work()
release_file_pages()
after = file_kb()
assert work() == first
print(before, after)
"""


def smaps(head: str, changed: int = 0) -> list[str]:
    """Return the lines of one mapping."""
    return [f"{line}\n" for line in (head + "\n" + _FIGURES.format(changed=changed)).splitlines()]


@pytest.mark.parametrize(
    ("head", "changed", "ranges"),
    [
        ("7f10000-7f12000 r-xp 00001000 fe:00 77   /usr/lib/libc.so.6", 0, [(0x7F10000, 0x2000)]),
        ("7f10000-7f12000 r--p 00001000 fe:00 77   /usr/lib/a b.so", 0, [(0x7F10000, 0x2000)]),
        ("7f10000-7f12000 r--p 00001000 fe:00 77   /usr/lib/libc.so.6", 4, []),
        ("7f10000-7f12000 rw-p 00001000 fe:00 77   /usr/lib/libc.so.6", 0, []),
        ("7f10000-7f12000 r--s 00001000 fe:00 77   /run/shared", 0, []),
        ("7f10000-7f12000 r--p 00000000 00:00 0 ", 0, []),
        ("7f10000-7f12000 r-xp 00000000 00:00 0    [vdso]", 0, []),
    ],
)
def test_only_unchanged_pages_of_files_are_released(head, changed, ranges):
    other = smaps("6f10000-6f12000 rw-p 00000000 00:00 0 ", 8)

    assert list(unchanged_ranges([*other, *smaps(head, changed), *other])) == ranges


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the pages of a process")
def test_a_process_works_on_without_the_pages():
    done = subprocess.run([sys.executable, "-c", _RUN], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())

    assert after < before / 2
