"""Limits come from the settings, and a process is held to them."""

import subprocess
import sys
from pathlib import Path

import pytest

from schemas.settings.storage import ImageTransformation
from schemas.settings.types import Size
from workers.images.limits import DecoderLimits, limits_of

ROOT = Path(__file__).resolve().parents[3]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds to the limit of data")


def outcome(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_the_defaults_of_the_settings_are_those_of_the_limits() -> None:
    assert limits_of(ImageTransformation()) == DecoderLimits()


def test_every_limit_can_be_set() -> None:
    settings = ImageTransformation(
        max_source_size=Size(1), max_source_pixels=2, max_frames=3, timeout=4.5, process_memory=Size(5)
    )

    assert limits_of(settings) == DecoderLimits(
        source_bytes=1, source_pixels=2, frames=3, timeout=4.5, memory=5
    )


@LINUX
def test_more_memory_than_the_limit_is_not_given() -> None:
    program = """
from workers.images.limits import bound_memory
bound_memory(200 * 2**20)
try:
    bytearray(400 * 2**20)
except MemoryError:
    print("refused", len(bytearray(50 * 2**20)))
"""

    assert outcome(program) == f"refused {50 * 2**20}"


@LINUX
def test_a_limit_is_only_lowered() -> None:
    program = """
import resource
from workers.images.limits import bound_memory
bound_memory(200 * 2**20)
bound_memory(400 * 2**20)
print(resource.getrlimit(resource.RLIMIT_DATA)[0] >> 20)
"""

    assert outcome(program) == "200"


def test_a_confined_process_leaves_no_dump_and_writes_no_long_file(tmp_path: Path) -> None:
    program = f"""
import os, resource
from workers.images.limits import DecoderLimits, confine
confine(DecoderLimits(result_bytes=1000))
file = os.open({str(tmp_path / "long")!r}, os.O_CREAT | os.O_RDWR)
try:
    written = sum(os.pwrite(file, bytes(400), at) for at in range(0, 4000, 400))
except OSError:
    print("refused", resource.getrlimit(resource.RLIMIT_CORE)[0])
"""

    assert outcome(program) == "refused 0"
