"""GET /health, /settings and /.well-known/jwks.json: what anybody may know. Reference, sections 1.3, 2.5 and 3.2."""

import json

import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import TwilioSettings
from schemas.settings.auth_providers import ProviderSettings
from tests.workers.auth.auth_pool import AuthPool, told

PROVIDERS = [
    "apple", "azure", "bitbucket", "discord", "facebook", "snapchat", "figma", "fly", "github", "gitlab", "google",
    "keycloak", "kakao", "linkedin", "linkedin_oidc", "notion", "spotify", "slack", "slack_oidc", "workos", "twitch",
    "twitter", "x", "zoom",
]  # fmt: skip


async def test_a_new_project_is_entered_by_address_and_password(plain: AuthPool):
    assert await plain.ok("GET", "/settings") == {
        "external": {
            "anonymous_users": False,
            "email": True,
            "phone": False,
            **dict.fromkeys(PROVIDERS, False),
        },
        "disable_signup": False,
        "mailer_autoconfirm": True,
        "phone_autoconfirm": True,
        "sms_provider": "",
        "saml_enabled": False,
        "saml_private_key_next_configured": False,
        "passkeys_enabled": False,
    }


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("enable_signup", False, "disable_signup"),
        ("saml__enabled", True, "saml_enabled"),
        ("saml__private_key_next", Secret("x"), "saml_private_key_next_configured"),
        ("passkey__enabled", True, "passkeys_enabled"),
    ],
)
async def test_each_switch_shows(plain: AuthPool, key: str, value: object, name: str):
    before = await plain.ok("GET", "/settings")

    after = await plain.having(**{key: value}).ok("GET", "/settings")

    assert {each for each in after if after[each] != before[each]} == {name}
    assert after[name] is True


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("email__enable_confirmations", "mailer_autoconfirm"),
        ("sms__enable_confirmations", "phone_autoconfirm"),
    ],
)
async def test_what_is_confirmed_is_not_at_once(plain: AuthPool, key: str, name: str):
    assert (await plain.having(**{key: True}).ok("GET", "/settings"))[name] is False


@pytest.mark.parametrize("name", PROVIDERS)
async def test_each_provider_shows(plain: AuthPool, name: str):
    open_ = plain.having(
        **{f"external__{name}": ProviderSettings(enabled=True, client_id="id", secret=Secret("s"))}
    )

    shown = await open_.ok("GET", "/settings")

    assert [each for each, is_open in shown["external"].items() if is_open] == [name, "email"]
    assert "secret" not in json.dumps(shown)


@pytest.mark.parametrize(
    ("key", "name", "value"),
    [
        ("enable_anonymous_sign_ins", "anonymous_users", True),
        ("sms__enable_signup", "phone", True),
        ("email__enable_signup", "email", False),
    ],
)
async def test_each_way_in_of_our_own_shows(plain: AuthPool, key: str, name: str, value: bool):
    assert (await plain.having(**{key: value}).ok("GET", "/settings"))["external"][name] is value


async def test_the_provider_of_messages_shows(plain: AuthPool):
    twilio = TwilioSettings(enabled=True, account_sid="AC", message_service_sid="MG", auth_token=Secret("t"))

    assert (await plain.having(sms__twilio=twilio).ok("GET", "/settings"))["sms_provider"] == "twilio"


async def test_the_service_says_that_it_is_there(plain: AuthPool):
    shown = await plain.ok("GET", "/health")

    assert set(shown) == {"version", "name", "description"}
    assert all(shown.values())


async def test_a_shared_secret_is_never_listed(plain: AuthPool):
    response = await plain.send("GET", "/.well-known/jwks.json")

    assert json.loads(response.body) == {"keys": []}
    assert told(response, "cache-control") == "public, max-age=600"
