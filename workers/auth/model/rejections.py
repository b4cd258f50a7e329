"""Errors whose text is fixed: a table. `raise rejections.USER_BANNED()`.

An `ErrorTemplate` builds a new error at each call; names in braces are filled from the call's arguments. Clients and
applications compare these texts, so they must not change. Errors without a line here are built with `AuthError(code,
message)` where they are raised. Source: docs/reference/auth.md, the section named above each group.
"""

from dataclasses import dataclass

from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError


@dataclass(frozen=True, slots=True)
class ErrorTemplate:
    """A code, its text, and a status where it is not the code's default."""

    code: ErrorCode
    message: str
    status: int | None = None

    def __call__(
        self,
        *,
        status: int | None = None,
        retry_after_s: int | None = None,
        burst: int | None = None,
        **fields: object,
    ) -> AuthError:
        """Build the error; `status` overrides the template's."""
        text = self.message.format(**fields)
        return AuthError(self.code, text, status or self.status, retry_after_s=retry_after_s, burst=burst)


# 1.1 and 1.2: any request
BAD_JSON = ErrorTemplate(ErrorCode.BAD_JSON, "Could not parse request body as JSON: {reason}")
REQUEST_TIMEOUT = ErrorTemplate(
    ErrorCode.REQUEST_TIMEOUT, "Processing this request timed out, please retry after a moment."
)
TOO_BUSY = ErrorTemplate(
    ErrorCode.UNEXPECTED_FAILURE, "Too many requests at once, please retry after a moment.", 503
)

# 1.4: the bearer
NO_BEARER = ErrorTemplate(ErrorCode.NO_AUTHORIZATION, "This endpoint requires a valid Bearer token")
BAD_TOKEN = ErrorTemplate(ErrorCode.BAD_JWT, "invalid JWT: unable to parse or verify signature, {reason}")
NO_SUBJECT = ErrorTemplate(ErrorCode.BAD_JWT, "invalid claim: missing sub claim")
BAD_SUBJECT = ErrorTemplate(ErrorCode.BAD_JWT, "invalid claim: sub claim must be a UUID", 400)
BAD_SESSION_ID = ErrorTemplate(ErrorCode.BAD_JWT, "invalid claim: session_id claim must be a UUID")
SUBJECT_GONE = ErrorTemplate(ErrorCode.USER_NOT_FOUND, "User from sub claim in JWT does not exist", 403)
SESSION_GONE = ErrorTemplate(
    ErrorCode.SESSION_NOT_FOUND, "Session from session_id claim in JWT does not exist"
)
USER_BANNED = ErrorTemplate(ErrorCode.USER_BANNED, "User is banned")
NOT_ADMIN = ErrorTemplate(ErrorCode.NOT_ADMIN, "User not allowed")
ACTING_ONLY_READS = ErrorTemplate(
    ErrorCode.NO_AUTHORIZATION, "An administrator who acts as a user cannot change the account", 403
)
NOT_FOR_ANONYMOUS = ErrorTemplate(
    ErrorCode.NO_AUTHORIZATION, "Anonymous user not allowed to perform these actions", 403
)

# 4.1: sign-up, and addresses anywhere
SIGNUP_DISABLED = ErrorTemplate(ErrorCode.SIGNUP_DISABLED, "Signups not allowed for this instance")
ALREADY_REGISTERED = ErrorTemplate(ErrorCode.USER_ALREADY_EXISTS, "User already registered")
DEEP_METADATA = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "Metadata of a user may be nested {most} levels deep"
)
NO_PASSWORD = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Signup requires a valid password")
LONG_PASSWORD = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Password cannot be longer than {most} characters")
NO_EMAIL = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "An email address is required")
LONG_EMAIL = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "An email address is too long")
BAD_EMAIL = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Unable to validate email address: invalid format")
BAD_PHONE = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Invalid phone number format (E.164 required)")
RESERVED_EMAIL = ErrorTemplate(ErrorCode.EMAIL_ADDRESS_INVALID, 'Email address "{email}" is invalid')
EMAIL_NOT_AUTHORIZED = ErrorTemplate(
    ErrorCode.EMAIL_ADDRESS_NOT_AUTHORIZED, 'Email address "{email}" cannot be used as it is not authorized'
)
ANONYMOUS_DISABLED = ErrorTemplate(ErrorCode.ANONYMOUS_PROVIDER_DISABLED, "Anonymous sign-ins are disabled")

