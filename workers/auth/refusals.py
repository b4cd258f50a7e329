"""The refusals whose wording is fixed: a table. `raise refusals.USER_BANNED()`.

A `Refusal` makes a fresh error at each call; names in braces are filled from the call's arguments. Clients and
applications compare these texts, so they change with the reference page only. Refusals without a line here are made
with `AuthError(code, message)` where they are known. Source: reference page "auth", the section named above each group.
"""

from dataclasses import dataclass

from workers.auth.error_codes import Code
from workers.auth.errors import AuthError


@dataclass(frozen=True, slots=True)
class Refusal:
    """A code, its wording, and a status where it is not the code's usual one."""

    code: Code
    message: str
    status: int | None = None

    def __call__(
        self, *, status: int | None = None, retry_after_s: int | None = None, **fields: object
    ) -> AuthError:
        """Make the error; `status` where one place differs from the others."""
        told = self.message.format(**fields)
        return AuthError(self.code, told, status or self.status, retry_after_s=retry_after_s)


# 1.1 and 1.2: any request
BAD_JSON = Refusal(Code.BAD_JSON, "Could not parse request body as JSON: {reason}")
REQUEST_TIMEOUT = Refusal(
    Code.REQUEST_TIMEOUT, "Processing this request timed out, please retry after a moment."
)
TOO_BUSY = Refusal(Code.UNEXPECTED_FAILURE, "Too many requests at once, please retry after a moment.", 503)

# 1.4: the bearer
NO_BEARER = Refusal(Code.NO_AUTHORIZATION, "This endpoint requires a valid Bearer token")
BAD_TOKEN = Refusal(Code.BAD_JWT, "invalid JWT: unable to parse or verify signature, {reason}")
NO_SUBJECT = Refusal(Code.BAD_JWT, "invalid claim: missing sub claim")
BAD_SUBJECT = Refusal(Code.BAD_JWT, "invalid claim: sub claim must be a UUID", 400)
BAD_SESSION_ID = Refusal(Code.BAD_JWT, "invalid claim: session_id claim must be a UUID")
SUBJECT_GONE = Refusal(Code.USER_NOT_FOUND, "User from sub claim in JWT does not exist", 403)
SESSION_GONE = Refusal(Code.SESSION_NOT_FOUND, "Session from session_id claim in JWT does not exist")
USER_BANNED = Refusal(Code.USER_BANNED, "User is banned")
NOT_ADMIN = Refusal(Code.NOT_ADMIN, "User not allowed")
NOT_FOR_ANONYMOUS = Refusal(Code.NO_AUTHORIZATION, "Anonymous user not allowed to perform these actions", 403)

# 4.1: sign-up, and addresses anywhere
SIGNUP_DISABLED = Refusal(Code.SIGNUP_DISABLED, "Signups not allowed for this instance")
ALREADY_REGISTERED = Refusal(Code.USER_ALREADY_EXISTS, "User already registered")
NO_PASSWORD = Refusal(Code.VALIDATION_FAILED, "Signup requires a valid password")
LONG_PASSWORD = Refusal(Code.VALIDATION_FAILED, "Password cannot be longer than {most} characters")
NO_EMAIL = Refusal(Code.VALIDATION_FAILED, "An email address is required")
LONG_EMAIL = Refusal(Code.VALIDATION_FAILED, "An email address is too long")
BAD_EMAIL = Refusal(Code.VALIDATION_FAILED, "Unable to validate email address: invalid format")
BAD_PHONE = Refusal(Code.VALIDATION_FAILED, "Invalid phone number format (E.164 required)")
RESERVED_EMAIL = Refusal(Code.EMAIL_ADDRESS_INVALID, 'Email address "{email}" is invalid')
EMAIL_NOT_AUTHORIZED = Refusal(
    Code.EMAIL_ADDRESS_NOT_AUTHORIZED, 'Email address "{email}" cannot be used as it is not authorized'
)
ANONYMOUS_DISABLED = Refusal(Code.ANONYMOUS_PROVIDER_DISABLED, "Anonymous sign-ins are disabled")

# 4.2: sign-in
WRONG_CREDENTIALS = Refusal(Code.INVALID_CREDENTIALS, "Invalid login credentials")
EMAIL_NOT_CONFIRMED = Refusal(Code.EMAIL_NOT_CONFIRMED, "Email not confirmed")
PHONE_NOT_CONFIRMED = Refusal(Code.PHONE_NOT_CONFIRMED, "Phone not confirmed")
EMAIL_LOGINS_DISABLED = Refusal(Code.EMAIL_PROVIDER_DISABLED, "Email logins are disabled")
PHONE_LOGINS_DISABLED = Refusal(Code.PHONE_PROVIDER_DISABLED, "Phone logins are disabled")
UNSUPPORTED_GRANT = Refusal(Code.INVALID_CREDENTIALS, "unsupported_grant_type")

