"""What is WorkOS' own: a client must say which sign-on it means."""

import pytest

from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import CALLBACK
from workers.auth.federation.social.protocol import AuthorizationRequest, ProviderError


@pytest.mark.parametrize("name", ["connection", "organization", "provider"])
async def test_one_of_three_parameters_is_enough(abroad: Abroad, name: str):
    provider = await abroad.with_provider("workos").provider("workos")

    destination = await provider.authorization_url(
        AuthorizationRequest("s", CALLBACK, extra_query={name: "which"})
    )

    assert f"{name}=which" in destination.url


@pytest.mark.parametrize("given", [{}, {"connection": ""}, {"domain": "example.com"}])
async def test_without_one_of_them_nobody_is_sent_away(abroad: Abroad, given: dict[str, str]):
    provider = await abroad.with_provider("workos").provider("workos")

    with pytest.raises(ProviderError, match="connection, organization, provider"):
        await provider.authorization_url(AuthorizationRequest("s", CALLBACK, extra_query=given))
