"""One platform for the official clients, with their tables in it."""

import time
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest

from tests.platform import Platform, platform

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def client_platform() -> Iterator[Platform]:
    """A platform on the embedded default, with the schema of the client tests."""
    with platform() as one:
        done = one.command("psql", "-f", str(HERE / "schema.sql"))
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("secrets")
        yield one


@pytest.fixture(scope="session")
def tokens(client_platform: Platform) -> dict[str, str]:
    """Access tokens of two people, signed with the platform's secret."""
    secret, now = client_platform.values["JWT_SECRET"], int(time.time())
    claims = {"role": "authenticated", "aud": "authenticated", "exp": now + 3600}
    return {
        f"TOKEN_{name.upper()}": jwt.encode({**claims, "sub": name}, secret, algorithm="HS256")
        for name in ("ada", "bob")
    }
