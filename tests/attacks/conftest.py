"""One platform that the attacks share; an attack that needs other settings starts its own."""

import os
import time
from collections.abc import Iterator

import jwt
import pytest

from tests.attacks.hosting import Hosting
from tests.attacks.ordinary_user import platform_of_ordinary_user
from tests.platform import Platform, platform


@pytest.fixture(scope="package")
def target() -> Iterator[Platform]:
    """A running platform with default settings."""
    with platform() as running:
        yield running


def access_token(target: Platform, **claims: object) -> str:
    """Sign an access token with the platform's secret; role `authenticated` and one hour unless the claims say otherwise."""
    payload = {"role": "authenticated", "exp": int(time.time()) + 3600, **claims}
    return jwt.encode(payload, target.values["JWT_SECRET"], algorithm="HS256")


@pytest.fixture(scope="package")
def ordinary() -> Iterator[Platform]:
    """A platform that an ordinary user started, as in the container image."""
    with platform_of_ordinary_user() as running:
        yield running


@pytest.fixture(params=["root", "ordinary user"])
def hosting(request: pytest.FixtureRequest) -> Hosting:
    """A platform that hosts hostile functions: started by root, and by an ordinary user."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("only root starts a platform as root")
    return Hosting(request.getfixturevalue("target" if request.param == "root" else "ordinary"))
