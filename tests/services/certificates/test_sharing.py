"""What a holder shares through the bucket, and what it reports. No authority is asked."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from broker.nats.connection import NatsConnection
from schemas.settings.certificates import Certificates
from schemas.settings.tree import Auth
from services.certificates import holder as holder_module
from services.certificates.folder import CertificateFolder
from services.certificates.holder import CertificateHolder
from services.certificates.model import AcmeAccount
from services.certificates.observations import CertificateFilesFailed
from services.certificates.shared import SharedCertificates
from tests.broker.server import NatsServer

DIRECTORY = "https://authority.example/directory"


@pytest_asyncio.fixture
async def shared(broker: NatsServer) -> AsyncIterator[SharedCertificates]:
    connection = await NatsConnection.open(broker.url, name="test")
    yield SharedCertificates(connection, Auth().jwt_secret)
    await connection.close()


def _holder(folder: CertificateFolder, shared: SharedCertificates) -> CertificateHolder:
    return CertificateHolder(Certificates(domains=["api.example.org"]), folder, shared, lambda: None)


@pytest.mark.parametrize(
    ("own_at", "shared_at", "used"), [(2.0, 1.0, "own"), (1.0, 2.0, "shared"), (0.0, 0.0, "shared")]
)
async def test_the_account_that_was_created_later_is_used(
    shared: SharedCertificates, tmp_path: Path, own_at: float, shared_at: float, used: str
) -> None:
    folder = CertificateFolder(tmp_path)
    folder.write_account(AcmeAccount(DIRECTORY, "own", created_at=own_at))
    await shared.write(account=AcmeAccount(DIRECTORY, "shared", created_at=shared_at))

    await _holder(folder, shared)._share()

    account = await shared.account()
    assert account is not None
    assert account.key == used
    assert folder.read_account() == account


async def test_files_that_cannot_be_written_are_reported_once(
    shared: SharedCertificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_text("not a folder")
    reported: list[object] = []
    checks, is_enough = 0, asyncio.Event()
    monkeypatch.setattr(holder_module, "observe", reported.append)
    monkeypatch.setattr(holder_module, "_LOOK_S", 0)
    holder = _holder(CertificateFolder(tmp_path / "data"), shared)
    check = holder.check

    async def counted() -> bool:
        nonlocal checks
        checks += 1
        if checks == 3:
            is_enough.set()
        return await check()

    monkeypatch.setattr(holder, "check", counted)
    holder.start()
    await is_enough.wait()
    await holder.close()

    assert [type(item) for item in reported] == [CertificateFilesFailed]
    assert "Not a directory: " in str(reported[0])
    assert str(tmp_path / "data") in str(reported[0])
