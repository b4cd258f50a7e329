"""Which issuers the settings name, and where their keys are. Source: the public documentation of each."""

from typing import Any

import pytest

from schemas.settings.auth_providers import Auth0, AwsCognito, Clerk, Firebase, ThirdParty, WorkOs
from schemas.settings.tree import SettingsError
from services.keys.issuers import IssuerTemplate, ThirdPartyIssuer, is_safe, third_party_issuers

GOOGLE = "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
POOL = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"firebase": Firebase(True, "my-project")},
            ThirdPartyIssuer("firebase", "https://securetoken.google.com/my-project", GOOGLE, "my-project"),
        ),
        (
            {"auth0": Auth0(True, "acme")},
            ThirdPartyIssuer(
                "auth0", "https://acme.auth0.com/", "https://acme.auth0.com/.well-known/jwks.json"
            ),
        ),
        (
            {"auth0": Auth0(True, "acme", "eu")},
            ThirdPartyIssuer(
                "auth0", "https://acme.eu.auth0.com/", "https://acme.eu.auth0.com/.well-known/jwks.json"
            ),
        ),
        (
            {"aws_cognito": AwsCognito(True, "eu-west-1_AbCdEf123", "eu-west-1")},
            ThirdPartyIssuer("aws_cognito", POOL, POOL + "/.well-known/jwks.json"),
        ),
        ({"clerk": Clerk(True, "clerk.example.com")}, ThirdPartyIssuer("clerk", "https://clerk.example.com")),
        (
            {"workos": WorkOs(True, "https://api.workos.com/user_management/client_1")},
            ThirdPartyIssuer("workos", "https://api.workos.com/user_management/client_1"),
        ),
    ],
)
def test_each_issuer_is_the_one_of_its_documentation(
    settings: dict[str, Any], expected: ThirdPartyIssuer
) -> None:
    assert third_party_issuers(ThirdParty(**settings)) == [expected]


def test_only_issuers_that_are_enabled_are_trusted() -> None:
    settings = ThirdParty(firebase=Firebase(False, "x"), clerk=Clerk(True, "clerk.example.com"))

    assert [each.name for each in third_party_issuers(settings)] == ["clerk"]


@pytest.mark.parametrize(
    ("url", "document"),
    [
        ("https://acme.auth0.com/", "https://acme.auth0.com/.well-known/openid-configuration"),
        ("https://a.example/x", "https://a.example/x/.well-known/openid-configuration"),
    ],
)
def test_the_discovery_document_lies_below_the_issuer(url: str, document: str) -> None:
    assert ThirdPartyIssuer("any", url).discovery_url == document


@pytest.mark.parametrize(
    "settings",
    [
        {"firebase": Firebase(True, "a/b")},
        {"firebase": Firebase(True, "a?b")},
        {"auth0": Auth0(True, "evil.example/x")},
        {"auth0": Auth0(True, "acme", "eu.evil.example#")},
        {"auth0": Auth0(True, "user@evil")},
        {"aws_cognito": AwsCognito(True, "pool", "evil.example/")},
        {"aws_cognito": AwsCognito(True, "../x", "eu-west-1")},
        {"clerk": Clerk(True, "https://clerk.example.com")},
        {"clerk": Clerk(True, "clerk.example.com:8080")},
        {"clerk": Clerk(True, "clerk.example.com/x")},
        {"clerk": Clerk(True, "localhost")},
        {"workos": WorkOs(True, "http://api.workos.com/x")},
        {"workos": WorkOs(True, "api.workos.com")},
        {"workos": WorkOs(True, "file:///etc/passwd")},
    ],
)
def test_a_value_that_would_lead_elsewhere_is_refused_at_the_start(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"^auth\.third_party\.\w+\.\w+ must be "):
        third_party_issuers(ThirdParty(**settings))


def test_our_own_issuer_cannot_be_a_foreign_one() -> None:
    settings = ThirdParty(workos=WorkOs(True, "https://api.example.com/auth/v1"))

    with pytest.raises(SettingsError, match="is our own one"):
        third_party_issuers(settings, {"https://api.example.com/auth/v1"})


def test_two_settings_cannot_name_one_issuer() -> None:
    settings = ThirdParty(
        clerk=Clerk(True, "clerk.example.com"), workos=WorkOs(True, "https://clerk.example.com")
    )

    with pytest.raises(SettingsError, match="is that of clerk"):
        third_party_issuers(settings)


def test_another_table_of_places_takes_the_place_of_ours() -> None:
    places = {
        "firebase": IssuerTemplate(
            "http://127.0.0.1:1/{project_id}", "http://127.0.0.1:1/keys", "{project_id}"
        )
    }

    assert third_party_issuers(ThirdParty(firebase=Firebase(True, "p")), templates=places) == [
        ThirdPartyIssuer("firebase", "http://127.0.0.1:1/p", "http://127.0.0.1:1/keys", "p")
    ]


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://a.example", True),
        ("http://127.0.0.1:8080/x", True),
        ("http://localhost", True),
        ("http://a.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("http://localhost@evil.example", False),
        ("https://", False),
        ("ftp://a.example", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_keys_come_by_https_or_from_this_machine(url: str, safe: bool) -> None:
    assert is_safe(url) is safe
