"""What is Azure's own: verified domains, tenants, customer directories."""

from dataclasses import replace

import pytest

from tests.workers.auth.federation.providers.conftest import Abroad
from workers.auth.federation.providers.azure import COMMON, azure_signers, read_azure
from workers.auth.federation.providers.client import ProviderClient


@pytest.fixture
def client(abroad: Abroad) -> ProviderClient:
    return ProviderClient("azure", abroad.context.outgoing, abroad.context.documents, abroad.context.clock)


@pytest.mark.parametrize(
    ("claims", "is_verified"),
    [
        ({}, True),
        ({"xms_edov": True}, True),
        ({"xms_edov": "1"}, True),
        ({"xms_edov": "true"}, True),
        ({"xms_edov": 1}, True),
        ({"xms_edov": False}, False),
        ({"xms_edov": "0"}, False),
        ({"xms_edov": "false"}, False),
        ({"xms_edov": None}, False),
        ({"xms_edov": {}}, False),
    ],
)
def test_an_address_is_verified_unless_its_domain_is_not(claims: dict[str, object], is_verified: bool):
    person = read_azure({"sub": "1", "email": "a@b.org", **claims})

    assert [each.is_verified for each in person.emails] == [is_verified]


def test_claims_of_the_token_itself_are_not_shown():
    person = read_azure({"sub": "1", "aud": "c", "exp": 1, "nonce": "n", "at_hash": "h", "roles": ["a"]})

    assert person.claims["custom_claims"] == {"roles": ["a"]}


def test_a_tenant_of_the_settings_signs_alone(client: ProviderClient):
    own = replace(client, url="https://login.microsoftonline.com/contoso.onmicrosoft.com")
    directory = "https://contoso.ciamlogin.com/5a/v2.0"

    assert [each.issuer for each in azure_signers(own, directory)] == [f"{own.url}/v2.0"]
    assert [each.issuer for each in azure_signers(client, directory)] == [directory]
    assert [each.issuer for each in azure_signers(client, "https://evil.example.com")] == [f"{COMMON}/v2.0"]


@pytest.mark.parametrize(
    "named",
    [
        "https://contoso.ciamlogin.com.evil.com/5a/v2.0",
        "https://evil.com/contoso.ciamlogin.com/v2.0",
        "https://evil.com#.ciamlogin.com/5a/v2.0",
        "http://contoso.ciamlogin.com/5a/v2.0",
        "https://contoso.ciamlogin.com/5a/v2.0?x",
        "https://contoso.ciamlogin.com/5a/b/v2.0",
        "https://a.b.ciamlogin.com/5a/v2.0",
        "https://contoso.ciamlogin.com/5a/v2.0\n",
    ],
)
def test_only_customer_directories_sign_for_themselves(client: ProviderClient, named: str):
    assert [each.issuer for each in azure_signers(client, named)] == [f"{COMMON}/v2.0"]
