"""Run `headwater` commands by the process that has loaded the platform's code (`loaded_process.py`)."""

import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.commands.requests import CONTROL, REQUEST
from tests.fast import skip_in_fast_run

_ROOT = Path(__file__).parents[2]
_READ = 65536
_TITLE_ROOM = "-" * 2000
"""An argument that leaves room for the command lines that forks show (`broker/processes/title.py`)."""


class LoadedProcess:
    """The connection to a process that forks a command for each request; it ends with this process."""

    def __init__(self) -> None:
        self._control, inherited = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
        with inherited:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.commands.loaded_process", _TITLE_ROOM],
                cwd=_ROOT,
                env={**environment, CONTROL: str(inherited.fileno()), "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                pass_fds=[inherited.fileno()],
                start_new_session=True,
            )

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command and return what it printed. Raises: TimeoutExpired, and kills the command."""
        pipes = [os.pipe() for _ in range(3)]
        self._send(words, environment, folder, [writing for _, writing in pipes], is_program=False)
        output, errors, reply = _read_to_end([reading for reading, _ in pipes], words, timeout_s)
        code = int(reply.split()[1])
        return subprocess.CompletedProcess(list(words), code, output.decode(), errors.decode())

    def start(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
    ) -> "LoadedProgram":
        """Start `python -m WORDS`, whose output is added to `log`."""
        reply, reply_writing = os.pipe()
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._send(words, environment, folder, [output, os.dup(output), reply_writing], is_program=True)
        return LoadedProgram(reply)

    def _send(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        descriptors: Sequence[int],
        *,
        is_program: bool,
    ) -> None:
        """Send an order with the descriptors for output, errors and reply, and close them here."""
        order = {
            "words": list(words),
            "environment": dict(environment),
            "folder": str(folder),
            "is_program": is_program,
        }
        file = os.memfd_create("order", os.MFD_CLOEXEC)
        try:
            os.write(file, json.dumps(order).encode())
            os.lseek(file, 0, os.SEEK_SET)
            socket.send_fds(self._control, [REQUEST], [file, *descriptors])
        finally:
            for descriptor in (file, *descriptors):
                os.close(descriptor)


class LoadedProgram:
    """A program that runs in a fork of the loaded process; what `subprocess.Popen` offers of these names."""

    def __init__(self, reply: int) -> None:
        self._reply = os.fdopen(reply, "rb", buffering=0)
        self.pid = int(self._line())
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self._code is None and select.select([self._reply], [], [], 0)[0]:
            self.wait()
        return self._code

    def wait(self) -> int:
        """Wait for its end and return the exit code."""
        if self._code is None:
            self._code = int(self._line() or -signal.SIGKILL)
            self._reply.close()
        return self._code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _line(self) -> bytes:
        line = bytearray()
        while (octet := self._reply.read(1)) not in (b"", b"\n"):
            line += octet or b""
        return bytes(line)


_lock = threading.Lock()
_loaded: dict[int, LoadedProcess] = {}


def run_loaded(
    words: Sequence[str], environment: Mapping[str, str], folder: Path, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a `headwater` command by the loaded process of this one, which the first call starts."""
    skip_in_fast_run("command")
    return _own_loaded_process().run(words, environment, folder, timeout_s)


def start_loaded(
    words: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
) -> LoadedProgram:
    """Start `python -m WORDS` by the loaded process of this one; its output is added to `log`."""
    skip_in_fast_run("program")
    return _own_loaded_process().start(words, environment, folder, log)


def _own_loaded_process() -> LoadedProcess:
    with _lock:
        if (pid := os.getpid()) not in _loaded:
            _loaded[pid] = LoadedProcess()
        return _loaded[pid]


def _read_to_end(descriptors: Sequence[int], words: Sequence[str], timeout_s: float) -> list[bytes]:
    """Read pipes until all are closed; the last one begins with the process id of the command."""
    texts = {descriptor: bytearray() for descriptor in descriptors}
    deadline = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready and (pid := texts[descriptors[-1]].split()):
                deadline = time.monotonic() + timeout_s
                os.kill(int(pid[0]), signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(words), timeout_s)
            for key, _ in ready:
                if piece := os.read(key.fd, _READ):
                    texts[key.fd] += piece
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [bytes(text) for text in texts.values()]
