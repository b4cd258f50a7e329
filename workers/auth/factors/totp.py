"""Codes of an authenticator app: a secret, the address that an app reads it from, and which time step a code is of. Pure.

SHA-1, 6 digits, steps of 30 seconds; a code of the step before or after is taken too, for clocks that differ. Each step
counts once: whoever saw a code being typed cannot use it again. Source: reference page "auth", section 9; RFC 6238.
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
    """Draw a secret, as apps read it: base32, 32 signs."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def address_of(secret: str, issuer: str, account: str) -> str:
    """Give the `otpauth://` address from which an app takes a secret; issuer and account are what it shows."""
    label = f"{quote(issuer, safe='')}:{quote(account, safe='@')}"
    told = {
        "algorithm": "SHA1",
        "digits": "6",
        "issuer": issuer,
        "period": str(STEP_S),
        "secret": secret,
    }
    return f"otpauth://totp/{label}?{urlencode(told, quote_via=quote)}"


def step_of(code: str, secret: str, at: float, last_step: int | None) -> int | None:
    """Give the step that a code is of, None if it is wrong or its step was used before.

    `at` is the present time in epoch seconds; `last_step` the last step of which a code was taken.
    """
    if not _CODE.fullmatch(code):
        return None
    app, now = pyotp.TOTP(secret), int(at) // STEP_S
    found = None
    for step in range(max(0, now - _SKEW), now + _SKEW + 1):
        is_of_step = hmac.compare_digest(app.generate_otp(step), code)
        if is_of_step and (last_step is None or step > last_step):
            found = step
    return found
