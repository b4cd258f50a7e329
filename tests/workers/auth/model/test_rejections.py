"""The refusals whose wording is fixed: status, code and text as the reference page has them."""

import inspect
import string

import pytest

from workers.auth.model import rejections
from workers.auth.model.errors import AuthError
from workers.auth.model.rejections import ErrorTemplate

EXACT: list[tuple[ErrorTemplate, int, str, str]] = [
    (rejections.REQUEST_TIMEOUT, 504, "request_timeout", "Processing this request timed out, please retry after a moment."),
    (rejections.NO_BEARER, 401, "no_authorization", "This endpoint requires a valid Bearer token"),
    (rejections.NO_SUBJECT, 403, "bad_jwt", "invalid claim: missing sub claim"),
    (rejections.BAD_SUBJECT, 400, "bad_jwt", "invalid claim: sub claim must be a UUID"),
    (rejections.SUBJECT_GONE, 403, "user_not_found", "User from sub claim in JWT does not exist"),
    (rejections.SESSION_GONE, 403, "session_not_found", "Session from session_id claim in JWT does not exist"),
    (rejections.USER_BANNED, 403, "user_banned", "User is banned"),
    (rejections.NOT_ADMIN, 403, "not_admin", "User not allowed"),
    (rejections.SIGNUP_DISABLED, 422, "signup_disabled", "Signups not allowed for this instance"),
    (rejections.ALREADY_REGISTERED, 422, "user_already_exists", "User already registered"),
    (rejections.NO_PASSWORD, 400, "validation_failed", "Signup requires a valid password"),
    (rejections.NO_EMAIL, 400, "validation_failed", "An email address is required"),
    (rejections.BAD_EMAIL, 400, "validation_failed", "Unable to validate email address: invalid format"),
    (rejections.BAD_PHONE, 400, "validation_failed", "Invalid phone number format (E.164 required)"),
    (rejections.ANONYMOUS_DISABLED, 422, "anonymous_provider_disabled", "Anonymous sign-ins are disabled"),
    (rejections.WRONG_CREDENTIALS, 400, "invalid_credentials", "Invalid login credentials"),
    (rejections.EMAIL_NOT_CONFIRMED, 400, "email_not_confirmed", "Email not confirmed"),
    (rejections.PHONE_NOT_CONFIRMED, 400, "phone_not_confirmed", "Phone not confirmed"),
    (rejections.EMAIL_LOGINS_DISABLED, 422, "email_provider_disabled", "Email logins are disabled"),
    (rejections.UNSUPPORTED_GRANT, 400, "invalid_credentials", "unsupported_grant_type"),
    (rejections.BAD_CODE_VERIFIER, 400, "bad_code_verifier", "code challenge does not match previously saved code verifier"),
    (rejections.OTP_SIGNUPS_DISABLED, 422, "otp_disabled", "Signups not allowed for otp"),
    (rejections.ONE_ADDRESS, 400, "validation_failed", "One of email or phone must be set"),
    (rejections.UNSUPPORTED_PHONE_PROVIDER, 400, "phone_provider_disabled", "Unsupported phone provider"),
    (rejections.RESEND_TYPE, 400, "validation_failed", "Missing one of these types: signup, email_change, sms, phone_change"),
    (rejections.BAD_LINK, 403, "otp_expired", "Email link is invalid or has expired"),
    (rejections.BAD_CODE, 403, "otp_expired", "Token has expired or is invalid"),
    (rejections.EMAIL_EXISTS, 422, "email_exists", "A user with this email address has already been registered"),
    (rejections.BAD_NONCE, 422, "reauthentication_not_valid", "Nonce has expired or is invalid"),
    (rejections.SAME_PASSWORD, 422, "same_password", "New password should be different from the old password."),
    (rejections.MALFORMED_REFRESH_TOKEN, 400, "validation_failed", "Refresh token is not valid"),
    (rejections.REFRESH_TOKEN_NOT_FOUND, 400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found"),
    (rejections.NO_SESSION_FOUND, 400, "session_not_found", "Invalid Refresh Token: No Valid Session Found"),
    (rejections.SESSION_EXPIRED, 400, "session_expired", "Invalid Refresh Token: Session Expired"),
    (rejections.SESSION_INACTIVE, 400, "session_expired", "Invalid Refresh Token: Session Expired (Inactivity)"),
    (rejections.SESSION_LOW_AAL, 400, "session_expired", "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)"),
    (rejections.SESSION_REPLACED, 400, "session_expired", "Invalid Refresh Token: Session Expired (Revoked by Newer Login)"),
    (rejections.REFRESH_CONTENTION, 409, "conflict", "Too many concurrent token refresh requests on the same session or refresh token"),
    (rejections.ALREADY_USED, 400, "refresh_token_already_used", "Invalid Refresh Token: Already Used"),
    (rejections.FOREIGN_REFRESH_TOKEN, 400, "validation_failed", "Invalid Refresh Token: Not Issued By This Server"),
    (rejections.WRONG_TOTP, 422, "mfa_verification_failed", "Invalid TOTP code entered"),
    (rejections.WRONG_PHONE_CODE, 422, "mfa_verification_failed", "Invalid MFA Phone code entered"),
    (rejections.LINKING_DISABLED, 404, "manual_linking_disabled", "Manual linking is disabled"),
    (rejections.SAML_DISABLED, 404, "saml_provider_disabled", "SAML 2.0 is disabled"),
    (rejections.WEB3_DISABLED, 422, "web3_provider_disabled", "Web3 provider is disabled"),
    (rejections.NO_PASSKEY, 404, "validation_failed", "Passkey not found"),
    (rejections.OVER_REQUEST_RATE, 429, "over_request_rate_limit", "Request rate limit reached"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("refusal", "status", "code", "message"), EXACT, ids=lambda each: getattr(each, "message", None)
)
def test_a_refusal_has_the_words_of_the_reference(
    refusal: ErrorTemplate, status: int, code: str, message: str
) -> None:
    error = refusal()

    assert (error.status, error.code.value, error.message) == (status, code, message)


@pytest.mark.parametrize(
    ("refusal", "fields", "message"),
    [
        (rejections.BAD_JSON, {"reason": "EOF {x}"}, "Could not parse request body as JSON: EOF {x}"),
        (rejections.BAD_TOKEN, {"reason": "r"}, "invalid JWT: unable to parse or verify signature, r"),
        (
            rejections.EMAIL_TOO_SOON,
            {"seconds": 9},
            "For security purposes, you can only request this after 9 seconds.",
        ),
        (
            rejections.SMS_TOO_SOON,
            {"seconds": 9},
            "For security purposes, you can only request this after 9 seconds.",
        ),
        (
            rejections.CAPTCHA_FAILED,
            {"reason": "timeout"},
            "captcha protection: request disallowed (timeout)",
        ),
    ],
)
def test_fields_are_filled_in_and_never_read_again(
    refusal: ErrorTemplate, fields: dict[str, object], message: str
) -> None:
    assert _made(refusal, fields).message == message


def test_every_refusal_makes_a_fresh_error() -> None:
    made = [each for _, each in inspect.getmembers(rejections) if isinstance(each, ErrorTemplate)]
    names = [{name for _, name, _, _ in string.Formatter().parse(each.message) if name} for each in made]

    errors = [_made(each, dict.fromkeys(fields, "x")) for each, fields in zip(made, names, strict=True)]

    assert len(errors) > len(EXACT)
    assert all("{" not in error.message for error in errors)
    assert rejections.USER_BANNED() is not rejections.USER_BANNED()


def test_one_place_may_answer_with_another_status() -> None:
    assert rejections.USER_BANNED(status=400).status == 400
    assert rejections.USER_BANNED().status == 403
    assert rejections.OVER_REQUEST_RATE(retry_after_s=3).retry_after_s == 3


def _made(refusal: ErrorTemplate, fields: dict[str, object]) -> AuthError:
    return refusal(**fields)  # type: ignore[arg-type]  # names of a template, none of them an argument of its own
