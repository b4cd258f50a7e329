"""What a browser does with passkeys and security keys, for the tests: one project that has them, and ways to use it."""

from typing import Any

from tests.workers.auth.auth_pool import AuthPool, SignedInUser
from tests.workers.credentials.authenticator import ORIGIN, RP_ID, VERIFIED, Authenticator

PASSKEYS = {
    "passkey__enabled": True,
    "webauthn__rp_id": RP_ID,
    "webauthn__rp_display_name": "Example",
    "webauthn__rp_origins": [ORIGIN],
    "rate_limit__passkey": 0.0,
    "mfa__web_authn__enroll_enabled": True,
    "mfa__web_authn__verify_enabled": True,
    "mfa__rate_limit_challenge_and_verify": 0.0,
}
REGISTRATION, AUTHENTICATION = "/passkeys/registration", "/passkeys/authentication"
MISBEHAVED = {
    "origin": Authenticator(origin="https://evil.example"),
    "party": Authenticator(rp_id="evil.example"),
    "challenge": Authenticator(challenge=b"x" * 32),
    "presence": Authenticator(flags=VERIFIED),
    "frame": Authenticator(client_data={"crossOrigin": True}),
}
"""Authenticators whose answers break one rule each. Use a copy with keys of its own: `replace(..., held=[])`."""


async def register(auth_pool: AuthPool, signed: SignedInUser, one: Authenticator) -> dict[str, Any]:
    """Make a passkey, and give it as the server does."""
    answer = await registering(auth_pool, signed, one)
    made: dict[str, Any] = await auth_pool.ok("POST", f"{REGISTRATION}/verify", answer, signed.caller)
    return made


async def registering(
    auth_pool: AuthPool, signed: SignedInUser, one: Authenticator, **how: Any
) -> dict[str, Any]:
    """Return the answer of an authenticator that was asked for a passkey."""
    asked = await auth_pool.ok("POST", f"{REGISTRATION}/options", {}, signed.caller)
    return {"challenge_id": asked["challenge_id"], "credential": one.create(asked["options"], **how)}


async def entering(auth_pool: AuthPool, one: Authenticator) -> dict[str, Any]:
    """Return the answer of an authenticator that was asked to sign in."""
    asked = await auth_pool.ok("POST", f"{AUTHENTICATION}/options", {})
    return {"challenge_id": asked["challenge_id"], "credential": one.get(asked["options"])}


async def enter(auth_pool: AuthPool, one: Authenticator) -> SignedInUser:
    """Sign in."""
    answer = await entering(auth_pool, one)
    return auth_pool.signed(await auth_pool.ok("POST", f"{AUTHENTICATION}/verify", answer))


async def enrolled(auth_pool: AuthPool, signed: SignedInUser, one: Authenticator) -> tuple[str, SignedInUser]:
    """Set up a security key as second factor; give its id and the session that it raised."""
    id = await begun(auth_pool, signed)
    answer = await answering(auth_pool, signed, one, id)
    raised = await auth_pool.ok("POST", f"/factors/{id}/verify", answer, signed.caller)
    return id, auth_pool.signed(raised)


async def begun(auth_pool: AuthPool, signed: SignedInUser, name: str = "") -> str:
    """Begin a factor, and give its id."""
    body = {"factor_type": "webauthn", "friendly_name": name}
    return str((await auth_pool.ok("POST", "/factors", body, signed.caller))["id"])


async def challenged(auth_pool: AuthPool, signed: SignedInUser, id: str) -> dict[str, Any]:
    """Ask for a challenge of a factor, as the official client does."""
    body = {"webauthn": {"rpId": "localhost", "rpOrigins": ["http://localhost"]}}
    asked: dict[str, Any] = await auth_pool.ok("POST", f"/factors/{id}/challenge", body, signed.caller)
    return asked


async def answering(auth_pool: AuthPool, signed: SignedInUser, one: Authenticator, id: str) -> dict[str, Any]:
    """Return the answer of an authenticator to a challenge of a factor."""
    return answer_to(await challenged(auth_pool, signed, id), one)


def answer_to(asked: dict[str, Any], one: Authenticator) -> dict[str, Any]:
    """Return the answer of an authenticator to a challenge."""
    type, options = asked["webauthn"]["type"], asked["webauthn"]["credential_options"]["publicKey"]
    made = one.create(options) if type == "create" else one.get(options)
    return {"challenge_id": asked["id"], "webauthn": {"type": type, "credential_response": made}}
