"""What tests of second factors share: an app that shows codes, and the steps of the endpoints."""

import uuid
from dataclasses import dataclass
from typing import Any

import pyotp

from tests.workers.auth.auth_pool import AuthPool, SignedInUser

OPEN_FACTORS: dict[str, object] = {
    "mfa__rate_limit_challenge_and_verify": 0.0,
    "mfa__phone__enroll_enabled": True,
    "mfa__phone__verify_enabled": True,
    "mfa__recovery_codes__enroll_enabled": True,
    "mfa__recovery_codes__verify_enabled": True,
}
"""Settings under which every kind of factor is open; all tests come from one address."""

NOT_FOUND = (404, "mfa_factor_not_found", "Factor not found")
WRONG_TOTP = (422, "mfa_verification_failed", "Invalid TOTP code entered")


@dataclass
class App:
    """A factor of type totp, as its owner has it: an id, and an app that was told the secret."""

    auth_pool: AuthPool
    id: str
    secret: str

    def code(self, steps: int = 0) -> str:
        """Return what the app shows now, or so many steps of 30 seconds later."""
        return pyotp.TOTP(self.secret).at(int(self.auth_pool.clock()), counter_offset=steps)

    def wrong(self) -> str:
        """Return a code that is none of those that may be right now."""
        right = {self.code(steps) for steps in range(-2, 3)}
        return next(code for number in range(10) if (code := f"{number:06d}") not in right)

    async def challenge(self, signed: SignedInUser) -> str:
        return str(
            (await self.auth_pool.ok("POST", f"/factors/{self.id}/challenge", None, signed.caller))["id"]
        )

    async def verify(self, signed: SignedInUser, code: str | None = None) -> SignedInUser:
        """Take the whole way: a challenge, and the right answer."""
        body = {"challenge_id": await self.challenge(signed), "code": code or self.code()}
        return self.auth_pool.signed(
            await self.auth_pool.ok("POST", f"/factors/{self.id}/verify", body, signed.caller)
        )

    async def refused(
        self, signed: SignedInUser, code: str, challenge: str | None = None, **headers: str
    ) -> tuple[int, str, str]:
        """Return a wrong answer to a challenge; to a new one, if none is given."""
        body = {"challenge_id": challenge or await self.challenge(signed), "code": code}
        return await self.auth_pool.refused(
            "POST", f"/factors/{self.id}/verify", body, signed.caller, **headers
        )


async def enroll_app(auth_pool: AuthPool, signed: SignedInUser, **more: object) -> App:
    """Begin a factor of type totp."""
    made = await auth_pool.ok("POST", "/factors", {"factor_type": "totp", **more}, signed.caller)
    return App(auth_pool, made["id"], made["totp"]["secret"])


async def with_app(auth_pool: AuthPool) -> tuple[SignedInUser, App]:
    """Sign somebody up who sets an app up; the session is at aal2, and the step of the clock is used."""
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    return await app.verify(signed), app


def settle(auth_pool: AuthPool) -> AuthPool:
    """Let time pass until a step of 30 seconds is some seconds old, so that it does not end within a test."""
    auth_pool.clock.forward(seconds=(8 - auth_pool.clock()) % 30)
    return auth_pool


def next_step(auth_pool: AuthPool) -> None:
    """Let time pass until apps show another code."""
    auth_pool.clock.forward(seconds=30)


async def factors_of(auth_pool: AuthPool, signed: SignedInUser) -> list[dict[str, Any]]:
    """Return the factors that the user object shows."""
    shown = await auth_pool.ok("GET", "/user", None, signed.caller)
    return list(shown.get("factors", []))


async def aal_of(auth_pool: AuthPool, session_id: str) -> str:
    return str(await auth_pool.value("select aal from auth.sessions where id = $1", uuid.UUID(session_id)))
