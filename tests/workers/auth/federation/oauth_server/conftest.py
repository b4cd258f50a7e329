"""A pool auth whose OAuth server is on, with the shared secret as its key, and one with a key of its own kind."""

import json
from dataclasses import replace

import pytest
from joserfc.jwk import ECKey

from schemas.keys.secret import Secret
from schemas.keys.signing import public_keys
from tests.workers.auth.auth_pool import AuthPool
from tests.workers.auth.federation.oauth_server.flow import ON, Flow
from workers.auth.build import key_text, signing_key


@pytest.fixture
def flow(auth_pool: AuthPool) -> Flow:
    """The server with access tokens signed by a shared secret."""
    return Flow(auth_pool.having(**ON))


@pytest.fixture(params=[1, 2], ids=["rows", "counted"])
def either(flow: Flow, request: pytest.FixtureRequest) -> Flow:
    """The server with refresh tokens of either version: what both must do."""
    return Flow(flow.auth_pool.having(refresh_token_algorithm_version=request.param))


@pytest.fixture
def asymmetric(auth_pool: AuthPool) -> Flow:
    """The server with a key whose public half everybody may know."""
    key = ECKey.generate_key("P-256", {"kid": "k1", "alg": "ES256", "key_ops": ["sign"]}, private=True)
    made = auth_pool.having(**ON, jwt_keys=Secret(json.dumps([key.as_dict(private=True)])))
    own = made.context.settings
    text = key_text(own)
    context = replace(made.context, key=signing_key(own, text), public_keys=tuple(public_keys(text)))
    return Flow(AuthPool(context, made.admin, made.clock))
