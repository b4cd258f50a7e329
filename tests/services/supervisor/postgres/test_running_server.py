"""Servers that run for the time of a block: the port, also when somebody else takes it first, and the reason of a failure."""

import socket
from collections.abc import Iterator

import asyncpg
import pytest

from services.supervisor import addresses
from services.supervisor.binaries import reachable_postgres
from services.supervisor.data_folder.folder import create_data_folder
from services.supervisor.errors import StartFailed
from services.supervisor.ports import Ports
from services.supervisor.postgres import running_server as module
from services.supervisor.postgres.cluster import SUPERUSER, Cluster, create_inner_folders
from services.supervisor.postgres.running_server import running_server
from services.supervisor.postgres.server import prepare_cluster
from services.supervisor.postgres.system_user import server_user
from services.supervisor.report import SilentReporter

_PASSWORD = "a password"


@pytest.fixture
def cluster(open_tmp) -> Cluster:
    """A prepared cluster without a port."""
    report = SilentReporter()
    user = server_user(report.info)
    made = Cluster(
        create_data_folder(open_tmp / "data").postgres, reachable_postgres(user, report.info), user
    )
    create_inner_folders(made)
    prepare_cluster(made, None, _PASSWORD, {}, report)
    return made


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


async def test_a_port_that_was_taken_meanwhile_is_replaced(
    cluster: Cluster, taken: int, monkeypatch: pytest.MonkeyPatch
):
    free = module.choose_ports
    choices = iter([Ports(0, taken, 0)])
    monkeypatch.setattr(module, "choose_ports", lambda *asked: next(choices, None) or free(*asked))

    with running_server(cluster, "The server", preferred_port=taken, timeout_s=60) as port:
        connection = await asyncpg.connect(addresses.database_url(SUPERUSER, _PASSWORD, port))
        answer = await connection.fetchval("show port")
        await connection.close()

    assert port != taken
    assert answer == str(port)


def test_a_failed_start_tells_the_reason_and_not_the_last_line(cluster: Cluster):
    prepare_cluster(cluster, None, _PASSWORD, {"shared_buffers": "no size"}, SilentReporter())

    with (
        pytest.raises(StartFailed, match=r"The server did not start: .*FATAL:.*contains errors"),
        running_server(cluster, "The server", timeout_s=60),
    ):
        pass
