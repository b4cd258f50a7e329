"""Placeholder for the functions worker: it waits until a project has its first function.

    python -P -m workers.functions.placeholder FOLDER [DEPLOYED]

It imports nothing but the standard library, so it needs a quarter of the worker's memory. It becomes the worker when the
folder holds a function, when a function was deployed into the blob store of this machine (`DEPLOYED`), or when a gateway
publishes on NATS that a client wants to deploy one. Becoming the worker means `exec`: same process id, same supervisor. In a
process forked from one that has loaded the worker's code (`broker/processes/fork_server.py`) it calls the worker instead.

The placeholder reports itself ready at once, because a platform without functions is ready. If it cannot connect to NATS in this
simple way (TLS, several servers), it does not wait but becomes the worker at once.

While waiting it writes the heartbeat of `broker/processes/heartbeat.py`; the worker inherits the pipe.
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
WAKE_SUBJECT = "health.functions.wanted"
"""The same subject as `broker.subjects.FUNCTIONS_WAKE`."""
_WORKER, _TITLE = "workers.__main__", "broker.processes.title"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_ENTRYPOINTS = ("index.ts", "index.js", "index.mjs", "index.jsx", "index.tsx")
_READY_FD = "HEADWATER_READY_FD"
_READY, _ALIVE, _LOADING = b"ready\n", b"alive\n", b"loading\n"
"""The lines of `broker/processes/heartbeat.py`, repeated here because this program imports no module of ours."""
_BROKER = "HEADWATER_BROKER_URL"
_CONNECT_S = 2.0
_RETRY_S = 2.0


def has_function(folder: str, deployed: str = "") -> bool:
    """Return whether a folder of functions contains one, or a function or secret was deployed."""
    return any(
        _NAME.fullmatch(name)
        and any(os.path.isfile(os.path.join(folder, name, file)) for file in _ENTRYPOINTS)
        for name in _names(folder)
    ) or bool(deployed and _names(deployed))


class WakeListener:
    """Minimal NATS client that waits for a message on `WAKE_SUBJECT`, and answers requests there.

    A request (a message with a reply subject) asks whether a placeholder waits here; it is answered and does not wake it.
    `is_unusable`: this client cannot talk to such a broker.
    """

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self.is_unusable = bool(url) and (parts.scheme != "nats" or "," in url)
        self._address = (
            (parts.hostname, parts.port or 4222) if parts.hostname and not self.is_unusable else None
        )
        options = {
            "verbose": False,
            "pedantic": False,
            "name": "functions-waiting",
            "lang": "python",
            "version": "1",
        }
        if parts.username:
            user, password = urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")
            options |= {"user": user, "pass": password} if parts.password else {"auth_token": user}
        self._greeting = f"CONNECT {json.dumps(options)}\r\nSUB {WAKE_SUBJECT} 1\r\nPING\r\n".encode()
        self._socket: socket.socket | None = None
        self._received = b""
        self._retry_at = 0.0

    def wait(self, seconds: float) -> bool:
        """Wait for a message, at most so long; return whether the wake-up message came."""
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
        *lines, self._received = (self._received + data).split(b"\r\n")
        return any([self._handle(line) for line in lines])

    def _handle(self, line: bytes) -> bool:
        """Handle one line of the server; return whether it is the wake-up message. Source: NATS client protocol."""
        answer = b""
        match line.split():
            case [b"INFO", *_] if b'tls_required":true' in line:
                self.is_unusable = True
            case [b"-ERR", *_]:
                self.is_unusable = True
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
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received = None, b""

    def _connect(self) -> None:
        if self._address is None or time.monotonic() < self._retry_at:
            return
        self._retry_at = time.monotonic() + _RETRY_S
        try:
            self._socket = socket.create_connection(self._address, _CONNECT_S)
            self._socket.sendall(self._greeting)
        except OSError:
            self.close()


def main() -> int:
    """Wait for the first function, then become the worker."""
    folder, deployed = sys.argv[1], "".join(sys.argv[2:3])
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    parent = os.getppid()
    listener = WakeListener(os.environ.get(_BROKER, ""))
    if not listener.is_unusable and not has_function(folder, deployed):
        _report(_READY)
    while not listener.is_unusable and not has_function(folder, deployed) and not listener.wait(EVERY_S):
        _report(_ALIVE)
        if os.getppid() != parent:  # the supervisor has exited
            return 0
    _report(_LOADING)
    listener.close()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _become_worker([sys.executable, "-P", "-m", "workers", "functions"])


def preload(_: Sequence[str]) -> None:
    """Import the worker's code in the process that placeholders are forked from."""
    importlib.import_module(_WORKER).preload(["functions"])
    importlib.import_module(_TITLE)


def _become_worker(argv: list[str]) -> int:
    """Replace this program with the worker by `exec`, or run the worker here if its code is loaded; return its exit code."""
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
    """Write a line into the supervisor's pipe; exit if the supervisor has exited."""
    number = os.environ.get(_READY_FD, "")
    if not number.isdigit():
        return
    try:
        os.set_blocking(int(number), False)
        os.write(int(number), line)
    except BrokenPipeError:
        sys.exit(0)
    except BlockingIOError:  # the reader is slow, and the pipe already holds enough lines
        pass


if __name__ == "__main__":
    sys.exit(main())
