"""Both kinds of stores behave alike."""

import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from broker.archive.folder_store import FolderStore
from broker.archive.store import (
    ArchiveFileMissing,
    ArchiveStore,
    ArchiveStoreDown,
    open_archive_store,
)
from schemas.keys.secret import Secret
from schemas.settings.backup import Backup
from schemas.settings.storage import Gcs
from schemas.settings.tree import SettingsError
from tests.broker.s3_server import running_s3

MIB = 1024 * 1024
_SIGNED = (
    "AWS4-HMAC-SHA256 Credential=somebody/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
)
"""What the server takes for a sign-in; it does not verify the signature."""


def _gcs(url: str, bucket: str) -> Backup:
    """Return Google Cloud Storage's client at an S3 server: it uses the interface that both have in common, without its sign-in."""
    account = {
        "gcs_base_url": url,
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    key = Secret(msgspec.json.encode(account).decode())
    return Backup(backend="gcs", gcs=Gcs(bucket=bucket, prefix="below", service_account_key=key))


@contextmanager
def _without_sign_in() -> Iterator[str]:
    """Serve the objects of the S3 servers of this process to clients that sign in otherwise; return the address."""
    served = DomainDispatcherApplication(create_backend_app)

    def answer(environ: dict[str, Any], start: Any) -> Any:
        environ["HTTP_AUTHORIZATION"] = _SIGNED
        return served(environ, start)

    server = make_server("127.0.0.1", 0, answer, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module", params=["file", "s3", "gcs"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveStore]:
    if request.param == "file":
        yield open_archive_store(Backup(path=str(tmp_path_factory.mktemp("archive") / "new")))
        return
    with running_s3() as s3:
        s3_settings = Backup(backend="s3", s3=s3.settings(prefix="below").s3)
        if request.param == "s3":
            yield open_archive_store(s3_settings)
            return
        s3.client.create_bucket(
            Bucket="archives"
        )  # the client encodes a hyphen in the name, which this server does not decode
        with _without_sign_in() as url:
            yield open_archive_store(_gcs(url, "archives"))


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _names(store: ArchiveStore, folder: str) -> list[str]:
    return [file.name for file in await store.list_files(folder)]


async def read_whole(store: ArchiveStore, name: str) -> bytes:
    return b"".join([piece async for piece in store.read(name)])


async def test_a_file_is_stored_read_replaced_and_deleted(store: ArchiveStore) -> None:
    assert await _names(store, "a") == []
    await store.put("a/wal/1", b"one")
    await store.put("a/wal/2", b"two!")
    await store.put("a/wal/1", b"another")

    assert await read_whole(store, "a/wal/1") == b"another"
    assert await store.list_files("a") == [("a/wal/1", 7), ("a/wal/2", 4)]
    assert await _names(store, "a/wa") == []
    await store.delete(["a/wal/1", "a/wal/none"])
    assert await _names(store, "a") == ["a/wal/2"]


async def test_a_stream_is_stored_whole(store: ArchiveStore) -> None:
    parts = [bytes([number]) * (9 * MIB) for number in range(4)]

    await store.put_stream("b/base/content", _pieces(*parts))

    assert await read_whole(store, "b/base/content") == b"".join(parts)


async def test_a_stream_that_breaks_leaves_no_file(store: ArchiveStore) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield bytes(20 * MIB)
        raise RuntimeError("the server is gone")

    with pytest.raises(Exception, match="the server is gone"):
        await store.put_stream("c/base/content", broken())

    assert await _names(store, "c") == []


async def test_a_missing_file_is_named(store: ArchiveStore) -> None:
    with pytest.raises(ArchiveFileMissing, match="d/none"):
        await read_whole(store, "d/none")


async def test_a_store_that_is_away_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = open_archive_store(Backup(path=str(tmp_path / "file")))

    with pytest.raises(ArchiveStoreDown, match="file"):
        await store.put("a", b"x")
    with pytest.raises(ArchiveStoreDown, match="file"):
        await store.list_files("a")


async def test_drafts_of_killed_processes_are_removed_and_those_that_are_written_are_not(
    tmp_path: Path,
) -> None:
    killed = tmp_path / "a" / "base" / "1" / ".draft-killed"
    killed.parent.mkdir(parents=True)
    killed.write_bytes(b"half of a database")
    other = FolderStore(tmp_path)

    async def slow() -> AsyncIterator[bytes]:
        yield b"one"
        for draft in tmp_path.rglob(".draft-*"):
            os.utime(draft, (0, 0))
        await FolderStore(tmp_path).put_stream("a/base/3/content", _pieces(b"three"))
        yield b"two"

    await other.put_stream("a/base/2/content", slow())

    assert await read_whole(other, "a/base/2/content") == b"onetwo"
    assert not killed.parent.exists()
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["content", "content"]


def test_a_store_without_a_place_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"backup\.path"):
        open_archive_store(Backup())
