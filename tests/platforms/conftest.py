"""One platform for the tests of a whole platform, with a schema to do harm to."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest

from tests.platform import Platform, platform

HERE = Path(__file__).parent


@pytest.fixture(scope="package")
def running_platform() -> Iterator[Platform]:
    """A platform on the embedded default."""
    with platform() as one:
        done = one.command("psql", "-f", str(HERE / "schema.sql"))
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("journal")
        yield one


@pytest.fixture(scope="package")
def service(running_platform: Platform) -> dict[str, str]:
    """Headers of a trusted server."""
    return {"apikey": running_platform.values["SERVICE_ROLE_KEY"], "content-type": "application/json"}


def token(running_platform: Platform, **claims: object) -> str:
    """Sign an access token with the platform's secret."""
    whole = {"role": "authenticated", "exp": int(time.time()) + 3600, **claims}
    return jwt.encode(whole, running_platform.values["JWT_SECRET"], algorithm="HS256")


def pid_of(running_platform: Platform, name: str) -> int:
    """Give the process id of a part of the platform that runs now."""
    state = json.loads((running_platform.data / "state.json").read_text())
    return next(int(child["pid"]) for child in state["children"] if child["name"] == name and child["pid"])
