"""The refusals whose wording is fixed: status, code and text as the reference page has them."""

import inspect
import string

import pytest

from workers.auth import refusals
from workers.auth.errors import AuthError
from workers.auth.refusals import Refusal

EXACT: list[tuple[Refusal, int, str, str]] = [
    (refusals.REQUEST_TIMEOUT, 504, "request_timeout", "Processing this request timed out, please retry after a moment."),
    (refusals.NO_BEARER, 401, "no_authorization", "This endpoint requires a valid Bearer token"),
    (refusals.NO_SUBJECT, 403, "bad_jwt", "invalid claim: missing sub claim"),
    (refusals.BAD_SUBJECT, 400, "bad_jwt", "invalid claim: sub claim must be a UUID"),
    (refusals.SUBJECT_GONE, 403, "user_not_found", "User from sub claim in JWT does not exist"),
    (refusals.SESSION_GONE, 403, "session_not_found", "Session from session_id claim in JWT does not exist"),
    (refusals.USER_BANNED, 403, "user_banned", "User is banned"),
    (refusals.NOT_ADMIN, 403, "not_admin", "User not allowed"),
    (refusals.SIGNUP_DISABLED, 422, "signup_disabled", "Signups not allowed for this instance"),
    (refusals.ALREADY_REGISTERED, 422, "user_already_exists", "User already registered"),
    (refusals.NO_PASSWORD, 400, "validation_failed", "Signup requires a valid password"),
    (refusals.NO_EMAIL, 400, "validation_failed", "An email address is required"),
    (refusals.BAD_EMAIL, 400, "validation_failed", "Unable to validate email address: invalid format"),
    (refusals.BAD_PHONE, 400, "validation_failed", "Invalid phone number format (E.164 required)"),
    (refusals.ANONYMOUS_DISABLED, 422, "anonymous_provider_disabled", "Anonymous sign-ins are disabled"),
    (refusals.WRONG_CREDENTIALS, 400, "invalid_credentials", "Invalid login credentials"),
    (refusals.EMAIL_NOT_CONFIRMED, 400, "email_not_confirmed", "Email not confirmed"),
    (refusals.PHONE_NOT_CONFIRMED, 400, "phone_not_confirmed", "Phone not confirmed"),
    (refusals.EMAIL_LOGINS_DISABLED, 422, "email_provider_disabled", "Email logins are disabled"),
    (refusals.UNSUPPORTED_GRANT, 400, "invalid_credentials", "unsupported_grant_type"),
    (refusals.BAD_CODE_VERIFIER, 400, "bad_code_verifier", "code challenge does not match previously saved code verifier"),
    (refusals.OTP_SIGNUPS_DISABLED, 422, "otp_disabled", "Signups not allowed for otp"),
    (refusals.ONE_ADDRESS, 400, "validation_failed", "One of email or phone must be set"),
    (refusals.UNSUPPORTED_PHONE_PROVIDER, 400, "phone_provider_disabled", "Unsupported phone provider"),
    (refusals.RESEND_TYPE, 400, "validation_failed", "Missing one of these types: signup, email_change, sms, phone_change"),
    (refusals.BAD_LINK, 403, "otp_expired", "Email link is invalid or has expired"),
    (refusals.BAD_CODE, 403, "otp_expired", "Token has expired or is invalid"),
    (refusals.EMAIL_EXISTS, 422, "email_exists", "A user with this email address has already been registered"),
    (refusals.BAD_NONCE, 422, "reauthentication_not_valid", "Nonce has expired or is invalid"),
    (refusals.SAME_PASSWORD, 422, "same_password", "New password should be different from the old password."),
    (refusals.MALFORMED_REFRESH_TOKEN, 400, "validation_failed", "Refresh token is not valid"),
    (refusals.REFRESH_TOKEN_NOT_FOUND, 400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found"),
    (refusals.NO_SESSION_FOUND, 400, "session_not_found", "Invalid Refresh Token: No Valid Session Found"),
    (refusals.SESSION_EXPIRED, 400, "session_expired", "Invalid Refresh Token: Session Expired"),
    (refusals.SESSION_INACTIVE, 400, "session_expired", "Invalid Refresh Token: Session Expired (Inactivity)"),
    (refusals.SESSION_LOW_AAL, 400, "session_expired", "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)"),
    (refusals.SESSION_REPLACED, 400, "session_expired", "Invalid Refresh Token: Session Expired (Revoked by Newer Login)"),
    (refusals.REFRESH_CONTENTION, 409, "conflict", "Too many concurrent token refresh requests on the same session or refresh token"),
    (refusals.ALREADY_USED, 400, "refresh_token_already_used", "Invalid Refresh Token: Already Used"),
    (refusals.FOREIGN_REFRESH_TOKEN, 400, "validation_failed", "Invalid Refresh Token: Not Issued By This Server"),
    (refusals.WRONG_TOTP, 422, "mfa_verification_failed", "Invalid TOTP code entered"),
    (refusals.WRONG_PHONE_CODE, 422, "mfa_verification_failed", "Invalid MFA Phone code entered"),
    (refusals.LINKING_DISABLED, 404, "manual_linking_disabled", "Manual linking is disabled"),
    (refusals.SAML_DISABLED, 404, "saml_provider_disabled", "SAML 2.0 is disabled"),
    (refusals.WEB3_DISABLED, 422, "web3_provider_disabled", "Web3 provider is disabled"),
    (refusals.NO_PASSKEY, 404, "validation_failed", "Passkey not found"),
    (refusals.OVER_REQUEST_RATE, 429, "over_request_rate_limit", "Request rate limit reached"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("refusal", "status", "code", "message"), EXACT, ids=lambda each: getattr(each, "message", None)
)
def test_a_refusal_has_the_words_of_the_reference(
    refusal: Refusal, status: int, code: str, message: str
) -> None:
    error = refusal()

    assert (error.status, error.code.value, error.message) == (status, code, message)


@pytest.mark.parametrize(
    ("refusal", "fields", "message"),
    [
        (refusals.BAD_JSON, {"reason": "EOF {x}"}, "Could not parse request body as JSON: EOF {x}"),
        (refusals.BAD_TOKEN, {"reason": "r"}, "invalid JWT: unable to parse or verify signature, r"),
        (
            refusals.EMAIL_TOO_SOON,
            {"seconds": 9},
            "For security purposes, you can only request this after 9 seconds.",
        ),
        (
            refusals.SMS_TOO_SOON,
            {"seconds": 9},
            "For security purposes, you can only request this after 9 seconds.",
        ),
        (refusals.CAPTCHA_FAILED, {"reason": "timeout"}, "captcha protection: request disallowed (timeout)"),
    ],
)
def test_fields_are_filled_in_and_never_read_again(
    refusal: Refusal, fields: dict[str, object], message: str
) -> None:
    assert _made(refusal, fields).message == message


def test_every_refusal_makes_a_fresh_error() -> None:
    made = [each for _, each in inspect.getmembers(refusals) if isinstance(each, Refusal)]
    names = [{name for _, name, _, _ in string.Formatter().parse(each.message) if name} for each in made]

    errors = [_made(each, dict.fromkeys(fields, "x")) for each, fields in zip(made, names, strict=True)]

    assert len(errors) > len(EXACT)
    assert all("{" not in error.message for error in errors)
    assert refusals.USER_BANNED() is not refusals.USER_BANNED()


def test_one_place_may_answer_with_another_status() -> None:
    assert refusals.USER_BANNED(status=400).status == 400
    assert refusals.USER_BANNED().status == 403
    assert refusals.OVER_REQUEST_RATE(retry_after_s=3).retry_after_s == 3


def _made(refusal: Refusal, fields: dict[str, object]) -> AuthError:
    return refusal(**fields)  # type: ignore[arg-type]  # names of a template, none of them an argument of its own
