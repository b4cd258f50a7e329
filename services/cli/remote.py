"""The platform that a command speaks to, here or elsewhere: its address, its service key, requests to it."""

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

F = TypeVar("F", bound=Callable[..., Any])

_TIMEOUT_S = 180.0
_AWAKE_S = 30.0
_AGAIN_S = 0.3


class NoWorker(Exception):
    """No functions worker answers behind the gateway: what the platform said."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A platform behind its gateway."""

    url: str
    key: str = field(repr=False)

    def ask(self, method: str, path: str, body: object = None, *, content: str = "application/json") -> Any:
        """Ask as the service role and give the answer's JSON; end the command with what the platform refuses."""
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
        """Ask as `ask` does. Raises: NoWorker if functions are switched off, or no worker answers in time.

        A platform without functions needs a moment until it has a worker for the first one.
        """
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        until = time.monotonic() + awake_s
        while True:
            try:
                with self._open(method, path, sent, content) as answer:
                    return json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                with error:
                    said = error.read()
                if error.code == 501 or (error.code == 503 and b"STORE_" not in said):
                    if error.code == 501 or time.monotonic() > until:
                        raise NoWorker(_message(said)) from None
                else:
                    refuse(f"The platform refused: {_message(said)}", code=1)
                time.sleep(_AGAIN_S)
            except (OSError, ValueError) as error:
                refuse(f"The platform does not answer: {error}", code=1)

    def lines(self, method: str, path: str, body: object = None) -> Iterator[dict[str, Any]]:
        """Give the objects of an answer that comes line by line. Raises: OSError when it breaks off."""
        sent = None if body is None else json.dumps(body).encode()
        with self._open(method, path, sent, "application/json") as answer:
            for line in answer:
                if line.strip():
                    yield json.loads(line)

    def _open(self, method: str, path: str, body: bytes | None, content: str) -> Any:
        headers = {"apikey": self.key, "Authorization": f"Bearer {self.key}", "Content-Type": content}
        asked = urllib.request.Request(self.url.rstrip("/") + path, body, headers, method=method)  # noqa: S310 - http or https: `remote_of`
        return urllib.request.urlopen(asked, timeout=_TIMEOUT_S)  # noqa: S310 - as above


def remote_options(function: F) -> F:
    """Add `--url` and `--key`, which name a platform elsewhere, to those that name one here."""
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
    """Give the platform that the options mean; end the command if they mean none."""
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
