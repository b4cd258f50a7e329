"""An endpoint whose feature is off says so before it checks anything else: the captcha, the body, the caller."""

from collections.abc import Mapping

import pytest

from tests.workers.auth.auth_pool import AuthPool, SignedInUser

OFF: list[tuple[str, str, object, Mapping[str, object], tuple[int, str]]] = [
    ("POST", "/signup", b"no json", {"enable_signup": False}, (422, "signup_disabled")),
    ("POST", "/signup", {}, {"enable_anonymous_sign_ins": False}, (422, "anonymous_provider_disabled")),
    ("POST", "/otp", {"email": "no address"}, {"email__enable_signup": False}, (422, "email_provider_disabled")),
    ("POST", "/otp", {"email": "no address"}, {"email__magic_link_enabled": False}, (422, "email_provider_disabled")),
    ("POST", "/otp", {"phone": "no number"}, {"sms__enable_signup": False}, (400, "phone_provider_disabled")),
    ("POST", "/magiclink", {}, {"email__magic_link_enabled": False}, (422, "email_provider_disabled")),
    ("POST", "/magiclink", b"no json", {"email__enable_signup": False}, (422, "email_provider_disabled")),
    ("POST", "/recover", b"no json", {"email__enable_signup": False}, (400, "email_provider_disabled")),
    ("POST", "/token?grant_type=web3", b"no json", {}, (422, "web3_provider_disabled")),
    ("POST", "/token?grant_type=web3", {"chain": "bitcoin"}, {}, (422, "web3_provider_disabled")),
    ("POST", "/token?grant_type=web3", {}, {}, (422, "web3_provider_disabled")),
    ("POST", "/sso", b"no json", {}, (404, "saml_provider_disabled")),
    ("GET", "/sso/saml/metadata", None, {}, (404, "saml_provider_disabled")),
    ("POST", "/sso/saml/acs", b"", {}, (404, "saml_provider_disabled")),
    ("POST", "/passkeys/authentication/options", None, {}, (404, "passkey_disabled")),
    ("POST", "/passkeys/authentication/verify", b"no json", {}, (404, "passkey_disabled")),
    ("POST", "/passkeys/registration/options", None, {}, (404, "passkey_disabled")),
    ("POST", "/passkeys/registration/verify", b"no json", {}, (404, "passkey_disabled")),
    ("GET", "/passkeys", None, {}, (404, "passkey_disabled")),
    ("PATCH", "/passkeys/x", b"no json", {}, (404, "passkey_disabled")),
    ("DELETE", "/passkeys/x", None, {}, (404, "passkey_disabled")),
    ("GET", "/user/identities/authorize", None, {}, (404, "manual_linking_disabled")),
    ("DELETE", "/user/identities/x", None, {}, (404, "manual_linking_disabled")),
    ("GET", "/oauth/authorize", None, {}, (404, "feature_disabled")),
    ("GET", "/oauth/authorizations/x", None, {}, (404, "feature_disabled")),
    ("POST", "/oauth/authorizations/x/consent", b"no json", {}, (404, "feature_disabled")),
    ("POST", "/oauth/token", b"", {}, (404, "feature_disabled")),
    ("GET", "/oauth/userinfo", None, {}, (404, "feature_disabled")),
    ("POST", "/oauth/clients/register", b"no json", {}, (404, "feature_disabled")),
    ("GET", "/user/oauth/grants", None, {}, (404, "feature_disabled")),
    ("DELETE", "/user/oauth/grants", None, {}, (404, "feature_disabled")),
    ("GET", "/.well-known/openid-configuration", None, {}, (404, "feature_disabled")),
    ("GET", "/.well-known/oauth-authorization-server", None, {}, (404, "feature_disabled")),
    ("GET", "/scim/v2/Schemas", None, {}, (404, "feature_disabled")),
]  # fmt: skip
"""Method, path, body, the settings that switch the feature off where it is on by default, and the answer."""


@pytest.mark.parametrize(("method", "target", "body", "settings", "answer"), OFF)
async def test_a_feature_that_is_off_is_named_first(
    auth_pool: AuthPool,
    method: str,
    target: str,
    body: object,
    settings: Mapping[str, object],
    answer: tuple[int, str],
):
    guarded = auth_pool.having(captcha__enabled=True, **settings)

    assert (await guarded.refused(method, target, body))[:2] == answer


ROW = "update auth.users set banned_until = now() + interval '1 day' where id = $1::text::uuid"


@pytest.fixture
async def banned(auth_pool: AuthPool) -> SignedInUser:
    """A user who is banned after the sign-in."""
    signed = await auth_pool.sign_up()
    await auth_pool.admin.execute(ROW, signed.id)
    return signed


async def test_a_banned_user_gets_400_of_every_grant_and_403_elsewhere(
    auth_pool: AuthPool, banned: SignedInUser
):
    grants = (
        ("password", {"email": banned.email, "password": "correct horse"}),
        ("refresh_token", {"refresh_token": banned.refresh_token}),
    )

    for grant, body in grants:
        answer = await auth_pool.refused("POST", f"/token?grant_type={grant}", body)
        assert answer == (400, "user_banned", "User is banned")
    for method, path in (
        ("GET", "/user"),
        ("PUT", "/user"),
        ("POST", "/logout"),
        ("GET", "/reauthenticate"),
        ("POST", "/factors"),
    ):
        answer = await auth_pool.refused(method, path, None if method == "GET" else {}, banned.caller)
        assert answer == (403, "user_banned", "User is banned")
