"""One platform that the attacks share; an attack that needs other settings starts its own."""

import time
from collections.abc import Iterator

import jwt
import pytest

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