# 4.2: sign-in
WRONG_CREDENTIALS = ErrorTemplate(ErrorCode.INVALID_CREDENTIALS, "Invalid login credentials")
EMAIL_NOT_CONFIRMED = ErrorTemplate(ErrorCode.EMAIL_NOT_CONFIRMED, "Email not confirmed")
PHONE_NOT_CONFIRMED = ErrorTemplate(ErrorCode.PHONE_NOT_CONFIRMED, "Phone not confirmed")
EMAIL_LOGINS_DISABLED = ErrorTemplate(ErrorCode.EMAIL_PROVIDER_DISABLED, "Email logins are disabled")
PHONE_LOGINS_DISABLED = ErrorTemplate(ErrorCode.PHONE_PROVIDER_DISABLED, "Phone logins are disabled")
UNSUPPORTED_GRANT = ErrorTemplate(ErrorCode.INVALID_CREDENTIALS, "unsupported_grant_type")

# 4.4: PKCE
PKCE_INCOMPLETE = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "PKCE flow requires code_challenge_method and code_challenge"
)
PKCE_CHALLENGE_LENGTH = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "code challenge has to be between {least} and {most} characters"
)
PKCE_CHALLENGE_CHARACTERS = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED,
    "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes",
)
PKCE_METHOD = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "code_challenge_method must be s256 or plain")
PKCE_EMPTY = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "invalid request: both auth code and code verifier should be non-empty"
)
BAD_CODE_VERIFIER = ErrorTemplate(
    ErrorCode.BAD_CODE_VERIFIER, "code challenge does not match previously saved code verifier"
)

FLOW_STATE_NOT_FOUND = ErrorTemplate(
    ErrorCode.FLOW_STATE_NOT_FOUND, "invalid flow state, no valid flow state found"
)
FLOW_STATE_EXPIRED = ErrorTemplate(ErrorCode.FLOW_STATE_EXPIRED, "invalid flow state, flow state has expired")

# 5: one-time codes
OTP_SIGNUPS_DISABLED = ErrorTemplate(ErrorCode.OTP_DISABLED, "Signups not allowed for otp")
ONE_ADDRESS = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "One of email or phone must be set")
TWO_ADDRESSES = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "Only an email address or phone number should be provided"
)
RECOVERY_NEEDS_EMAIL = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Password recovery requires an email")
NO_VERIFY_TYPE = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Verify requires a verification type")
BAD_VERIFY_TYPE = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Unsupported verification type")
NO_VERIFY_TOKEN = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Verify requires a token or a token hash")
ONLY_TOKEN_HASH = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "Only the token_hash and type should be provided"
)
UNSUPPORTED_PHONE_PROVIDER = ErrorTemplate(
    ErrorCode.PHONE_PROVIDER_DISABLED, "Unsupported phone provider", 400
)
RESEND_TYPE = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "Missing one of these types: signup, email_change, sms, phone_change"
)
EMAIL_TOO_SOON = ErrorTemplate(
    ErrorCode.OVER_EMAIL_SEND_RATE_LIMIT,
    "For security purposes, you can only request this after {seconds} seconds.",
)
SMS_TOO_SOON = ErrorTemplate(
    ErrorCode.OVER_SMS_SEND_RATE_LIMIT,
    "For security purposes, you can only request this after {seconds} seconds.",
)
OVER_EMAIL_QUOTA = ErrorTemplate(ErrorCode.OVER_EMAIL_SEND_RATE_LIMIT, "email rate limit exceeded")
OVER_SMS_QUOTA = ErrorTemplate(ErrorCode.OVER_SMS_SEND_RATE_LIMIT, "sms rate limit exceeded")
MAIL_NOT_SENT = ErrorTemplate(ErrorCode.UNEXPECTED_FAILURE, "Error sending {kind} email")
MAIL_NOT_QUEUED = ErrorTemplate(ErrorCode.UNEXPECTED_FAILURE, "Mails cannot be sent now: {reason}", 503)
SMS_NOT_SENT = ErrorTemplate(ErrorCode.SMS_SEND_FAILED, "Error sending the code to the phone: {reason}")
SMS_NOT_CHECKED = ErrorTemplate(
    ErrorCode.SMS_SEND_FAILED, "The provider could not be asked for the code: {reason}"
)
NO_SMS_SENDER = ErrorTemplate(ErrorCode.SMS_SEND_FAILED, "No provider of text messages is set up (auth.sms)")
BAD_CHANNEL = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED,
    "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio"
    " Verify is used as the provider.",
)
BAD_LINK = ErrorTemplate(ErrorCode.OTP_EXPIRED, "Email link is invalid or has expired")
BAD_CODE = ErrorTemplate(ErrorCode.OTP_EXPIRED, "Token has expired or is invalid")

