"""One platform for the operations that need other pools, and administrators who use it over HTTP with tokens."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.platform import Platform, platform


@dataclass(frozen=True)
class RemoteAdministrator:
    """Runs operations over HTTP with a token."""

    platform: Platform
    token: str

    def send(self, operation: str, arguments: object) -> tuple[int, Any]:
        """Run an operation and return status and decoded body."""
        request = urllib.request.Request(
            f"{self.platform.url}/management/v1/operations/{operation}",
            json.dumps(arguments).encode(),
            {"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def run(self, operation: str, /, **arguments: object) -> Any:
        """Run an operation that must succeed and return its result."""
        status, body = self.send(operation, arguments)
        assert status == 200, (operation, status, body)
        return body

    def refused(self, operation: str, /, **arguments: object) -> tuple[int, str]:
        """Run an operation that must fail and return status and code."""
        status, body = self.send(operation, arguments)
        assert status != 200, (operation, body)
        assert status < 500, (operation, status, body)
        return status, body["code"]


@pytest.fixture(scope="package")
def managed() -> Iterator[Platform]:
    """A running platform with the default settings."""
    with platform() as running:
        yield running


def administrator(managed: Platform, name: str, *options: str) -> RemoteAdministrator:
    """Return an administrator with a new token of the command line."""
    made = managed.command("admin", "token", name, *options)
    assert made.returncode == 0, made.stderr
    return RemoteAdministrator(managed, made.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="package")
def developer(managed: Platform) -> RemoteAdministrator:
    """A developer whose token may write."""
    return administrator(managed, "developer", "--rights", "developer", "--write")


@pytest.fixture(scope="package")
def reader(managed: Platform) -> RemoteAdministrator:
    """A reader."""
    return administrator(managed, "reader", "--rights", "reader")
