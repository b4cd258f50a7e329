"""On a terminal nothing that a tenant wrote is obeyed."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from services.cli.terminal import shown

HOSTILE = "seen\x1b[2J\x1b]52;c;aGk=\x07 \rover \x9b8m \u202eb"


def _on_terminal(*words: str) -> str:
    """Run a command whose output is a terminal; return what the terminal gets."""
    terminal, inner = pty.openpty()
    command = [sys.executable, "-P", "-m", "services.cli.main", *words]
    process = subprocess.Popen(command, stdout=inner, stderr=inner, stdin=subprocess.DEVNULL)
    os.close(inner)
    output = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux: the program has closed its side
            break
        if not piece:
            break
        output += piece
    os.close(terminal)
    assert process.wait() == 0, output
    return output.decode()


def test_a_log_that_a_tenant_wrote_moves_no_cursor(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    line = "LOG:  " + HOSTILE.replace("\r", "")
    (logs / "postgres.log").write_text(f"{line}\n")

    printed = _on_terminal("logs", "--data", str(tmp_path), "--service", "postgres")

    assert printed == f"{shown(line)}\r\n"
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("text", "terminal"),
    [
        (HOSTILE, r"seen\x1b[2J\x1b]52;c;aGk=\x07 \rover \x9b8m \u202eb"),
        ("\x1b[33mwarning\x1b[0m", "\x1b[33mwarning\x1b[0m"),  # as click colours
        ("\x1b[8mhidden", r"\x1b[8mhidden"),
        ("a\tb\nc\r\n\u00e4", "a\tb\nc\r\n\u00e4"),
    ],
)
def test_what_a_terminal_gets(text: str, terminal: str) -> None:
    assert shown(text) == terminal