# 6: the user
EMAIL_EXISTS = ErrorTemplate(
    ErrorCode.EMAIL_EXISTS, "A user with this email address has already been registered"
)
PHONE_EXISTS = ErrorTemplate(
    ErrorCode.PHONE_EXISTS, "A user with this phone number has already been registered"
)
BAD_NONCE = ErrorTemplate(ErrorCode.REAUTHENTICATION_NOT_VALID, "Nonce has expired or is invalid")
SAME_PASSWORD = ErrorTemplate(
    ErrorCode.SAME_PASSWORD, "New password should be different from the old password."
)
UPDATE_NEEDS_AAL2 = ErrorTemplate(
    ErrorCode.INSUFFICIENT_AAL, "AAL2 session is required to update email, phone or password", 401
)
UPDATE_NEEDS_SSO = ErrorTemplate(
    ErrorCode.USER_SSO_MANAGED, "Updating email, phone, password of a SSO account only possible via SSO"
)
NO_ADDRESS_FOR_PASSWORD = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED,
    "Updating password of an anonymous user without an email or phone is not allowed",
    422,
)
REAUTHENTICATION_NEEDED = ErrorTemplate(
    ErrorCode.REAUTHENTICATION_NEEDED, "Password update requires reauthentication"
)
REAUTHENTICATION_NEEDS_ADDRESS = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "Reauthentication requires the user to have an email or a phone number"
)
CURRENT_PASSWORD_REQUIRED = ErrorTemplate(
    ErrorCode.CURRENT_PASSWORD_REQUIRED, "Current password is required to set a new one"
)
CURRENT_PASSWORD_INVALID = ErrorTemplate(ErrorCode.CURRENT_PASSWORD_INVALID, "Current password is not right")

# 8: refresh
MALFORMED_REFRESH_TOKEN = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Refresh token is not valid")
REFRESH_TOKEN_NOT_FOUND = ErrorTemplate(
    ErrorCode.REFRESH_TOKEN_NOT_FOUND, "Invalid Refresh Token: Refresh Token Not Found"
)
NO_SESSION_FOUND = ErrorTemplate(
    ErrorCode.SESSION_NOT_FOUND, "Invalid Refresh Token: No Valid Session Found", 400
)
SESSION_EXPIRED = ErrorTemplate(ErrorCode.SESSION_EXPIRED, "Invalid Refresh Token: Session Expired")
SESSION_INACTIVE = ErrorTemplate(
    ErrorCode.SESSION_EXPIRED, "Invalid Refresh Token: Session Expired (Inactivity)"
)
SESSION_LOW_AAL = ErrorTemplate(
    ErrorCode.SESSION_EXPIRED, "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)"
)
SESSION_REPLACED = ErrorTemplate(
    ErrorCode.SESSION_EXPIRED, "Invalid Refresh Token: Session Expired (Revoked by Newer Login)"
)
REFRESH_CONTENTION = ErrorTemplate(
    ErrorCode.CONFLICT, "Too many concurrent token refresh requests on the same session or refresh token"
)
ALREADY_USED = ErrorTemplate(ErrorCode.REFRESH_TOKEN_ALREADY_USED, "Invalid Refresh Token: Already Used")
FOREIGN_REFRESH_TOKEN = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "Invalid Refresh Token: Not Issued By This Server"
)

