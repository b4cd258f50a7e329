"""Endpoints with a limit of requests for each client: thirty pass at once, the next one is told when to come back."""

import itertools
import json
import uuid

import pytest

from schemas.keys.secret import Secret
from tests.schemas.rsa_key import RSA_KEY
from tests.workers.auth.auth_pool import ANYBODY, AuthPool, told
from tests.workers.auth.federation.oauth_server.flow import ON as OAUTH_SERVER
from tests.workers.auth.federation.oauth_server.flow import REDIRECT
from tests.workers.auth.passkey_user import PASSKEYS

SIGN_IN, SENT = "rate_limit__sign_in_sign_ups", {"email": "somebody@limits.example.com", "type": "signup"}
LIMITED: list[tuple[str, str, tuple[str, ...], object, int]] = [
    (SIGN_IN, "POST", ("/signup",), {**SENT, "password": "long enough"}, 200),
    (SIGN_IN, "POST", ("/otp",), SENT, 200),
    (SIGN_IN, "POST", ("/magiclink",), SENT, 200),
    (SIGN_IN, "POST", ("/recover",), SENT, 200),
    (SIGN_IN, "POST", ("/resend",), SENT, 200),
    (SIGN_IN, "PUT", ("/user",), {}, 200),
    (SIGN_IN, "GET", ("/reauthenticate",), None, 200),
    ("rate_limit__anonymous_users", "POST", ("/signup",), {}, 200),
    ("rate_limit__token_refresh", "POST", ("/token?grant_type=password", "/token?grant_type=refresh_token", "/token"), {}, 400),
    ("rate_limit__sso", "POST", ("/sso",), {"domain": "nobody.example"}, 404),
    ("saml__rate_limit_assertion", "POST", ("/sso/saml/acs",), b"", 303),
    ("rate_limit__passkey", "POST", ("/passkeys/registration/options", "/passkeys/authentication/options"), {}, 200),
    ("rate_limit__oauth_dynamic_client_register", "POST", ("/oauth/clients/register",), {"redirect_uris": [REDIRECT]}, 201),
    ("rate_limit__token_refresh", "POST", ("/oauth/token",), {}, 400),
    ("rate_limit__token_refresh", "GET", ("/oauth/authorize",), None, 400),
    ("mfa__rate_limit_challenge_and_verify", "POST", ("/factors/recovery-codes/verify",), {"code": "x"}, 422),
]  # fmt: skip
"""The setting, the method, the paths that count together, a body, and the status below the limit."""


@pytest.mark.parametrize(("setting", "method", "paths", "body", "status"), LIMITED)
async def test_thirty_requests_of_a_client_pass_at_once(
    mailed: AuthPool, setting: str, method: str, paths: tuple[str, ...], body: object, status: int
):
    everything = {**OAUTH_SERVER, **PASSKEYS, "saml__enabled": True, "saml__private_key": Secret(RSA_KEY)}
    rate = (
        30.0 if setting == "rate_limit__anonymous_users" else 1.0
    )  # a bucket by the hour holds its rate at most
    limited = mailed.having(**{**everything, setting: rate})
    signed = await mailed.having(email__enable_confirmations=False).sign_up()
    caller = ANYBODY if status == 303 else signed.caller
    client = f"2001:db8:{uuid.uuid4().hex[:4]}:{uuid.uuid4().hex[:4]}::1"

    answers = [
        await limited.send(method, path, body, caller, client=client)
        for path in itertools.islice(itertools.cycle(paths), 32)
    ]

    assert [each.status for each in answers[:30]] == [status] * 30
    assert answers[-1].status == 429
    assert int(told(answers[-1], "retry-after")) >= 1
    assert "over_request_rate_limit" in json.loads(answers[-1].body).values()
