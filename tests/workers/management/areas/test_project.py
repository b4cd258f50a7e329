"""Where clients find the database of a project, and which refs an operator may choose."""

import msgspec
import pytest

from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from tests.workers.management.conftest import Client
from workers.management.interface.errors import ManagementError
from workers.management.operations.project import database_address
from workers.management.worker import ManagementWorker


@pytest.mark.parametrize(
    ("url", "configured", "address"),
    [
        ("", "", ("", 54322)),
        ("postgresql://x:y@/postgres?host=%2Frun", "", ("", 54322)),
        ("postgresql://x:y@127.0.0.1:5555/postgres", "", ("", 5555)),
        ("postgresql://x:y@localhost/postgres", "", ("", 5432)),
        ("postgresql://x:y@db.example.org/postgres", "", ("db.example.org", 5432)),
        ("postgresql://x:y@db:5432/postgres", "db.example.org:6000", ("db.example.org", 6000)),
        ("", "[2001:db8::1]:6000", ("2001:db8::1", 6000)),
        ("", "db.example.org", ("db.example.org", 5432)),
    ],
)
def test_the_address_of_the_database_is_that_of_clients(
    url: str, configured: str, address: tuple[str, int]
) -> None:
    assert database_address(_settings(url, configured)) == address


@pytest.mark.parametrize("configured", ["db.example.org:port", "db.example.org:99999", "[::1"])
def test_an_address_that_is_none_is_said_so(configured: str) -> None:
    with pytest.raises(ManagementError) as refused:
        database_address(_settings("", configured))

    assert "management.database_address" in str(refused.value)


def _settings(url: str, configured: str) -> Settings:
    settings = Settings()
    return msgspec.structs.replace(
        settings,
        db=msgspec.structs.replace(settings.db, url=Secret(url) if url else None),
        management=msgspec.structs.replace(settings.management, database_address=configured),
    )


@pytest.mark.parametrize(
    ("ref", "status"), [("abcdefghijklmnopqrst", 200), ("Notes", 500), ("abcdefghijklmnopqrst\n", 500)]
)
async def test_a_configured_ref_replaces_the_made_one(owner: Client, ref: str, status: int) -> None:
    worker = owner.worker
    management = msgspec.structs.replace(worker.configuration.management, project_ref=ref)
    configured = msgspec.structs.replace(worker.configuration, management=management)
    owner.worker = ManagementWorker.create(worker.database, configured, worker.pools)

    response = await owner.send("POST", "/operations/project.describe", {})

    assert response.status == status
    if status == 200:
        assert (await owner.run("project.describe"))["ref"] == ref
