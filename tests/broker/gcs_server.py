"""A server that speaks the XML interface of Google Cloud Storage, made of the S3 server of these tests.

Google's XML interface is S3's under other names: headers begin with `x-goog-`, the caller shows a token that he signed with
the key of his service account, and to delete what is missing is a 404. This turns one into the other; tokens are verified.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from schemas.keys.secret import Secret
from schemas.settings.storage import Gcs, Storage
from tests.fast import skip_in_fast_run

BUCKET = "google"
_SOMEBODY = (
    "AWS4-HMAC-SHA256 Credential=somebody/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
)
_Environ = dict[str, Any]
_Start = Callable[..., Any]


@dataclass(frozen=True)
class GcsServer:
    """A running server with one bucket, and the account that may use it."""

    url: str
    account: str = field(repr=False)

    def settings(self, **changed: Any) -> Storage:
        """Give settings of a store in the bucket, under a prefix of its own."""
        gcs: dict[str, Any] = {"bucket": BUCKET, "service_account_key": Secret(self.account)}
        return Storage(backend="gcs", gcs=Gcs(**gcs | changed))


class _Google:
    """A WSGI application: requests as Google takes them, passed on as S3 does."""

    def __init__(self, key: rsa.RSAPublicKey) -> None:
        self._s3 = DomainDispatcherApplication(create_backend_app)
        self._key = key

    def __call__(self, environ: _Environ, start: _Start) -> Iterable[bytes]:
        try:
            token = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
            jwt.decode(token, self._key, ["RS256"], options={"verify_aud": False})
        except jwt.InvalidTokenError:
            start("401 Unauthorized", [("content-length", "0")])
            return [b""]
        for name in [each for each in environ if each.startswith("HTTP_X_GOOG_")]:
            environ[name.replace("_GOOG_", "_AMZ_")] = environ.pop(name)
        environ["HTTP_AUTHORIZATION"] = _SOMEBODY
        if environ["REQUEST_METHOD"] == "DELETE" and not environ["QUERY_STRING"] and self._lacks(environ):
            start("404 Not Found", [("content-length", "0")])
            return [b""]
        answer: Iterable[bytes] = self._s3(environ, start)
        return answer

    def _lacks(self, environ: _Environ) -> bool:
        told: list[str] = []
        for _ in self._s3({**environ, "REQUEST_METHOD": "HEAD"}, lambda status, *_: told.append(status)):
            pass
        return told[0].startswith("404")


@contextmanager
def running_gcs() -> Iterator[GcsServer]:
    """Start a server on a free port, and stop it."""
    skip_in_fast_run("object store")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    key = rsa.generate_private_key(65537, 2048)
    application = _Google(key.public_key())
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "gcs_base_url": url,
        "client_email": "storage@tests.example",
        "private_key": pem.decode(),
        "private_key_id": "1",
    }
    try:
        _make_bucket(url, pem)
        yield GcsServer(url, json.dumps(account))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _make_bucket(url: str, pem: bytes) -> None:
    client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")  # fmt: skip
    token = jwt.encode({"sub": "storage@tests.example"}, pem, "RS256")

    def show_token(request: Any, **_: object) -> None:
        request.headers["Authorization"] = f"Bearer {token}"

    client.meta.events.register("before-send.s3", show_token)
    client.create_bucket(Bucket=BUCKET)
    client.close()
    client.close()
