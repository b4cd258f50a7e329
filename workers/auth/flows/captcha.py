"""Captcha: the client sends a token of hCaptcha or Turnstile, and that service is asked whether it is valid.

Source: docs/reference/auth.md, section 22.
"""

import re

import msgspec

from schemas.keys.secret_record import SecretRecord
from workers.auth.delivery.context import DeliveryContext
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest
from workers.http_client.client import FetchedResponse, FetchFailed

_MAX_TOKEN = 16 * 1024
"""Characters; tokens of both services have a few thousand at most."""
_MOST_BYTES = 64 * 1024
_WORD = re.compile(r"[a-z0-9-]{1,64}")


class CaptchaSecurity(SecretRecord, msgspec.Struct):
    """The captcha member of a body."""

    captcha_token: str | None = None


class CaptchaBody(msgspec.Struct):
    """A body, of which only the captcha member is read here."""

    gotrue_meta_security: CaptchaSecurity | None = None


class _Verdict(msgspec.Struct):
    success: bool = False
    error_codes: list[str] = msgspec.field(name="error-codes", default_factory=list)


async def check(context: DeliveryContext, request: AuthRequest) -> None:
    """Raise if the settings require a captcha and the request lacks a valid one. Administrators are exempt."""
    settings = context.settings.captcha
    if not settings.enabled or _is_admin(context, request):
        return
    security = request.read(CaptchaBody).gotrue_meta_security
    token = (security.captcha_token if security else None) or ""
    if not token.strip():
        raise rejections.CAPTCHA_FAILED(reason="no captcha_token found in request")
    if len(token) > _MAX_TOKEN:
        raise rejections.CAPTCHA_FAILED(reason="invalid-input-response")
    verdict = await _verdict(context, token, request.device.address)
    if not verdict.success:
        codes = [code for code in verdict.error_codes if _WORD.fullmatch(code)]
        raise rejections.CAPTCHA_FAILED(reason=", ".join(codes[:10]) or "not passed")


async def _verdict(context: DeliveryContext, token: str, address: str) -> _Verdict:
    settings = context.settings.captcha
    services = context.services
    url = services.turnstile if settings.provider == "turnstile" else services.hcaptcha
    form = {"secret": settings.secret.reveal() if settings.secret else "", "response": token}
    if address:
        form["remoteip"] = address
    try:
        answer = await context.outgoing.fetch(
            "POST", url, form=form, timeout_s=float(settings.timeout), most_bytes=_MOST_BYTES
        )
        return _read(answer)
    except FetchFailed:
        raise AuthError(ErrorCode.UNEXPECTED_FAILURE, "captcha verification process failed") from None


def _read(answer: FetchedResponse) -> _Verdict:
    """Decode the service's response; both services report errors in JSON, whatever the status. Raises: FetchFailed."""
    try:
        return msgspec.json.decode(answer.body, type=_Verdict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise FetchFailed(f"status {answer.status} without an answer that can be read") from None


def _is_admin(context: DeliveryContext, request: AuthRequest) -> bool:
    try:
        request.require_admin(context.settings.jwt_admin_roles)
    except AuthError:
        return False
    return True
