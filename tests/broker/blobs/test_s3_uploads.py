"""Multipart uploads that a dead writer left in an S3 store."""

import socket
import threading
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from broker.blobs.blob_names import blob
from broker.blobs.errors import BlobStoreDown
from broker.blobs.s3_uploads import UnfinishedUploads, bucket_address, unfinished_uploads
from broker.blobs.store import BlobStore
from schemas.keys.secret import Secret
from schemas.settings.storage import S3, Storage
from tests.broker.s3_server import KEY, S3Server

_PART = b"x" * 5 * 1024 * 1024


def _begin(s3: S3Server, key: str, *, with_part: bool = True) -> None:
    """Begin a multipart upload as a process does that is killed later."""
    begun = s3.client.create_multipart_upload(Bucket=s3.bucket, Key=key)
    if with_part:
        s3.client.upload_part(Bucket=s3.bucket, Key=key, UploadId=begun["UploadId"], PartNumber=1, Body=_PART)


@pytest.fixture
def prefix() -> str:
    return f"own-{uuid.uuid4().hex}"


async def test_uploads_of_ours_that_had_no_part_for_long_are_aborted(s3: S3Server, prefix: str) -> None:
    ours = f"{prefix}/{blob('b', uuid.uuid4()).name}"
    foreign = [f"{prefix}/a file of another program.txt", blob("b", uuid.uuid4()).name]
    _begin(s3, ours)
    _begin(s3, f"{prefix}/{blob('b', uuid.uuid4()).name}", with_part=False)
    for key in foreign:
        _begin(s3, key)
    store = BlobStore.open(s3.settings(prefix=prefix), Path("/nowhere"))

    # This server says that every upload began in 2010, so what keeps the first one is its part.
    assert await store.abort_unfinished(datetime.now(UTC) - timedelta(hours=1)) == 1
    assert ours in s3.begun(prefix)
    assert await store.abort_unfinished(datetime.now(UTC) + timedelta(minutes=1)) == 1

    assert s3.begun(prefix) == foreign[:1]
    assert foreign[1] in s3.begun("objects/")
    assert await store.abort_unfinished(datetime.now(UTC) + timedelta(minutes=1)) == 0
    await store.close()


async def test_a_store_that_refuses_is_reported_without_a_secret() -> None:
    storage = Storage(
        backend="s3",
        s3=S3(
            bucket="b", endpoint="http://127.0.0.1:9", force_path_style=True,
            access_key_id=Secret("id"), secret_access_key=Secret(KEY),
        ),
    )  # fmt: skip
    store = BlobStore.open(storage, Path("/nowhere"))

    with pytest.raises(BlobStoreDown) as caught:
        await store.abort_unfinished(datetime.now(UTC))

    assert KEY not in str(caught.value)
    await store.close()


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<List", "cut off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n<List", "IncompleteRead"),
    ],
)
def test_a_response_that_cannot_be_read_is_an_error_of_the_store(response: bytes, reason: str) -> None:
    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(response)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = S3(
            bucket="b", endpoint=f"http://127.0.0.1:{listener.getsockname()[1]}", force_path_style=True
        )
        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(OSError, match=reason):
            UnfinishedUploads(settings, "id", "secret").abort(datetime.now(UTC))
        thread.join()


def test_without_keys_of_our_own_nothing_is_asked() -> None:
    assert unfinished_uploads(Storage(backend="s3", s3=S3(bucket="b"))) is None
    assert unfinished_uploads(Storage()) is None


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        (S3(bucket="b", region="eu-west-1"), "https://b.s3.eu-west-1.amazonaws.com"),
        (S3(bucket="b", endpoint="http://h:9000/", force_path_style=True), "http://h:9000/b"),
        (S3(bucket="b", endpoint="https://h.example"), "https://b.h.example"),
    ],
)
def test_address_of_the_bucket(settings: S3, url: str) -> None:
    assert bucket_address(settings) == url


def test_the_signature_is_that_of_another_library() -> None:
    """botocore signs the same request in the same way."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    uploads = unfinished_uploads(
        Storage(
            backend="s3",
            s3=S3(bucket="b", region="eu-west-1", access_key_id=Secret("id"), secret_access_key=Secret(KEY)),
        )
    )
    assert uploads is not None
    now = datetime.now(UTC)
    mine = uploads._signed("GET", "/objects/x%20y", "key-marker=a%2Fb&uploads=", now)
    request = AWSRequest(
        "GET",
        "https://b.s3.eu-west-1.amazonaws.com/objects/x%20y?key-marker=a%2Fb&uploads=",
        headers={"x-amz-content-sha256": mine["x-amz-content-sha256"]},
    )
    auth = S3SigV4Auth(Credentials("id", KEY), "s3", "eu-west-1")
    request.context["timestamp"] = mine["x-amz-date"]
    request.headers["X-Amz-Date"] = mine["x-amz-date"]
    signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    assert mine["authorization"].endswith(f"Signature={signature}")
