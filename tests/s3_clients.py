"""boto3 clients of a platform's S3 endpoint, closed together: a client that is only dropped leaves open sockets behind."""

import contextlib
from collections.abc import Iterator
from typing import Any

import boto3  # type: ignore[import-untyped]  # ships no types
import pytest
from botocore.config import Config  # type: ignore[import-untyped]  # ships no types

_opened = contextlib.ExitStack()


def s3_client(url: str, region: str, id: str, secret: str, session: str | None = None) -> Any:
    """Give a client that never repeats a request by itself; `s3_clients_closed` closes it."""
    client = boto3.client(
        "s3",
        endpoint_url=url,
        region_name=region,
        aws_access_key_id=id,
        aws_secret_access_key=secret,
        aws_session_token=session,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}, signature_version="s3v4"),
    )
    _opened.callback(client.close)
    return client


@pytest.fixture(scope="module", autouse=True)
def s3_clients_closed() -> Iterator[None]:
    """Close the clients of a module when its last test has ended; a module imports this by name."""
    yield
    _opened.close()
