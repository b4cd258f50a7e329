"""A broker of Kafka from its Maven packages: one process, which is broker and controller."""

import asyncio
import contextlib
import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.ports import free_port

_VERSION = "4.1.1"
_FOLDER = Path(__file__).parents[3] / "build" / "kafka"
_INSTALL_S, _START_S = 240, 60
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>kafka</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{_VERSION}</version></dependency></dependencies>
</project>
"""
_SETTINGS = """process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.partitions=1
"""


class KafkaServer:
    """A broker on `port`, which may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, None
        self.port = free_port()
        settings = _SETTINGS.format(port=self.port, controller=free_port(), folder=folder)
        (folder / "server.properties").write_text(settings)
        self._run("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c")

    async def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._process = subprocess.Popen(
            self._command("kafka.Kafka"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        async with asyncio.timeout(_START_S):
            while True:
                with contextlib.suppress(OSError):  # it does not listen yet
                    (await asyncio.open_connection("127.0.0.1", self.port))[1].close()
                    return
                assert self._process.poll() is None, "Kafka ended"
                await asyncio.sleep(0.1)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _run(self, *words: str) -> None:
        done = subprocess.run(
            self._command(*words), capture_output=True, text=True, timeout=_START_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _command(self, *words: str) -> list[str]:
        return [
            "java",
            "-Xmx256m",
            "-cp",
            f"{_FOLDER}/jars/*",
            *words,
            str(self._folder / "server.properties"),
        ]

    _process: "subprocess.Popen[bytes] | None"


@contextlib.asynccontextmanager
async def running_kafka() -> AsyncIterator[KafkaServer]:
    """Yield a running broker. Its packages are fetched once; the test is skipped where Java or Maven is missing."""
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("Kafka runs on Java, and Maven fetches it")
    await asyncio.to_thread(_install)
    folder = Path(tempfile.mkdtemp(prefix="headwater-kafka-"))
    server = KafkaServer(folder)
    try:
        await server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _install() -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (_FOLDER / f"{_VERSION}.done").exists():
            return
        (_FOLDER / "pom.xml").write_text(_POM)
        done = subprocess.run(
            ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"],
            cwd=_FOLDER, capture_output=True, text=True, timeout=_INSTALL_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        (_FOLDER / f"{_VERSION}.done").touch()
