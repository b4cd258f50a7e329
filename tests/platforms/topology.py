"""The services of docker-compose.yml as plain processes: a NATS cluster, Postgres, S3, edges and pools, all by twos.

Commands, replicas and environment come from the compose file itself; only places are changed: ports instead of host
names, a folder instead of /run/secrets. A part that dies is started again after a moment, as the restart policy says.
"""

import asyncio
import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from schemas.keys.legacy_keys import legacy_key
from services.supervisor.deployment import ServerAddresses, deployment_secrets
from tests.broker.s3_server import S3Server, running_s3
from tests.broker.server import nats_program
from tests.commands.client import LoadedProgram, start_loaded
from tests.platform import free_port
from tests.workers.database.own_server import OwnServer, own_server

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
_POLICY_S = 0.5
_LOOK_S = 0.05
NATS = ("nats-1", "nats-2", "nats-3")


@dataclass
class Part:
    """One process of a service, started again whenever it ends, until it is closed."""

    name: str
    argv: list[str]
    environment: dict[str, str] = field(repr=False)
    log: Path
    alive: Path | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    prefix: tuple[str, ...] = ()
    """What its command begins with to run on another machine."""
    process: subprocess.Popen[bytes] | LoadedProgram | None = None
    _keeping: "asyncio.Task[None] | None" = None

    def begin(self) -> None:
        """Start it, and keep it running."""
        self._start()
        self._keeping = asyncio.get_running_loop().create_task(self._keep())

    def kill(self) -> None:
        """End it at once, as a crash would."""
        assert self.process is not None
        if self.alive is not None:
            self.alive.unlink(missing_ok=True)
        self.process.kill()

    def stop(self) -> None:
        """Tell it to end in order, as the compose file would."""
        assert self.process is not None
        if self.alive is not None:
            self.alive.unlink(missing_ok=True)
        self.process.send_signal(self.stop_signal)

    @property
    def is_alive(self) -> bool:
        """Whether its health check would succeed."""
        return self.alive is not None and self.alive.exists()

    async def close(self) -> None:
        """End it for good."""
        if self._keeping is not None:
            self._keeping.cancel()
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _start(self) -> None:
        if self.argv[0] == sys.executable and not self.prefix:
            words = self.argv[self.argv.index("headwater") + 1 :]  # python -P -m headwater workers rest
            self.process = start_loaded(words, self.environment, self.log.parent, self.log)
            return
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *self.argv],
                env=self.environment,
                cwd=self.log.parent,
                stdout=log,
                stderr=log,
            )

    async def _keep(self) -> None:
        while True:
            assert self.process is not None
            while self.process.poll() is None:
                await asyncio.sleep(_LOOK_S)
            await asyncio.sleep(_POLICY_S)
            self._start()


@dataclass
class Topology:
    """All parts by name: `rest-1`, `rest-2`, `nats-1`..., and the database."""

    folder: Path
    secrets: dict[str, str] = field(repr=False)
    database: OwnServer
    s3: S3Server
    parts: dict[str, Part] = field(default_factory=dict)
    edges: list[str] = field(default_factory=list)
    nats_http: dict[str, str] = field(default_factory=dict)
    nats_ports: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Ports of each NATS server: for clients, for the other servers, for its health."""
    _turn: int = 0

    @property
    def url(self) -> str:
        """Give the address of an edge, each in turn."""
        self._turn += 1
        return self.edges[self._turn % len(self.edges)]

    @property
    def values(self) -> dict[str, str]:
        """Give the keys under the names that `status` shows."""
        secret = self.secrets["jwt_secret"]
        return {
            "ANON_KEY": legacy_key(secret, "anon"),
            "SERVICE_ROLE_KEY": legacy_key(secret, "service_role"),
            "JWT_SECRET": secret,
        }

    def log(self, name: str) -> str:
        """Give what a part has written."""
        return self.parts[name].log.read_text(errors="replace")

    async def healthy(self, name: str) -> None:
        """Wait until the health check of a part succeeds."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.parts[name].is_alive:
                await asyncio.sleep(0.05)

    async def restarted(self, *names: str) -> None:
        """Tell parts to end in order, and wait until others run in their place."""
        before = {name: self.parts[name].process for name in names}
        for name in names:
            self.parts[name].stop()
        for name in names:
            part = self.parts[name]
            async with asyncio.timeout(PATIENCE_S):
                while part.process is before[name]:
                    await asyncio.sleep(_LOOK_S)
                while not (
                    await asyncio.to_thread(_answers, self.nats_http[name]) if name in NATS else part.is_alive
                ):
                    await asyncio.sleep(_LOOK_S)

    async def ready(self) -> None:
        """Wait until every edge says that everything answers."""
        for edge in self.edges:
            async with asyncio.timeout(PATIENCE_S):
                while not await asyncio.to_thread(_answers, f"{edge}/health/ready"):
                    await asyncio.sleep(0.1)

    async def close(self) -> None:
        """End all parts, those of ours first."""
        for name in sorted(self.parts, key=lambda each: each in NATS):
            await self.parts[name].close()


