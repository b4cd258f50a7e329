"""Captcha: proof that a person is there, checked by the service that gave the riddle.

Source: reference page "auth", section 22.
"""

import re

import msgspec

from workers.auth.context import Accounts
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked
from workers.http_client.client import Fetched, FetchFailed

_LONGEST_TOKEN = 16 * 1024
"""Characters; tokens of both services are a few thousand at most."""
_MOST_BYTES = 64 * 1024
_WORD = re.compile(r"[a-z0-9-]{1,64}")


class Security(msgspec.Struct):
    """What a body brings for the captcha."""

    captcha_token: str | None = None


class Body(msgspec.Struct):
    """The one member of a body that is looked at here."""

    gotrue_meta_security: Security | None = None


class _Verdict(msgspec.Struct):
    success: bool = False
    error_codes: list[str] = msgspec.field(name="error-codes", default_factory=list)


async def check(accounts: Accounts, asked: Asked) -> None:
    """Raise if the settings want a captcha and the request brings none that holds. Admins need none.

    Raises: AuthError (400); (500) if the service cannot be asked.
    """
    own = accounts.settings.captcha
    if not own.enabled or _is_admin(accounts, asked):
        return
    security = asked.read(Body).gotrue_meta_security
    token = (security.captcha_token if security else None) or ""
    if not token.strip():
        raise rejections.CAPTCHA_FAILED(reason="no captcha_token found in request")
    if len(token) > _LONGEST_TOKEN:
        raise rejections.CAPTCHA_FAILED(reason="invalid-input-response")
    verdict = await _verdict(accounts, token, asked.device.address)
    if not verdict.success:
        codes = [code for code in verdict.error_codes if _WORD.fullmatch(code)]
        raise rejections.CAPTCHA_FAILED(reason=", ".join(codes[:10]) or "not passed")


async def _verdict(accounts: Accounts, token: str, address: str) -> _Verdict:
    own = accounts.settings.captcha
    services = accounts.services
    url = services.turnstile if own.provider == "turnstile" else services.hcaptcha
    form = {"secret": own.secret.reveal() if own.secret else "", "response": token}
    if address:
        form["remoteip"] = address
    try:
        answer = await accounts.outgoing.fetch(
            "POST", url, form=form, timeout_s=float(own.timeout), most_bytes=_MOST_BYTES
        )
        return _read(answer)
    except FetchFailed:
        raise AuthError(Code.UNEXPECTED_FAILURE, "captcha verification process failed") from None


def _read(answer: Fetched) -> _Verdict:
    """Read the service's answer; both say what is wrong in JSON, whatever the status. Raises: FetchFailed."""
    try:
        return msgspec.json.decode(answer.body, type=_Verdict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise FetchFailed(f"status {answer.status} without an answer that can be read") from None


def _is_admin(accounts: Accounts, asked: Asked) -> bool:
    try:
        asked.refuse_unless_admin(accounts.settings.jwt_admin_roles)
    except AuthError:
        return False
    return True