# 9 to 14: factors, identities, single sign-on, wallets
WRONG_TOTP = ErrorTemplate(ErrorCode.MFA_VERIFICATION_FAILED, "Invalid TOTP code entered")
WRONG_PHONE_CODE = ErrorTemplate(ErrorCode.MFA_VERIFICATION_FAILED, "Invalid MFA Phone code entered")
WRONG_RECOVERY_CODE = ErrorTemplate(ErrorCode.MFA_VERIFICATION_FAILED, "Invalid recovery code entered")
NO_MFA_CODE = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Code needs to be non-empty")
FACTOR_TYPE = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "factor_type must be one of {kinds}")
FACTOR_ID = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "factor_id must be an UUID", 404)
FACTOR_NOT_FOUND = ErrorTemplate(ErrorCode.MFA_FACTOR_NOT_FOUND, "Factor not found")
BAD_FACTOR_NAME = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "friendly_name has at most {most} characters, none of them U+0000"
)
LONG_ISSUER = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "issuer is too long for a QR code")
FACTOR_NAME_TAKEN = ErrorTemplate(
    ErrorCode.MFA_FACTOR_NAME_CONFLICT, "The user has another factor of this friendly_name"
)
FACTOR_NUMBER_TAKEN = ErrorTemplate(
    ErrorCode.MFA_VERIFIED_FACTOR_EXISTS, "The user has a verified factor with this phone number"
)
TOO_MANY_FACTORS = ErrorTemplate(
    ErrorCode.TOO_MANY_ENROLLED_MFA_FACTORS, "The user has as many factors as are allowed; remove one first"
)
ENROLMENT_NEEDS_AAL2 = ErrorTemplate(
    ErrorCode.INSUFFICIENT_AAL, "AAL2 session is required to add a factor to others"
)
REMOVAL_NEEDS_AAL2 = ErrorTemplate(
    ErrorCode.INSUFFICIENT_AAL, "AAL2 session is required to remove a verified factor", 422
)
CHALLENGE_NOT_FOUND = ErrorTemplate(
    ErrorCode.MFA_FACTOR_NOT_FOUND, "The factor has no challenge of this id", 422
)
CHALLENGE_NOT_YOURS = ErrorTemplate(
    ErrorCode.MFA_IP_ADDRESS_MISMATCH, "The challenge was answered before, or asked for from another address"
)
CHALLENGE_EXPIRED = ErrorTemplate(ErrorCode.MFA_CHALLENGE_EXPIRED, "The challenge is over; ask for a new one")
RECOVERY_ENROLL_OFF = ErrorTemplate(
    ErrorCode.MFA_RECOVERY_CODES_ENROLL_NOT_ENABLED, "Making recovery codes is not enabled"
)
RECOVERY_VERIFY_OFF = ErrorTemplate(
    ErrorCode.MFA_RECOVERY_CODES_VERIFY_NOT_ENABLED, "Entering with recovery codes is not enabled"
)
RECOVERY_CODES_LOCKED = ErrorTemplate(
    ErrorCode.MFA_RECOVERY_CODES_LOCKED, "Too many wrong recovery codes; try again later"
)
RECOVERY_CODES_NEED_AAL2 = ErrorTemplate(
    ErrorCode.INSUFFICIENT_AAL, "AAL2 session is required to make recovery codes"
)
RECOVERY_CODES_EXIST = ErrorTemplate(
    ErrorCode.MFA_VERIFIED_FACTOR_EXISTS, "The user has recovery codes; regenerate them to get new ones"
)
RECOVERY_CODES_ALONE = ErrorTemplate(
    ErrorCode.MFA_RECOVERY_CODES_SOLE_FACTOR, "Recovery codes cannot be the only second factor of a user"
)
LINKING_DISABLED = ErrorTemplate(ErrorCode.MANUAL_LINKING_DISABLED, "Manual linking is disabled")
SAML_DISABLED = ErrorTemplate(ErrorCode.SAML_PROVIDER_DISABLED, "SAML 2.0 is disabled")
SSO_PROVIDER_NOT_FOUND = ErrorTemplate(ErrorCode.SSO_PROVIDER_NOT_FOUND, "SSO Identity Provider not found")
SSO_TOO_MANY_NAMES = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Only one of provider_id or domain supported")
SSO_NO_NAME = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "A provider_id or domain needs to be provided")
NO_SSO_PROVIDER = ErrorTemplate(ErrorCode.SSO_PROVIDER_NOT_FOUND, "No such SSO provider")
NO_SSO_DOMAIN = ErrorTemplate(ErrorCode.SSO_PROVIDER_NOT_FOUND, "No SSO provider assigned for this domain")
SSO_PROVIDER_DISABLED = ErrorTemplate(ErrorCode.SSO_PROVIDER_DISABLED, "SSO provider is disabled")
SSO_DOMAIN_EXISTS = ErrorTemplate(
    ErrorCode.SSO_DOMAIN_ALREADY_EXISTS, "SSO Domain '{domain}' is already assigned to an SSO provider"
)
SSO_RESOURCE_EXISTS = ErrorTemplate(
    ErrorCode.CONFLICT, "An SSO provider with this resource_id already exists"
)
SAML_IDP_EXISTS = ErrorTemplate(
    ErrorCode.SAML_IDP_ALREADY_EXISTS,
    "SAML Identity Provider with this EntityID ({entity_id}) already exists",
)
SAML_ENTITY_CHANGED = ErrorTemplate(
    ErrorCode.SAML_ENTITY_ID_MISMATCH,
    "SAML Metadata can be updated only if the EntityID matches for the provider; expected '{expected}' but got '{got}'",
)
SAML_METADATA_UNREACHED = ErrorTemplate(
    ErrorCode.SAML_METADATA_FETCH_FAILED, "Unable to fetch SAML metadata: {reason}"
)
SAML_IDP_NOT_FOUND = ErrorTemplate(
    ErrorCode.SAML_IDP_NOT_FOUND, "A SAML connection has not been established with this Identity Provider"
)
SAML_RESPONSE_INVALID = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "SAML Assertion is not valid: {reason}")
RELAY_STATE_NOT_FOUND = ErrorTemplate(
    ErrorCode.SAML_RELAY_STATE_NOT_FOUND, "SAML RelayState does not exist, try logging in again?"
)
RELAY_STATE_OF_OTHER_BROWSER = ErrorTemplate(
    ErrorCode.SAML_RELAY_STATE_NOT_FOUND,
    "SAML RelayState was begun in another browser, try logging in again?",
)
SAML_ADDRESS_FOREIGN = ErrorTemplate(
    ErrorCode.EMAIL_ADDRESS_NOT_AUTHORIZED,
    'This identity provider may not vouch for "{email}": its domain is not one of the provider\'s',
)
SAML_ADDRESS_TAKEN = ErrorTemplate(
    ErrorCode.EMAIL_ADDRESS_NOT_AUTHORIZED,
    'This identity provider has no domains, and may not vouch for "{email}", which another account has',
)
RELAY_STATE_EXPIRED = ErrorTemplate(
    ErrorCode.SAML_RELAY_STATE_EXPIRED, "SAML RelayState has expired. Try logging in again?"
)
SCIM_DISABLED = ErrorTemplate(ErrorCode.FEATURE_DISABLED, "SCIM is disabled")
WEB3_DISABLED = ErrorTemplate(ErrorCode.WEB3_PROVIDER_DISABLED, "Web3 provider is disabled")
NO_PASSKEY = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "Passkey not found", 404)
PASSKEYS_DISABLED = ErrorTemplate(ErrorCode.PASSKEY_DISABLED, "Passkeys are disabled")
TOO_MANY_PASSKEYS = ErrorTemplate(ErrorCode.TOO_MANY_PASSKEYS, "A user can have at most {most} passkeys")
PASSKEY_NEEDS_AAL2 = ErrorTemplate(
    ErrorCode.INSUFFICIENT_AAL, "AAL2 session is required to add or delete a passkey", 403
)
NO_WEBAUTHN_CHALLENGE = ErrorTemplate(ErrorCode.WEBAUTHN_CHALLENGE_NOT_FOUND, "Challenge not found")
WEBAUTHN_CHALLENGE_EXPIRED = ErrorTemplate(ErrorCode.WEBAUTHN_CHALLENGE_EXPIRED, "Challenge has expired")
CREDENTIAL_EXISTS = ErrorTemplate(
    ErrorCode.WEBAUTHN_CREDENTIAL_EXISTS, "This credential is registered already"
)
PASSKEY_UNVERIFIED = ErrorTemplate(
    ErrorCode.WEBAUTHN_VERIFICATION_FAILED, "Passkey could not be verified: {reason}"
)
WRONG_WEBAUTHN = ErrorTemplate(ErrorCode.MFA_VERIFICATION_FAILED, "Invalid MFA WebAuthn response")
WEBAUTHN_ANSWER = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "webauthn needs a credential_response, and the type of its challenge"
)

