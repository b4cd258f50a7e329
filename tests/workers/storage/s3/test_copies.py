"""Source and destination of a copy."""

import pytest

from schemas.http import Request
from tests.workers.storage.storage_pool import SERVICE as CALLER
from tests.workers.storage.storage_pool import StoragePool
from workers.storage.model.errors import StorageError
from workers.storage.requests.identity import SERVICE
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.s3.copy_object import copy, source_of
from workers.storage.s3.protocol.errors import S3Error
from workers.storage.s3.protocol.request import S3Request, read_s3_request


def copying(source: str) -> S3Request:
    request = Request("r", "PUT", "/s3/other/copy", "", [("x-amz-copy-source", source)], CALLER)
    return read_s3_request(StorageRequest(request, {}, "storage.s3.upload", SERVICE))


async def test_the_only_version_of_an_object_may_be_named(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", b"one")

    named = await source_of(storage_pool.store, copying(f"{bucket}/a?versionId=null"))

    assert named.size == 3
    with pytest.raises(S3Error) as refused:
        await source_of(storage_pool.store, copying(f"{bucket}/a?versionId=1234"))
    assert refused.value.code == "InvalidArgument"


async def test_a_copy_into_a_missing_bucket_names_it(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", b"one")

    with pytest.raises(StorageError) as refused:
        await copy(storage_pool.store, copying(f"{bucket}/a"))

    assert refused.value.code == "NoSuchBucket"