@contextlib.asynccontextmanager
async def running_topology(
    server: OwnServer | None = None, port: int | None = None
) -> AsyncIterator[Topology]:
    """Start everything in the order of the compose file; it is gone at the end.

    `server` is a database server of the caller's, found at `port`; otherwise it has one of its own.
    """
    folder = Path(tempfile.mkdtemp(prefix="headwater-topology-"))
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    try:
        with running_s3() as s3:
            async with contextlib.AsyncExitStack() as stack:
                database = server or await stack.enter_async_context(
                    own_server(wal_level="logical", max_connections="300", max_replication_slots="10")
                )
                found_at = port or database.port
                ports = {name: (free_port(), free_port(), free_port()) for name in NATS}
                places = ServerAddresses(
                    f"127.0.0.1:{found_at}",
                    [f"127.0.0.1:{client}" for client, _, _ in ports.values()],
                    [f"127.0.0.1:{route}" for _, route, _ in ports.values()],
                )
                secrets = deployment_secrets(places) | {
                    "migrate_url": database.url.replace(f":{database.port}/", f":{found_at}/")
                }
                one = Topology(folder, secrets, database, s3, nats_ports=ports)
                (folder / "secrets").mkdir()
                for name, text in secrets.items():
                    (folder / "secrets" / name).write_text(text)
                try:
                    await _start_nats(one, ports)
                    await migrate(one, compose["migrate"])
                    for name, service in compose.items():
                        if service.get("image") == "headwater:local" and name != "migrate":
                            _start_service(one, name, service)
                    for name in one.parts.keys() - set(NATS):
                        await one.healthy(name)
                    await one.ready()
                    yield one
                finally:
                    await one.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _start_nats(one: Topology, ports: dict[str, tuple[int, int, int]]) -> None:
    """Start three servers with deploy/nats.conf and the secret file, each on ports of its own."""
    for name, (client, route, http) in ports.items():
        home = one.folder / "etc" / name
        home.mkdir(parents=True)
        hidden = one.secrets["nats_secrets.conf"].replace("port: 6222", f"port: {route}")
        (home / "nats_secrets.conf").write_text(hidden)
        text = (ROOT / "deploy" / "nats.conf").read_text()
        for old, new in (
            ("port: 4222", f'host: "127.0.0.1"\nport: {client}'),
            ("http: 8222", f'http: "127.0.0.1:{http}"'),
            ('"/data"', json.dumps(str(home / "data"))),
            ("../../run/secrets/", f"../{name}/"),
        ):
            assert old in text
            text = text.replace(old, new)
        (home / "headwater.conf").write_text(text)
        argv = [str(nats_program()), "--config", str(home / "headwater.conf")]
        log, ends_by = one.folder / f"{name}.log", signal.SIGUSR2  # as the compose file has it
        one.parts[name] = Part(name, argv, {"NATS_NAME": name}, log, stop_signal=ends_by)
        one.nats_http[name] = f"http://127.0.0.1:{http}/healthz"
        one.parts[name].begin()
    for _, _, http in ports.values():
        async with asyncio.timeout(PATIENCE_S):
            while not await asyncio.to_thread(_answers, f"http://127.0.0.1:{http}/healthz"):
                await asyncio.sleep(0.1)


async def migrate(one: Topology, service: dict[str, Any]) -> None:
    argv, environment = command_of(service), environment_of(one, service, "migrate")
    done = await asyncio.to_thread(
        subprocess.run, argv, env=environment, cwd=one.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _start_service(one: Topology, name: str, service: dict[str, Any]) -> None:
    for number in range(1, service["deploy"]["replicas"] + 1):
        own = f"{name}-{number}"
        environment = environment_of(one, service, own)
        if name == "gateway":
            port = free_port()
            environment |= {"HEADWATER_API_PORT": str(port), "HEADWATER_GATEWAY_HOST": "127.0.0.1"}
            one.edges.append(f"http://127.0.0.1:{port}")
        part = Part(
            own, command_of(service), environment, one.folder / f"{own}.log", one.folder / f"{own}.alive"
        )
        one.parts[own] = part
        part.begin()


def command_of(service: dict[str, Any]) -> list[str]:
    return [sys.executable, *service["command"][1:]]


def environment_of(one: Topology, service: dict[str, Any], name: str) -> dict[str, str]:
    """Give the environment of a process, with this machine's places in it."""
    found = {
        variable: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", text).replace(
            "/run/secrets", str(one.folder / "secrets")
        )
        for variable, text in service["environment"].items()
    }
    return (
        found
        | {
            "PYTHONPATH": str(ROOT),
            "PATH": "/usr/bin:/bin",
            "HOME": str(one.folder),
            "HEADWATER_ALIVE_FILE": str(one.folder / f"{name}.alive"),
            "HEADWATER_STORAGE_S3_ENDPOINT": one.s3.url,
            "HEADWATER_STORAGE_S3_BUCKET": one.s3.bucket,
            "HEADWATER_BACKUP_S3_ENDPOINT": one.s3.url,
            "HEADWATER_BACKUP_S3_BUCKET": one.s3.bucket,
            "HEADWATER_BACKUP_S3_PREFIX": "backups",
            "HEADWATER_PROJECT_FOLDER": str(one.folder / "supabase"),
            "HEADWATER_EDGE_RUNTIME_PATH": str(one.folder / "supabase" / "functions"),
        }
        | ({"HEADWATER_DATA": str(one.folder / name)} if "HEADWATER_DATA" in found else {})
    )


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