# 14 and 15: wallets, the OAuth server
UNSUPPORTED_CHAIN = ErrorTemplate(ErrorCode.WEB3_UNSUPPORTED_CHAIN, "Unsupported chain")
OAUTH_SERVER_WITHOUT_PAGE = ErrorTemplate(
    ErrorCode.UNEXPECTED_FAILURE,
    "OAuth authorization path is not configured: set auth.oauth_server.authorization_url_path",
)
OAUTH_SERVER_DISABLED = ErrorTemplate(ErrorCode.FEATURE_DISABLED, "OAuth server is disabled")
REGISTRATION_DISABLED = ErrorTemplate(
    ErrorCode.OAUTH_DYNAMIC_CLIENT_REGISTRATION_DISABLED, "Dynamic client registration is disabled"
)
CLIENT_NOT_FOUND = ErrorTemplate(ErrorCode.OAUTH_CLIENT_NOT_FOUND, "OAuth client not found")
AUTHORIZATION_NOT_FOUND = ErrorTemplate(ErrorCode.OAUTH_AUTHORIZATION_NOT_FOUND, "authorization not found")
CONSENT_NOT_FOUND = ErrorTemplate(ErrorCode.OAUTH_CONSENT_NOT_FOUND, "OAuth consent not found")
NOT_FOR_CLIENTS = ErrorTemplate(
    ErrorCode.NO_AUTHORIZATION, "OAuth clients are not allowed to perform these actions", 403
)

