"""Tokens shown to a function that are no tokens."""

import base64

import pytest

from schemas.settings.functions import FunctionSettings
from tests.attacks.hosting import Hosting

GUARDED = FunctionSettings(verify_jwt=True)


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"alg":['])
def test_a_header_that_is_nested_deep_is_no_token(hosting: Hosting, opening: str) -> None:
    assert hosting.deploy("guarded", "Deno.serve(() => new Response('in'));", GUARDED)[0] == 200
    head = base64.urlsafe_b64encode((opening * 3000).encode()).decode().rstrip("=")

    status, body = hosting.platform.get("/functions/v1/guarded", {"Authorization": f"Bearer {head}.e30.x"})

    assert status == 401, body
