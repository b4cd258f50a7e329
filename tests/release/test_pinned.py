"""What `scripts/pinned` prints for an image with further extras."""

import subprocess
import sys


def _pinned(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "scripts/pinned", *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_an_image_has_the_extras_that_its_build_argument_names() -> None:
    plain, more, wrong = _pinned("image"), _pinned("image", "streams"), _pinned("image", "steams")

    added = {
        line.partition("==")[0] for line in set(more.stdout.splitlines()) - set(plain.stdout.splitlines())
    }
    assert added == {"aiokafka", "pyarrow", "pyiceberg"}
    assert (plain.returncode, more.returncode, wrong.returncode) == (0, 0, 1)
    assert "There is no extra steams" in wrong.stderr
