"""The published server of the interface, as the oracle: `@supabase/postgres-meta` on Node."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.node_packages import install_packages
from tests.ports import free_port

CLIENTS = Path(__file__).parents[5] / "tests" / "conformance"
SERVER = CLIENTS / "node_modules" / "@supabase" / "postgres-meta" / "dist" / "server" / "server.js"
_START_S = 60


@dataclass(frozen=True, slots=True)
class Reference:
    """The running reference, on one database."""

    url: str
    session: aiohttp.ClientSession

    async def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request; return status and decoded body (a text if it is no JSON)."""
        async with self.session.request(method, self.url + path, json=body) as response:
            if "json" in response.headers.get("content-type", ""):
                return response.status, await response.json()
            return response.status, await response.text()


def install_reference() -> None:
    """Install the pinned npm package; skip where there is no Node."""
    if shutil.which("node") is None:
        pytest.skip("Node.js is not on this machine")
    install_packages(CLIENTS)


@contextlib.asynccontextmanager
async def reference_server(database_url: str) -> AsyncIterator[Reference]:
    """Start the reference on a database; stop it after the block."""
    install_reference()
    port = free_port()
    environment = {
        **os.environ,
        "PG_META_DB_URL": database_url,
        "PG_META_PORT": str(port),
        "PG_META_HOST": "127.0.0.1",
        "PG_QUERY_TIMEOUT_SECS": "10",
        "PG_META_MAX_RESULT_SIZE_MB": "20",
    }
    process = subprocess.Popen(
        ["node", str(SERVER)],
        cwd=CLIENTS,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(process, port)
        async with aiohttp.ClientSession() as session:
            yield Reference(f"http://127.0.0.1:{port}", session)
    finally:
        process.kill()
        process.wait(_START_S)


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the reference ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the reference did not start")
