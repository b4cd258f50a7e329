"""A real browser, driven over the DevTools protocol: it opens a page, and reports what the page did."""

import contextlib
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.browser.program import FLAGS, require_chromium

_ADDRESS = re.compile(r"DevTools listening on (ws://\S+)")
_TIMEOUT_S = 60.0


@dataclass(slots=True)
class Page:
    """One tab. `requests` are the addresses that it asked for, `dialogs` what its scripts showed."""

    _browser: "Chromium"
    session: str
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    is_loaded: bool = False

    def open(self, url: str) -> None:
        """Open an address and wait until it is loaded."""
        self.is_loaded = False
        self._browser.send("Page.navigate", self.session, url=url)
        self.wait(lambda: self.is_loaded)

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page; an error is its text."""
        answer = self._browser.send("Runtime.evaluate", self.session, expression=script, returnByValue=True)
        thrown = answer.get("exceptionDetails")
        return thrown["exception"]["description"] if thrown else answer["result"].get("value")

    def wait(self, is_there: Callable[[], bool], seconds: float = _TIMEOUT_S) -> bool:
        """Take events until a condition holds; return whether it does."""
        until = time.monotonic() + seconds
        while not is_there() and time.monotonic() < until:
            self._browser.take_event(0.2)
        return is_there()

    def take(self, method: str, about: dict[str, Any]) -> None:
        """Note an event of this tab."""
        match method:
            case "Page.loadEventFired":
                self.is_loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(about["message"])


@dataclass(slots=True)
class Chromium:
    """A running browser."""

    _socket: ClientConnection
    _count: int = 0
    _pages: dict[str, Page] = field(default_factory=dict)

    def page(self) -> Page:
        """Open a tab."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Network", "Runtime"):
            self.send(f"{domain}.enable", session)
        return page

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come first are noted."""
        self._count += 1
        identity = self._count
        about = {"sessionId": session} if session else {}
        self._socket.send(json.dumps({"id": identity, "method": method, "params": parameters, **about}))
        while True:
            message = json.loads(self._socket.recv(timeout=_TIMEOUT_S))
            if message.get("id") == identity:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def take_event(self, seconds: float) -> None:
        """Note one event, if one comes in time."""
        with contextlib.suppress(TimeoutError):
            self._note(json.loads(self._socket.recv(timeout=seconds)))

    def _note(self, message: dict[str, Any]) -> None:
        page = self._pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.take(message["method"], message["params"])


@contextlib.contextmanager
def chromium() -> Iterator[Chromium]:
    """Run a browser with a new profile."""
    program = require_chromium()
    with tempfile.TemporaryDirectory(prefix="headwater-browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            found = next((match for line in process.stderr if (match := _ADDRESS.search(line))), None)
            assert found is not None, "the browser did not start"
            with connect(found[1], max_size=None, proxy=None) as socket:
                browser = Chromium(socket)
                yield browser
                with contextlib.suppress(Exception):
                    browser.send("Browser.close")
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()
