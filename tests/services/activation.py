"""Starts programs as systemd does with a socket unit: listening sockets as descriptors from 3 on, meant for that process."""

import asyncio
import os
import socket
import sys
from collections.abc import Mapping, Sequence

_EXECUTE = """
import os, sys
numbers = [int(text) for text in sys.argv[1].split(",")]
spare = [os.dup(number) for number in numbers]  # none of them is in the place of another
high = [os.dup2(number, 100 + at) for at, number in enumerate(spare)]
for at, number in enumerate(high):
    os.dup2(number, 3 + at)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(numbers)))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


async def activated(
    words: Sequence[str], listening: Sequence[socket.socket], environment: Mapping[str, str], folder: str
) -> asyncio.subprocess.Process:
    """Start `python` with these words and the sockets."""
    numbers = [one.fileno() for one in listening]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", _EXECUTE, ",".join(map(str, numbers)), *words,
        cwd=folder, env={**os.environ, **environment}, pass_fds=numbers,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