# 11 and 12: sign-in with identity providers, identities
NO_PROVIDER_EMAIL = ErrorTemplate(
    ErrorCode.EMAIL_ADDRESS_NOT_PROVIDED, "Error getting user email from external provider"
)
NO_PROVIDER_SUBJECT = ErrorTemplate(
    ErrorCode.UNEXPECTED_FAILURE, "Error getting user id from external provider"
)
MULTIPLE_ACCOUNTS = ErrorTemplate(
    ErrorCode.UNEXPECTED_FAILURE,
    "Multiple accounts with the same email address in the same linking domain detected",
)
UNVERIFIED_EMAIL_SENT = ErrorTemplate(
    ErrorCode.PROVIDER_EMAIL_NEEDS_VERIFICATION,
    "Unverified email with {provider}. A confirmation email has been sent to your {provider} email",
)
UNVERIFIED_EMAIL = ErrorTemplate(
    ErrorCode.PROVIDER_EMAIL_NEEDS_VERIFICATION,
    "Unverified email with {provider}. Verify the email with {provider} in order to sign in",
)
INVITE_NOT_FOUND = ErrorTemplate(ErrorCode.USER_NOT_FOUND, "The invitation was not found, or is over")
INVITE_GONE = ErrorTemplate(ErrorCode.INVITE_NOT_FOUND, "The invitation was not found, or is over")
INVITE_MISMATCH = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "Invited email does not match emails from external provider"
)
NO_STATE = ErrorTemplate(ErrorCode.BAD_OAUTH_CALLBACK, "OAuth callback with missing state parameter")
BAD_STATE = ErrorTemplate(ErrorCode.BAD_OAUTH_STATE, "OAuth callback with invalid state")
FOREIGN_STATE = ErrorTemplate(
    ErrorCode.BAD_OAUTH_STATE, "OAuth callback with a state that was begun in another browser, try again"
)
NO_CODE = ErrorTemplate(ErrorCode.BAD_OAUTH_CALLBACK, "OAuth callback with missing authorization code")
CLIENT_STATE_GONE = ErrorTemplate(
    ErrorCode.OAUTH_CLIENT_STATE_NOT_FOUND, "What was kept for the way back from the provider is gone"
)
STATE_USED = ErrorTemplate(
    ErrorCode.FLOW_STATE_ALREADY_USED, "OAuth callback with a state that was used already"
)
WRONG_ISSUER = ErrorTemplate(
    ErrorCode.BAD_OAUTH_CALLBACK, "OAuth callback of another issuer than the one that was asked"
)
IDENTITY_TAKEN = ErrorTemplate(
    ErrorCode.IDENTITY_ALREADY_EXISTS, "Identity is already linked to another user"
)
IDENTITY_ALREADY_LINKED = ErrorTemplate(ErrorCode.IDENTITY_ALREADY_EXISTS, "Identity is already linked")
IDENTITY_NOT_FOUND = ErrorTemplate(ErrorCode.IDENTITY_NOT_FOUND, "Identity doesn't exist")
OTHER_AUDIENCE = ErrorTemplate(ErrorCode.UNEXPECTED_AUDIENCE, "Token audience doesn't match request audience")
IDENTITY_ID = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "identity_id must be an UUID", 404)
LAST_IDENTITY = ErrorTemplate(
    ErrorCode.SINGLE_IDENTITY_NOT_DELETABLE, "User must have at least 1 identity after unlinking"
)
EMAIL_CONFLICT = ErrorTemplate(
    ErrorCode.EMAIL_CONFLICT_IDENTITY_NOT_DELETABLE, "Unable to unlink identity due to email conflict"
)
LINKED_EMAIL_UNVERIFIED = ErrorTemplate(
    ErrorCode.EMAIL_NOT_CONFIRMED,
    "Unverified email with {provider}. A confirmation email has been sent to your {provider} email",
    422,
)
NOT_FOR_SINGLE_SIGN_ON = ErrorTemplate(
    ErrorCode.USER_SSO_MANAGED, "Identities of a SSO account can only be changed via SSO"
)

