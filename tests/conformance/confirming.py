"""A platform on which addresses are confirmed and every other way in is open; and the provider beside it.

The provider is the OpenID stand-in of the accounts' own tests. It runs in a thread: the synchronous client waits in
the loop of the tests. Who is signed in there is named by `login_hint`, an address.
"""

import asyncio
import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from joserfc.jwk import ECKey, OctKey

from schemas.settings.auth import DEVELOPMENT_JWT_SECRET
from tests.workers.auth.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider, Person, running

SITE = "http://localhost:3000"
SIGNING_KEY = "in use"
SWITCHES = (
    "EMAIL_ENABLE_CONFIRMATIONS", "EMAIL_SECURE_PASSWORD_CHANGE", "SMS_ENABLE_SIGNUP", "SMS_ENABLE_CONFIRMATIONS",
    "ENABLE_ANONYMOUS_SIGN_INS", "ENABLE_MANUAL_LINKING", "PASSKEY_ENABLED", "WEB3_SOLANA_ENABLED", "WEB3_ETHEREUM_ENABLED",
    "OAUTH_SERVER_ENABLED", "OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION", "EXTERNAL_KEYCLOAK_ENABLED",
)  # fmt: skip
LIMITS = (
    "EMAIL_SENT", "SMS_SENT", "ANONYMOUS_USERS", "TOKEN_REFRESH", "SIGN_IN_SIGN_UPS", "TOKEN_VERIFICATIONS", "WEB3", "PASSKEY",
)  # fmt: skip


@dataclass
class Realm(OidcProvider):
    """An OpenID provider whose people come by their address."""

    def who(self, hint: str | None) -> Person:
        """Give the person with an address; the same each time."""
        if hint is None:
            return self.person
        return Person(sub=hashlib.sha256(hint.encode()).hexdigest()[:16], email=hint, name=hint.split("@")[0])

    def access_token_of(self, person: Person) -> str:
        """Give a token of this person's own: several sign in at once."""
        return f"access-{person.sub}"


@contextlib.contextmanager
def provider() -> Iterator[str]:
    """Run the provider in a thread and give its URL."""
    started, asked_to_stop = threading.Event(), asyncio.Event()
    loop, realm = asyncio.new_event_loop(), Realm()

    async def serve() -> None:
        async with running(realm):
            started.set()
            await asked_to_stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        assert started.wait(10), "the provider did not start"
        yield realm.url
    finally:
        loop.call_soon_threadsafe(asked_to_stop.set)
        thread.join(10)
        loop.close()


def settings(provider_url: str) -> dict[str, str]:
    """Give the environment of the platform: every feature of the accounts but SAML is on."""
    factors = [
        f"MFA_{kind}_{what}"
        for kind in ("PHONE", "WEB_AUTHN", "RECOVERY_CODES")
        for what in ("ENROLL", "VERIFY")
    ]
    told = {
        "SITE_URL": SITE,
        "ADDITIONAL_REDIRECT_URLS": f"{SITE}/**,http://127.0.0.1:*/**,myapp://**",
        "JWT_KEYS": _keys(),
        "WEBAUTHN_RP_ID": "localhost",
        "WEBAUTHN_RP_ORIGINS": SITE,
        "OAUTH_SERVER_AUTHORIZATION_URL_PATH": "/oauth/consent",
        "EXTERNAL_KEYCLOAK_CLIENT_ID": CLIENT_ID,
        "EXTERNAL_KEYCLOAK_SECRET": CLIENT_SECRET,
        "EXTERNAL_KEYCLOAK_URL": provider_url,
        "MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY": "0",
        "EMAIL_MAX_FREQUENCY": "0s",
        "SMS_MAX_FREQUENCY": "0s",
        "MFA_PHONE_MAX_FREQUENCY": "0s",
    }
    told |= dict.fromkeys((*SWITCHES, *(f"{factor}_ENABLED" for factor in factors)), "true")
    told |= dict.fromkeys((f"RATE_LIMIT_{name}" for name in LIMITS), "0")
    return {f"HEADWATER_AUTH_{name}": value for name, value in told.items()}


def _keys() -> str:
    """Make the signing keys: one of ES256 that signs, and the old secret, with which the API keys are signed."""
    signing = ECKey.generate_key("P-256", {"kid": SIGNING_KEY, "alg": "ES256", "key_ops": ["sign", "verify"]})
    old = OctKey.import_key(DEVELOPMENT_JWT_SECRET, {"kid": "old", "alg": "HS256", "key_ops": ["verify"]})
    return json.dumps([signing.as_dict(private=True), old.as_dict(private=True)])
