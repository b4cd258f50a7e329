"""An Azure Blob Storage server for these tests: Azurite, of the npm package that is pinned beside this file."""

import base64
import hashlib
import hmac
import os
import re
import secrets
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

from schemas.keys.secret import Secret
from schemas.settings.storage import Azure, Storage
from tests.fast import skip_in_fast_run
from tests.node_packages import install_packages

ACCOUNT, CONTAINER = "headwater", "files"
_HERE = Path(__file__).parent / "azurite"
_PROGRAM = _HERE / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
_VERSION = "2023-11-03"
_LISTENING = re.compile(r"successfully listens? on (http://\S+)|successfully listening at (http://\S+)")


@dataclass(frozen=True)
class AzureServer:
    """A running server with one container."""

    url: str
    key: str = field(repr=False)

    def settings(self, **changed: Any) -> Storage:
        """Give settings of a store in the container, under a prefix of its own."""
        azure: dict[str, Any] = {
            "container": CONTAINER,
            "account_name": ACCOUNT,
            "account_key": Secret(self.key),
            "endpoint": f"{self.url}/{ACCOUNT}",
        }
        return Storage(backend="azure", azure=Azure(**azure | changed))

    def make_container(self) -> None:
        """Make the container, as its owner (Shared Key of the Azure Storage reference)."""
        date = formatdate(usegmt=True)
        headers = f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n"
        resource = f"/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
        signed = hmac.digest(
            base64.b64decode(self.key), ("PUT" + "\n" * 12 + headers + resource).encode(), hashlib.sha256
        )
        request = urllib.request.Request(
            f"{self.url}/{ACCOUNT}/{CONTAINER}?restype=container",
            method="PUT",
            headers={
                "x-ms-date": date,
                "x-ms-version": _VERSION,
                "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}",
            },
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 201


@contextmanager
def running_azure() -> Iterator[AzureServer]:
    """Start a server on a free port, which keeps all in memory, and stop it."""
    skip_in_fast_run("object store")
    install_packages(_HERE)
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    process = subprocess.Popen(
        [
            "node",
            str(_PROGRAM),
            *("--blobHost", "127.0.0.1", "--blobPort", "0"),
            *("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"),
            "--silent",
        ],
        env=os.environ | {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{key}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        server = AzureServer(_address(process), key)
        server.make_container()
        yield server
    finally:
        process.kill()
        process.communicate()


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := _LISTENING.search(line):
            return found[1] or found[2]
    raise AssertionError("the server did not start")