# 4.4: PKCE
PKCE_HALF_GIVEN = Refusal(
    Code.VALIDATION_FAILED, "PKCE flow requires code_challenge_method and code_challenge"
)
PKCE_CHALLENGE_LENGTH = Refusal(
    Code.VALIDATION_FAILED, "code challenge has to be between {least} and {most} characters"
)
PKCE_CHALLENGE_CHARACTERS = Refusal(
    Code.VALIDATION_FAILED,
    "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes",
)
PKCE_METHOD = Refusal(Code.VALIDATION_FAILED, "code_challenge_method must be s256 or plain")
PKCE_EMPTY = Refusal(
    Code.VALIDATION_FAILED, "invalid request: both auth code and code verifier should be non-empty"
)
BAD_CODE_VERIFIER = Refusal(
    Code.BAD_CODE_VERIFIER, "code challenge does not match previously saved code verifier"
)

FLOW_STATE_NOT_FOUND = Refusal(Code.FLOW_STATE_NOT_FOUND, "invalid flow state, no valid flow state found")
FLOW_STATE_EXPIRED = Refusal(Code.FLOW_STATE_EXPIRED, "invalid flow state, flow state has expired")

# 5: one-time codes
OTP_SIGNUPS_DISABLED = Refusal(Code.OTP_DISABLED, "Signups not allowed for otp")
ONE_ADDRESS = Refusal(Code.VALIDATION_FAILED, "One of email or phone must be set")
UNSUPPORTED_PHONE_PROVIDER = Refusal(Code.PHONE_PROVIDER_DISABLED, "Unsupported phone provider", 400)
RESEND_TYPE = Refusal(
    Code.VALIDATION_FAILED, "Missing one of these types: signup, email_change, sms, phone_change"
)
EMAIL_TOO_SOON = Refusal(
    Code.OVER_EMAIL_SEND_RATE_LIMIT,
    "For security purposes, you can only request this after {seconds} seconds.",
)
SMS_TOO_SOON = Refusal(
    Code.OVER_SMS_SEND_RATE_LIMIT, "For security purposes, you can only request this after {seconds} seconds."
)
BAD_LINK = Refusal(Code.OTP_EXPIRED, "Email link is invalid or has expired")
BAD_CODE = Refusal(Code.OTP_EXPIRED, "Token has expired or is invalid")

# 6: the user
EMAIL_EXISTS = Refusal(Code.EMAIL_EXISTS, "A user with this email address has already been registered")
PHONE_EXISTS = Refusal(Code.PHONE_EXISTS, "A user with this phone number has already been registered")
BAD_NONCE = Refusal(Code.REAUTHENTICATION_NOT_VALID, "Nonce has expired or is invalid")
SAME_PASSWORD = Refusal(Code.SAME_PASSWORD, "New password should be different from the old password.")

# 8: refresh
MALFORMED_REFRESH_TOKEN = Refusal(Code.VALIDATION_FAILED, "Refresh token is not valid")
REFRESH_TOKEN_NOT_FOUND = Refusal(
    Code.REFRESH_TOKEN_NOT_FOUND, "Invalid Refresh Token: Refresh Token Not Found"
)
NO_SESSION_FOUND = Refusal(Code.SESSION_NOT_FOUND, "Invalid Refresh Token: No Valid Session Found", 400)
SESSION_EXPIRED = Refusal(Code.SESSION_EXPIRED, "Invalid Refresh Token: Session Expired")
SESSION_INACTIVE = Refusal(Code.SESSION_EXPIRED, "Invalid Refresh Token: Session Expired (Inactivity)")
SESSION_LOW_AAL = Refusal(
    Code.SESSION_EXPIRED, "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)"
)
SESSION_REPLACED = Refusal(
    Code.SESSION_EXPIRED, "Invalid Refresh Token: Session Expired (Revoked by Newer Login)"
)
REFRESH_CONTENTION = Refusal(
    Code.CONFLICT, "Too many concurrent token refresh requests on the same session or refresh token"
)
ALREADY_USED = Refusal(Code.REFRESH_TOKEN_ALREADY_USED, "Invalid Refresh Token: Already Used")
FOREIGN_REFRESH_TOKEN = Refusal(Code.VALIDATION_FAILED, "Invalid Refresh Token: Not Issued By This Server")

# 9 to 14: factors, identities, single sign-on, wallets
WRONG_TOTP = Refusal(Code.MFA_VERIFICATION_FAILED, "Invalid TOTP code entered")
WRONG_PHONE_CODE = Refusal(Code.MFA_VERIFICATION_FAILED, "Invalid MFA Phone code entered")
LINKING_DISABLED = Refusal(Code.MANUAL_LINKING_DISABLED, "Manual linking is disabled")
SAML_DISABLED = Refusal(Code.SAML_PROVIDER_DISABLED, "SAML 2.0 is disabled")
WEB3_DISABLED = Refusal(Code.WEB3_PROVIDER_DISABLED, "Web3 provider is disabled")
NO_PASSKEY = Refusal(Code.VALIDATION_FAILED, "Passkey not found", 404)

# 21 and 22: limits
OVER_REQUEST_RATE = Refusal(Code.OVER_REQUEST_RATE_LIMIT, "Request rate limit reached")
CAPTCHA_FAILED = Refusal(Code.CAPTCHA_FAILED, "captcha protection: request disallowed ({reason})")
