"""TOTP (RFC 6238), the codes of authenticator apps: secrets, `otpauth:` URLs, and the time step of a code. Pure.

A code is an HMAC of the number of 30-second steps since 1970, with a secret that app and server share. SHA-1, 6 digits; codes
of the step before or after are accepted too, because clocks differ. Each step counts once, so that whoever saw a code being
typed cannot use it again. Sources: docs/reference/auth.md, section 9; RFC 6238.
"""

import base64
import hmac
import re
import secrets
from urllib.parse import quote, urlencode

import pyotp

SECRET_BYTES = 20
STEP_S = 30
_SKEW = 1
_CODE = re.compile(r"[0-9]{6}", re.ASCII)


def new_secret() -> str:
    """Return a random secret as apps read it: base32, 32 characters."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def address_of(secret: str, issuer: str, account: str) -> str:
    """Return the `otpauth://` URL from which an app reads a secret; the app displays issuer and account."""
    label = f"{quote(issuer, safe='')}:{quote(account, safe='@')}"
    parameters = {
        "algorithm": "SHA1",
        "digits": "6",
        "issuer": issuer,
        "period": str(STEP_S),
        "secret": secret,
    }
    return f"otpauth://totp/{label}?{urlencode(parameters, quote_via=quote)}"


def step_of(code: str, secret: str, at: float, last_step: int | None) -> int | None:
    """Return the time step of a code; None if the code is wrong or its step was used before.

    `at` is the present time in epoch seconds; `last_step` the last step of which a code was accepted.
    """
    if not _CODE.fullmatch(code):
        return None
    app, now = pyotp.TOTP(secret), int(at) // STEP_S
    match = None
    # Compute all steps and compare in constant time: the duration must not reveal which step matched.
    for step in range(max(0, now - _SKEW), now + _SKEW + 1):
        is_of_step = hmac.compare_digest(app.generate_otp(step), code)
        if is_of_step and (last_step is None or step > last_step):
            match = step
    return match
