"""An S3 server for these tests, with what it holds in plain sight."""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

from schemas.keys.secret import Secret
from schemas.settings.storage import S3, Storage
from tests.fast import skip_in_fast_run

KEY = "a key that is never shown"


@dataclass(frozen=True)
class S3Server:
    """A running server with one bucket, and a client of another library that looks into it.

    All servers of a process have their objects in common, so each has a bucket of its own.
    """

    url: str
    bucket: str
    client: Any = field(repr=False)
    stop: Callable[[], None] = field(repr=False)
    """Have it go away, with its port closed; its objects stay."""
    start: Callable[[], None] = field(repr=False)

    def settings(self, **changed: Any) -> Storage:
        """Give settings of a store in the bucket, under a prefix of its own."""
        s3: dict[str, Any] = {
            "bucket": self.bucket,
            "endpoint": self.url,
            "force_path_style": True,
            "access_key_id": Secret("somebody"),
            "secret_access_key": Secret(KEY),
        }
        return Storage(backend="s3", s3=S3(**s3 | changed))

    def names(self, prefix: str) -> list[str]:
        """List the objects under a prefix."""
        found = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [each["Key"] for each in found.get("Contents", [])]

    def begun(self, prefix: str) -> list[str]:
        """List the multipart uploads under a prefix that are neither complete nor aborted."""
        found = self.client.list_multipart_uploads(Bucket=self.bucket)
        return [each["Key"] for each in found.get("Uploads", []) if each["Key"].startswith(prefix)]


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """Start a server on a free port, and stop it."""
    skip_in_fast_run("object store")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        client = boto3.client(
            "s3",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="somebody",
            aws_secret_access_key=KEY,
        )
        bucket = f"files-{secrets.token_hex(4)}"
        client.create_bucket(Bucket=bucket)
        again: list[ThreadedMotoServer] = []

        def start() -> None:
            again.append(ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False))
            again[-1].start()

        yield S3Server(url, bucket, client, server.stop, start)
        client.close()
        for late in again:
            late.stop()
    finally:
        server.stop()
