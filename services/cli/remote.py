"""The platform that a command sends requests to, here or elsewhere: its address and its service key."""

import contextlib
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from services.cli.options import platform_options, refuse, running_platform
from services.supervisor.loopback_tls import context_for

F = TypeVar("F", bound=Callable[..., Any])

_TIMEOUT_S = 180.0
_AWAKE_S = 30.0
_AGAIN_S = 0.3
_PASSING = (408, 429)
"""A request that was too slow, or one of too many, is tried again."""


class NoWorker(Exception):
    """No functions worker answers behind the gateway; the text is the platform's answer."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A platform behind its gateway."""

    url: str
    key: str = field(repr=False)

    def ask(self, method: str, path: str, body: object = None, *, content: str = "application/json") -> Any:
        """Send a request as the service role and return the answer's JSON; exit with the platform's error text if it fails."""
        try:
            return self.try_ask(method, path, body, content=content)
        except NoWorker as error:
            refuse(f"The platform refused: {error}", code=1)

    def try_ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = "application/json",
        awake_s: float = _AWAKE_S,
    ) -> Any:
        """Send a request as `ask` does. Raises: NoWorker if functions are switched off, or no worker answers in time.

        A platform without functions needs a moment until it has a worker for the first one.
        """
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        deadline = time.monotonic() + awake_s
        while True:
            try:
                with self._open(method, path, data, content) as answer:
                    return json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                with error:
                    answer_body = error.read()
                if error.code == 501 or (error.code == 503 and b"STORE_" not in answer_body):
                    if error.code == 501 or time.monotonic() > deadline:
                        raise NoWorker(_message(answer_body)) from None
                else:
                    refuse(f"The platform refused: {_message(answer_body)}", code=1)
                time.sleep(_AGAIN_S)
            except (OSError, ValueError, http.client.HTTPException) as error:
                refuse(f"The platform does not answer: {error or type(error).__name__}", code=1)

    def wait_for(self, path: str, awake_s: float = _AWAKE_S) -> bool:
        """Send POST requests with an empty object until one is answered with 2xx; return whether that happened in time.

        A functions worker that starts answers 503, and one that has not seen a new folder yet 404.
        """
        deadline = time.monotonic() + awake_s
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), self._open("POST", path, b"{}", "application/json"):
                return True
            time.sleep(_AGAIN_S)
        return False

    def lines(self, method: str, path: str, body: object = None) -> Iterator[dict[str, Any]]:
        """Yield the objects of a response that arrives line by line. Raises: OSError when the connection is lost.

        Exits with the platform's error text if it rejects the request.
        """
        data = None if body is None else json.dumps(body).encode()
        try:
            with self._open(method, path, data, "application/json") as answer:
                for line in answer:
                    if line.strip():
                        yield json.loads(line)
        except urllib.error.HTTPError as error:
            with error:
                if error.code < 500 and error.code not in _PASSING:
                    refuse(f"The platform refused: {_message(error.read())}", code=1)
            raise
        except (ValueError, http.client.HTTPException):  # it ended amid a line, or amid a chunk
            raise ConnectionAbortedError("the connection was lost") from None

    def _open(self, method: str, path: str, body: bytes | None, content: str) -> Any:
        headers = {"apikey": self.key, "Authorization": f"Bearer {self.key}", "Content-Type": content}
        request = urllib.request.Request(self.url.rstrip("/") + path, body, headers, method=method)  # noqa: S310 - http or https: `remote_of`
        return urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context_for(self.url))  # noqa: S310 - as above


def remote_options(function: F) -> F:
    """Add `--url` and `--key`, which name a platform elsewhere, to the options that name one here."""
    url = click.option(
        "--url", envvar="HEADWATER_URL", metavar="URL",
        help="A platform elsewhere, by the address of its gateway.  [default: the one that runs here]",
    )  # fmt: skip
    key = click.option(
        "--key", envvar="HEADWATER_SERVICE_KEY", metavar="KEY",
        help="Its service key; better given in the environment.  [env: HEADWATER_SERVICE_KEY]",
    )  # fmt: skip
    return platform_options(url(key(function)))


def remote_of(data: Path | None, project: Path | None, url: str | None, key: str | None) -> Remote:
    """Return the platform that the options name; exit with an error if they name none."""
    if url:
        if not url.startswith(("http://", "https://")):
            refuse("--url must begin with http:// or https://.", code=2)
        if not key:
            refuse(
                "A platform elsewhere needs its service key: set HEADWATER_SERVICE_KEY, or give --key.",
                code=2,
            )
        return Remote(url, key)
    _, state = running_platform(data, project)
    if "API_URL" not in state.values:
        refuse("This platform runs no gateway here; name one with --url.", code=1)
    return Remote(state.values["API_URL"], state.values["SERVICE_ROLE_KEY"])


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")
