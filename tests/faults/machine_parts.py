"""Three NATS servers, and two machines with an edge and pools, each in a namespace of its own; Postgres and the clients are at home."""

import asyncio
import contextlib
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import yaml

from services.supervisor.deployment import ServerAddresses, deployment_secrets
from tests.broker.s3_server import running_s3
from tests.broker.server import nats_program
from tests.faults.machines import HOME, Network, network
from tests.platforms.topology import (
    NATS,
    PATIENCE_S,
    ROOT,
    Part,
    Topology,
    environment_of,
    migrate,
)
from tests.workers.database.own_server import OwnServer, own_server

APPLICATIONS = ("app-1", "app-2")
"""Machines with an edge, the pools rest and auth, and the readers of row changes."""
_EDGE_PORT, _CLIENTS, _ROUTES, _HEALTH = 54321, 4222, 6222, 8222
_HBA = "host all all 0.0.0.0/0 scram-sha-256\nhost replication all 0.0.0.0/0 scram-sha-256\n"


@contextlib.asynccontextmanager
async def running_machines() -> AsyncIterator[tuple[Topology, Network]]:
    """Start the machines and what runs on them; all is gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-machines-"))
    folder.chmod(0o755)
    rules = folder / "pg_hba.conf"
    rules.write_text(_HBA)
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    settings = {"wal_level": "logical", "max_connections": "200", "max_replication_slots": "10"}
    try:
        with network() as net, running_s3() as s3:
            for name in (*NATS, *APPLICATIONS):
                net.add(name)
            async with own_server(**settings, listen_addresses="*", hba_file=str(rules)) as database:
                one = Topology(folder, _secrets(net, database), database, s3)
                (folder / "secrets").mkdir()
                for name, text in one.secrets.items():
                    (folder / "secrets" / name).write_text(text)
                try:
                    for name in NATS:
                        _begin_nats(one, net, name)
                    for name in NATS:
                        await _answering(f"http://{net.address(name)}:{_HEALTH}/healthz")
                    await migrate(one, compose["migrate"])
                    for name in APPLICATIONS:
                        _begin_application(one, net, name, compose)
                        one.edges.append(f"http://{net.address(name)}:{_EDGE_PORT}")
                    for name in one.parts.keys() - set(NATS):
                        await one.healthy(name)
                    yield one, net
                finally:
                    await one.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _secrets(net: Network, database: OwnServer) -> dict[str, str]:
    addresses = [net.address(name) for name in NATS]
    places = ServerAddresses(
        f"{net.address(HOME)}:{database.port}",
        [f"{address}:{_CLIENTS}" for address in addresses],
        [f"{address}:{_ROUTES}" for address in addresses],
    )
    # commands that migrate run at home
    return deployment_secrets(places) | {"migrate_url": database.url.replace("127.0.0.1", net.address(HOME))}


def _begin_nats(one: Topology, net: Network, name: str) -> None:
    home = one.folder / "etc" / name
    home.mkdir(parents=True)
    (home / "nats_secrets.conf").write_text(one.secrets["nats_secrets.conf"])
    text = (ROOT / "deploy" / "nats.conf").read_text()
    text = text.replace('"/data"', f'"{home / "data"}"').replace("../../run/secrets/", f"../{name}/")
    (home / "headwater.conf").write_text(text)
    argv = [str(nats_program()), "--config", str(home / "headwater.conf")]
    environment = {"NATS_NAME": name, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    one.parts[name] = Part(name, argv, environment, one.folder / f"{name}.log", prefix=net.prefix(name))
    one.parts[name].begin()


def _begin_application(one: Topology, net: Network, machine: str, compose: dict[str, Any]) -> None:
    pools = {"environment": compose["rest"]["environment"] | compose["auth"]["environment"]}
    for name, service, words in (
        (f"{machine}-edge", compose["gateway"], ("services", "gateway")),
        (f"{machine}-pools", pools, ("workers", "rest", "auth")),
        (f"{machine}-changes", compose["changes"], ("workers", "replication", "realtime", "sync")),
    ):
        environment = environment_of(one, service, name) | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        part = Part(
            name,
            [sys.executable, "-P", "-m", "headwater", *words],
            environment,
            one.folder / f"{name}.log",
            one.folder / f"{name}.alive",
            prefix=net.prefix(machine),
        )
        one.parts[name] = part
        part.begin()


async def _answering(url: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(_answers, url):
            await asyncio.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
