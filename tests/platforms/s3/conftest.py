"""A platform with a key pair of its own, a client of its S3 endpoint and an empty bucket."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.platform import Platform, platform
from tests.s3_clients import s3_client, s3_clients_closed  # noqa: F401  # closes them

ID, SECRET = "s3-test-access-key", "s3-test-secret-of-the-pair"


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform with a key pair of its own."""
    pair = {"S3_PROTOCOL_ACCESS_KEY_ID": ID, "S3_PROTOCOL_ACCESS_KEY_SECRET": SECRET}
    with platform(environment=pair) as one:
        yield one


@pytest.fixture(scope="module")
def s3(running_platform: Platform) -> Any:
    """A client with the key pair."""
    return s3_client(f"{running_platform.url}/storage/v1/s3", "us-east-1", ID, SECRET)


@pytest.fixture
def bucket(s3: Any) -> str:
    """The name of an empty bucket."""
    name = f"b-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    return name
