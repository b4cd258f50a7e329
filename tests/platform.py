"""A whole platform for tests and benchmarks: started by the command that users type, on free ports, in a folder of its own."""

import contextlib
import json
import os
import shutil
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

from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from services.cli.s3_pair import s3_values
from tests.commands.client import run_loaded
from tests.fast import skip_in_fast_run
from tests.ports import free_port as free_port
from tests.prepared import copy_prepared, is_prepared
from tests.workers.database.server import OUTSIDE, temporary_server

_START_S = 90

MANY_CLIENTS = {
    "HEADWATER_GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": "0",
    "HEADWATER_REALTIME_MAX_SOCKETS_PER_ADDRESS": "0",
    "HEADWATER_REALTIME_MAX_EVENTS_PER_SECOND": "0",
    "HEADWATER_GRAPHQL_SUBSCRIPTIONS_MAX_SOCKETS_PER_ADDRESS": "0",
}
"""Settings of a platform that is measured with more clients from one address than a platform lets in."""


NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}
"""Settings of a database that survives the kill of its server, but not of its machine."""


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

    @property
    def sealing_settings(self) -> Auth:
        """Return settings whose keys open what this platform has stored."""
        path, secret = self.data / "sealing.key", Secret(self.values["JWT_SECRET"])
        text = ",".join(path.read_text().split()) if path.exists() else ""  # an outside database has none
        return Auth(jwt_secret=secret, sealing_key=Secret(text) if text else None)

    @property
    def sealing_environment(self) -> dict[str, str]:
        """Return the variable of the sealing key, for a worker process beside this platform's."""
        key = self.sealing_settings.sealing_key
        return {"HEADWATER_AUTH_SEALING_KEY": key.reveal()} if key else {}

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

    def metrics(self) -> tuple[int, bytes]:
        """Ask for the metrics, which are for the secret key."""
        return self.get("/metrics", {"apikey": self.values["SECRET_KEY"]})

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
    """Run a `headwater` command of this checkout. `prefix` is a command that runs it, as `setpriv`.

    It runs in a process that has loaded the code; with a prefix it is started by its command line.
    """
    if not prefix:
        return run_loaded(words, {**os.environ, **(environment or {})}, Path.cwd(), _START_S)
    return subprocess.run(
        [*prefix, sys.executable, "-m", "services.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=_START_S,
        env={**os.environ, **(environment or {})},
        check=False,
    )


def state_of(data: Path) -> tuple[int, dict[str, str]]:
    """Return the supervisor's process id of a running platform, and the values that `status` shows."""
    state = json.loads((data / "state.json").read_text())
    return int(state["pid"]), state["values"] | s3_values(data, state["values"])


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
    In a run of the tests its database is a copy of one that is migrated once (`prepare_data`).
    """
    skip_in_fast_run("platform")
    folder = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    if owner is not None:
        os.chown(folder, owner, owner)
    else:
        folder.chmod(0o711)  # for the user who runs the database
    data, port = folder / (".headwater" if in_project else "data"), free_port()
    stack = contextlib.ExitStack()
    try:
        environment = {**(environment or {}), **_outside(stack)}
        if owner is None and not (
            {"--database-url", "--postgres"} & {*arguments} or "HEADWATER_DB_URL" in environment
        ):
            prepare_data(data)
        started = headwater(
            "start", "--detach", "--data", str(data), "--project", str(folder), "--port", str(port), *arguments,
            environment=environment, prefix=prefix,
        )  # fmt: skip
        if started.returncode != 0:
            raise AssertionError(f"the platform did not start:\n{started.stdout}\n{started.stderr}")
        yield Platform(data, port, *state_of(data), environment or {})
    finally:
        headwater("stop", "--data", str(data))
        stack.close()
        shutil.rmtree(folder, ignore_errors=True)


def prepare_data(data: Path) -> None:
    """Make a data folder with a new database that is migrated and does not wait for the disk; nothing without a run's folder."""
    if is_prepared() and OUTSIDE is None:
        copy_prepared("data", data, _make_data)


def _make_data(data: Path) -> None:
    """Start a database in a data folder, migrate and stop it, and keep only the database and its passwords."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    options = ("--project", str(data.parent), "--port", "0", "--edge", "none", "--pool", "none")
    started = run_loaded(["start", "--detach", "--data", str(data), *options], own, data.parent, _START_S)
    assert started.returncode == 0, started.stdout + started.stderr
    stopped = run_loaded(["stop", "--data", str(data)], own, data.parent, _START_S)
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
    for path in data.iterdir():
        if path.is_dir() and path.name != "postgres":
            shutil.rmtree(path)
        elif not path.is_dir() and path.name not in ("passwords.json", "sealing.key"):
            path.unlink()
    (data / "postgres" / "data" / "postgresql.auto.conf").write_text(
        "".join(f"{name} = '{value}'\n" for name, value in NOT_DURABLE.items())
    )


def _outside(stack: contextlib.ExitStack) -> dict[str, str]:
    """Return the settings of a platform on a new server of the Postgres that `TEST_POSTGRES` names; none without it."""
    if OUTSIDE is None:
        return {}
    server = stack.enter_context(temporary_server())
    return {"HEADWATER_DB_URL": server.url(), "HEADWATER_DB_TRUSTED_PROJECT": "true"}
