"""A whole platform for tests and benchmarks: started by the command that users type, on free ports, in a folder of its own."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from tests.workers.database.server import OUTSIDE, temporary_server

_START_S = 90

MANY_CLIENTS = {
    "HEADWATER_GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": "0",
    "HEADWATER_REALTIME_MAX_SOCKETS_PER_ADDRESS": "0",
    "HEADWATER_REALTIME_MAX_EVENTS_PER_SECOND": "0",
    "HEADWATER_GRAPHQL_SUBSCRIPTIONS_MAX_SOCKETS_PER_ADDRESS": "0",
}
"""Settings of a platform that is measured with more clients from one address than a platform lets in."""


@dataclass(slots=True)
class Platform:
    """A running platform: what `status` prints about it, and where it is."""

    data: Path
    port: int
    pid: int
    values: dict[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it was started with beside the environment of the tests."""

    @property
    def url(self) -> str:
        return self.values["API_URL"]

    def login_url(self, role: str) -> str:
        """Return the database's URL for a login of the platform: each has a random password of its own."""
        password = json.loads((self.data / "passwords.json").read_text())[role]
        parts = urlsplit(self.values["DB_URL"])
        place = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{role}:{quote(password, safe='')}@{place}"))

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a `headwater` command against this platform."""
        return headwater(*words, "--data", str(self.data))

    def psql(self, sql: str) -> str:
        """Run SQL as role postgres and give what it prints, without decoration."""
        done = self.command("psql", "-c", sql)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """Ask for a path below the gateway with the public key."""
        own = {"apikey": self.values["ANON_KEY"], **(headers or {})}
        asked = urllib.request.Request(self.url + path, headers=own)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def wait_for_catalog(self, relation: str) -> None:
        """Wait until the interface knows a relation."""
        deadline = time.monotonic() + 30
        while self.get(f"/rest/v1/{relation}?limit=0")[0] in (404, 503):
            if time.monotonic() > deadline:
                raise AssertionError(f"{relation} did not appear")
            time.sleep(0.05)


def headwater(
    *words: str, environment: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a `headwater` command of this checkout. `prefix` is a command that runs it, as `setpriv`."""
    return subprocess.run(
        [*prefix, sys.executable, "-m", "services.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=_START_S,
        env={**os.environ, **(environment or {})},
        check=False,
    )


def free_port() -> int:
    """Give a port that nothing listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def platform(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
    owner: int | None = None,
    in_project: bool = False,
) -> Iterator[Platform]:
    """Start a platform, give it, stop it and remove its folder, which belongs to `owner`.

    `in_project`: its data folder is `.headwater` in the project's folder, where commands look for it.
    """
    folder = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    if owner is not None:
        os.chown(folder, owner, owner)
    data, port = folder / (".headwater" if in_project else "data"), free_port()
    stack = contextlib.ExitStack()
    try:
        environment = {**(environment or {}), **_outside(stack)}
        started = headwater(
            "start", "--detach", "--data", str(data), "--project", str(folder), "--port", str(port), *arguments,
            environment=environment, prefix=prefix,
        )  # fmt: skip
        if started.returncode != 0:
            raise AssertionError(f"the platform did not start:\n{started.stdout}\n{started.stderr}")
        values = json.loads(headwater("status", "-o", "json", "--data", str(data)).stdout)
        pid = int(json.loads((data / "state.json").read_text())["pid"])
        yield Platform(data, port, pid, values, environment or {})
    finally:
        headwater("stop", "--data", str(data))
        stack.close()
        shutil.rmtree(folder, ignore_errors=True)


def _outside(stack: contextlib.ExitStack) -> dict[str, str]:
    """Return the settings of a platform on a new server of the Postgres that `TEST_POSTGRES` names; none without it."""
    if OUTSIDE is None:
        return {}
    server = stack.enter_context(temporary_server())
    return {"HEADWATER_DB_URL": server.url(), "HEADWATER_DB_TRUSTED_PROJECT": "true"}
