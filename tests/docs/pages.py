"""The code blocks of pages, and a shell to run them in."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.platform import Platform

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def block(page: str, kind: str, holding: str) -> str:
    """Give the one code block of a kind that holds a text."""
    (found,) = [text for each, text in _BLOCK.findall(page) if each == kind and holding in text]
    return found


def shell(running_platform: Platform, folder: Path, *lines: str) -> str:
    """Run lines in bash, with the command `headwater` meaning the platform of the test."""
    command = (
        f'headwater() {{ "{sys.executable}" -P -m services.cli.main "$@" --data "{running_platform.data}"; }}'
    )
    done = subprocess.run(
        ["bash", "-c", "\n".join(["set -e", command, *lines])],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