# 4.6 and 26.3: ID tokens, custom providers
ID_TOKEN_PROVIDER_OFF = ErrorTemplate(
    ErrorCode.PROVIDER_DISABLED, 'Provider (issuer "{issuer}") is not enabled'
)
ID_TOKEN_PROVIDER_UNKNOWN = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, 'Custom OIDC provider "{provider}" not allowed'
)
NO_CUSTOM_PROVIDER = ErrorTemplate(ErrorCode.CUSTOM_PROVIDER_NOT_FOUND, "Custom provider not found")
CUSTOM_PROVIDERS_DISABLED = ErrorTemplate(ErrorCode.FEATURE_DISABLED, "Custom OAuth providers are disabled")

# 16: administration
USER_ID = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "user_id must be an UUID", 404)
USER_NOT_FOUND = ErrorTemplate(ErrorCode.USER_NOT_FOUND, "User not found", 404)
NO_USER_OF_EMAIL = ErrorTemplate(ErrorCode.USER_NOT_FOUND, "User with this email not found", 404)
LINK_TYPE = ErrorTemplate(ErrorCode.VALIDATION_FAILED, "type must be one of {types}")
LINK_NEEDS_SECURE_CHANGE = ErrorTemplate(
    ErrorCode.VALIDATION_FAILED, "Enable secure email change to generate link for current email"
)
USER_IN_USE = ErrorTemplate(
    ErrorCode.CONFLICT,
    'The user cannot be deleted while rows of "{schema}"."{table}" refer to it (foreign key "{constraint}"). Delete them'
    " first, or declare the foreign key with `on delete cascade` or `on delete set null`.",
)

# 21 and 22: limits
OVER_REQUEST_RATE = ErrorTemplate(ErrorCode.OVER_REQUEST_RATE_LIMIT, "Request rate limit reached")
CAPTCHA_FAILED = ErrorTemplate(ErrorCode.CAPTCHA_FAILED, "captcha protection: request disallowed ({reason})")
