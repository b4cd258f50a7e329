"""A place-holder for the functions worker: while a project has no functions, this waits for the first one.

    python -P -m workers.functions.waiting FOLDER [DEPLOYED]

It loads nothing but the standard library, so it takes a fourth of the worker's memory. When the folder holds a function,
when one was deployed into the blob store of this machine (`DEPLOYED`), or when a door says on the broker that somebody
wants to deploy one, it becomes the worker: same process, same supervisor, by `exec`, or, forked from a process that has the
worker's code (`broker/processes/fork_server.py`), by calling it. One that is ready at once says so for
the worker's sake: a platform without functions is ready. Where it cannot listen to the broker it does not wait.

While it waits it gives the signs of life of `broker/processes/heartbeat.py`; the worker inherits the pipe for its own.
"""

import contextlib
import importlib
import json
import os
import re
import select
import signal
import socket
import sys
import time
import urllib.parse
from collections.abc import Sequence

EVERY_S = 0.5
WANTED = "health.functions.wanted"
"""As `broker.subjects.FUNCTIONS_WAKE`."""
_WORKER, _TITLE = "workers.__main__", "broker.processes.title"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_ENTRYPOINTS = ("index.ts", "index.js", "index.mjs", "index.jsx", "index.tsx")
_READY_FD = "HEADWATER_READY_FD"
_READY, _ALIVE, _LOADING = b"ready\n", b"alive\n", b"loading\n"
"""What `broker/processes/heartbeat.py` writes; spelled here again, because this program imports nothing of ours."""
_BROKER = "HEADWATER_BROKER_URL"
_CONNECT_S = 2.0
_AGAIN_S = 2.0


def has_function(folder: str, deployed: str = "") -> bool:
    """Tell whether a folder of functions holds one, or one or a secret was deployed."""
    return any(
        _NAME.fullmatch(name)
        and any(os.path.isfile(os.path.join(folder, name, each)) for each in _ENTRYPOINTS)
        for name in _names(folder)
    ) or bool(deployed and _names(deployed))


class Ear:
    """Listens on the broker for the one word, and answers whoever asks whether somebody waits here.

    `is_deaf`: there is no such broker for so plain a client.
    """

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self.is_deaf = bool(url) and (parts.scheme != "nats" or "," in url)
        self._address = (parts.hostname, parts.port or 4222) if parts.hostname and not self.is_deaf else None
        told = {
            "verbose": False,
            "pedantic": False,
            "name": "functions-waiting",
            "lang": "python",
            "version": "1",
        }
        if parts.username:
            user, password = urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")
            told |= {"user": user, "pass": password} if parts.password else {"auth_token": user}
        self._hello = f"CONNECT {json.dumps(told)}\r\nSUB {WANTED} 1\r\nPING\r\n".encode()
        self._socket: socket.socket | None = None
        self._heard = b""
        self._again_at = 0.0

    def hears(self, seconds: float) -> bool:
        """Listen for so long; tell whether the word was said."""
        if self._socket is None:
            self._connect()
        if self._socket is None:
            time.sleep(seconds)
            return False
        if not select.select([self._socket], [], [], seconds)[0]:
            return False
        try:
            data = self._socket.recv(4096)
        except OSError:
            data = b""
        if not data:
            self.close()
            return False
        *lines, self._heard = (self._heard + data).split(b"\r\n")
        return any([self._obeys(line) for line in lines])

    def _obeys(self, line: bytes) -> bool:
        """Do what a line of the server asks for; tell whether it is the word. Source: NATS protocol, client."""
        answer = b""
        match line.split():
            case [b"INFO", *_] if b'tls_required":true' in line:
                self.is_deaf = True
            case [b"-ERR", *_]:
                self.is_deaf = True
            case [b"PING"]:
                answer = b"PONG\r\n"
            case [b"MSG", _, _, reply, _]:
                answer = b"PUB %b 0\r\n\r\n" % reply
            case [b"MSG", _, _, _]:
                return True
        if answer and self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.sendall(answer)
        return False

    def close(self) -> None:
        """Listen no more."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._heard = None, b""

    def _connect(self) -> None:
        if self._address is None or time.monotonic() < self._again_at:
            return
        self._again_at = time.monotonic() + _AGAIN_S
        try:
            self._socket = socket.create_connection(self._address, _CONNECT_S)
            self._socket.sendall(self._hello)
        except OSError:
            self.close()


def main() -> int:
    """Wait, then become the worker."""
    folder, deployed = sys.argv[1], "".join(sys.argv[2:3])
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    parent = os.getppid()
    ear = Ear(os.environ.get(_BROKER, ""))
    if not ear.is_deaf and not has_function(folder, deployed):
        _report(_READY)
    while not ear.is_deaf and not has_function(folder, deployed) and not ear.hears(EVERY_S):
        _report(_ALIVE)
        if os.getppid() != parent:  # the supervisor is gone
            return 0
    _report(_LOADING)
    ear.close()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _become_worker([sys.executable, "-P", "-m", "workers", "functions"])


def preload(arguments: Sequence[str]) -> None:
    """Import the worker, in the process that this one is forked from."""
    del arguments
    importlib.import_module(_WORKER).preload(["functions"])
    importlib.import_module(_TITLE)


def _become_worker(argv: list[str]) -> int:
    """Replace this program by the worker; return the worker's exit code where its code is here already."""
    worker, title = sys.modules.get(_WORKER), sys.modules.get(_TITLE)
    if worker is None or title is None:
        os.execv(argv[0], argv)  # noqa: S606 - ourselves
    title.show_command(argv)
    sys.argv = argv[3:]
    code: int = worker.main()
    return code


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _report(line: bytes) -> None:
    """Write a line into the supervisor's pipe; exit if the supervisor is gone."""
    number = os.environ.get(_READY_FD, "")
    if not number.isdigit():
        return
    try:
        os.set_blocking(int(number), False)
        os.write(int(number), line)
    except BrokenPipeError:
        sys.exit(0)
    except BlockingIOError:  # the reader is slow; the pipe holds enough signs
        pass


if __name__ == "__main__":
    sys.exit(main())
