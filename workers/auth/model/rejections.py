"""The refusals whose wording is fixed: a table. `raise refusals.USER_BANNED()`.

A `Refusal` makes a fresh error at each call; names in braces are filled from the call's arguments. Clients and
applications compare these texts, so they change with the reference page only. Refusals without a line here are made
with `AuthError(code, message)` where they are known. Source: reference page "auth", the section named above each group.
"""

from dataclasses import dataclass

from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError


@dataclass(frozen=True, slots=True)
class Refusal:
    """A code, its wording, and a status where it is not the code's usual one."""

    code: Code
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
        """Make the error; `status` where one place differs from the others."""
        told = self.message.format(**fields)
        return AuthError(self.code, told, status or self.status, retry_after_s=retry_after_s, burst=burst)


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
TWO_ADDRESSES = Refusal(Code.VALIDATION_FAILED, "Only an email address or phone number should be provided")
RECOVERY_NEEDS_EMAIL = Refusal(Code.VALIDATION_FAILED, "Password recovery requires an email")
NO_VERIFY_TYPE = Refusal(Code.VALIDATION_FAILED, "Verify requires a verification type")
BAD_VERIFY_TYPE = Refusal(Code.VALIDATION_FAILED, "Unsupported verification type")
NO_VERIFY_TOKEN = Refusal(Code.VALIDATION_FAILED, "Verify requires a token or a token hash")
ONLY_TOKEN_HASH = Refusal(Code.VALIDATION_FAILED, "Only the token_hash and type should be provided")
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
OVER_EMAIL_QUOTA = Refusal(Code.OVER_EMAIL_SEND_RATE_LIMIT, "email rate limit exceeded")
OVER_SMS_QUOTA = Refusal(Code.OVER_SMS_SEND_RATE_LIMIT, "sms rate limit exceeded")
MAIL_NOT_SENT = Refusal(Code.UNEXPECTED_FAILURE, "Error sending {kind} email")
MAIL_NOT_KEPT = Refusal(Code.UNEXPECTED_FAILURE, "Mails cannot be sent now: {reason}", 503)
SMS_NOT_SENT = Refusal(Code.SMS_SEND_FAILED, "Error sending the code to the phone: {reason}")
SMS_NOT_CHECKED = Refusal(Code.SMS_SEND_FAILED, "The provider could not be asked for the code: {reason}")
NO_SMS_SENDER = Refusal(Code.SMS_SEND_FAILED, "No provider of text messages is set up (auth.sms)")
BAD_CHANNEL = Refusal(
    Code.VALIDATION_FAILED,
    "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio"
    " Verify is used as the provider.",
)
BAD_LINK = Refusal(Code.OTP_EXPIRED, "Email link is invalid or has expired")
BAD_CODE = Refusal(Code.OTP_EXPIRED, "Token has expired or is invalid")

# 6: the user
EMAIL_EXISTS = Refusal(Code.EMAIL_EXISTS, "A user with this email address has already been registered")
PHONE_EXISTS = Refusal(Code.PHONE_EXISTS, "A user with this phone number has already been registered")
BAD_NONCE = Refusal(Code.REAUTHENTICATION_NOT_VALID, "Nonce has expired or is invalid")
SAME_PASSWORD = Refusal(Code.SAME_PASSWORD, "New password should be different from the old password.")
UPDATE_NEEDS_AAL2 = Refusal(
    Code.INSUFFICIENT_AAL, "AAL2 session is required to update email, phone or password", 401
)
UPDATE_NEEDS_SSO = Refusal(
    Code.USER_SSO_MANAGED, "Updating email, phone, password of a SSO account only possible via SSO"
)
NO_ADDRESS_FOR_PASSWORD = Refusal(
    Code.VALIDATION_FAILED,
    "Updating password of an anonymous user without an email or phone is not allowed",
    422,
)
REAUTHENTICATION_NEEDED = Refusal(Code.REAUTHENTICATION_NEEDED, "Password update requires reauthentication")
REAUTHENTICATION_NEEDS_ADDRESS = Refusal(
    Code.VALIDATION_FAILED, "Reauthentication requires the user to have an email or a phone number"
)
CURRENT_PASSWORD_REQUIRED = Refusal(
    Code.CURRENT_PASSWORD_REQUIRED, "Current password is required to set a new one"
)
CURRENT_PASSWORD_INVALID = Refusal(Code.CURRENT_PASSWORD_INVALID, "Current password is not right")

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
WRONG_RECOVERY_CODE = Refusal(Code.MFA_VERIFICATION_FAILED, "Invalid recovery code entered")
NO_MFA_CODE = Refusal(Code.VALIDATION_FAILED, "A code is needed")
FACTOR_TYPE = Refusal(Code.VALIDATION_FAILED, "factor_type must be one of {kinds}")
FACTOR_ID = Refusal(Code.VALIDATION_FAILED, "factor_id must be an UUID", 404)
FACTOR_NOT_FOUND = Refusal(Code.MFA_FACTOR_NOT_FOUND, "Factor not found")
BAD_FACTOR_NAME = Refusal(
    Code.VALIDATION_FAILED, "friendly_name has at most {most} characters, none of them U+0000"
)
LONG_ISSUER = Refusal(Code.VALIDATION_FAILED, "issuer is too long for a QR code")
FACTOR_NAME_TAKEN = Refusal(
    Code.MFA_FACTOR_NAME_CONFLICT, "The user has another factor of this friendly_name"
)
FACTOR_NUMBER_TAKEN = Refusal(
    Code.MFA_VERIFIED_FACTOR_EXISTS, "The user has a verified factor with this phone number"
)
TOO_MANY_FACTORS = Refusal(
    Code.TOO_MANY_ENROLLED_MFA_FACTORS, "The user has as many factors as are allowed; remove one first"
)
ENROLMENT_NEEDS_AAL2 = Refusal(Code.INSUFFICIENT_AAL, "AAL2 session is required to add a factor to others")
REMOVAL_NEEDS_AAL2 = Refusal(
    Code.INSUFFICIENT_AAL, "AAL2 session is required to remove a verified factor", 422
)
CHALLENGE_NOT_FOUND = Refusal(Code.MFA_FACTOR_NOT_FOUND, "The factor has no challenge of this id", 422)
CHALLENGE_NOT_YOURS = Refusal(
    Code.MFA_IP_ADDRESS_MISMATCH, "The challenge was answered before, or asked for from another address"
)
CHALLENGE_EXPIRED = Refusal(Code.MFA_CHALLENGE_EXPIRED, "The challenge is over; ask for a new one")
RECOVERY_ENROLL_OFF = Refusal(
    Code.MFA_RECOVERY_CODES_ENROLL_NOT_ENABLED, "Making recovery codes is not enabled"
)
RECOVERY_VERIFY_OFF = Refusal(
    Code.MFA_RECOVERY_CODES_VERIFY_NOT_ENABLED, "Entering with recovery codes is not enabled"
)
RECOVERY_CODES_LOCKED = Refusal(
    Code.MFA_RECOVERY_CODES_LOCKED, "Too many wrong recovery codes; try again later"
)
RECOVERY_CODES_NEED_AAL2 = Refusal(Code.INSUFFICIENT_AAL, "AAL2 session is required to make recovery codes")
RECOVERY_CODES_EXIST = Refusal(
    Code.MFA_VERIFIED_FACTOR_EXISTS, "The user has recovery codes; regenerate them to get new ones"
)
RECOVERY_CODES_ALONE = Refusal(
    Code.MFA_RECOVERY_CODES_SOLE_FACTOR, "Recovery codes cannot be the only second factor of a user"
)
LINKING_DISABLED = Refusal(Code.MANUAL_LINKING_DISABLED, "Manual linking is disabled")
SAML_DISABLED = Refusal(Code.SAML_PROVIDER_DISABLED, "SAML 2.0 is disabled")
SSO_PROVIDER_NOT_FOUND = Refusal(Code.SSO_PROVIDER_NOT_FOUND, "SSO Identity Provider not found")
SSO_TOO_MANY_NAMES = Refusal(Code.VALIDATION_FAILED, "Only one of provider_id or domain supported")
SSO_NO_NAME = Refusal(Code.VALIDATION_FAILED, "A provider_id or domain needs to be provided")
NO_SSO_PROVIDER = Refusal(Code.SSO_PROVIDER_NOT_FOUND, "No such SSO provider")
NO_SSO_DOMAIN = Refusal(Code.SSO_PROVIDER_NOT_FOUND, "No SSO provider assigned for this domain")
SSO_PROVIDER_DISABLED = Refusal(Code.SSO_PROVIDER_DISABLED, "SSO provider is disabled")
SSO_DOMAIN_EXISTS = Refusal(
    Code.SSO_DOMAIN_ALREADY_EXISTS, "SSO Domain '{domain}' is already assigned to an SSO provider"
)
SSO_RESOURCE_EXISTS = Refusal(Code.CONFLICT, "An SSO provider with this resource_id already exists")
SAML_IDP_EXISTS = Refusal(
    Code.SAML_IDP_ALREADY_EXISTS,
    "SAML Identity Provider with this EntityID ({entity_id}) already exists",
)
SAML_ENTITY_CHANGED = Refusal(
    Code.SAML_ENTITY_ID_MISMATCH,
    "SAML Metadata can be updated only if the EntityID matches for the provider; expected '{expected}' but got '{got}'",
)
SAML_METADATA_UNREACHED = Refusal(Code.SAML_METADATA_FETCH_FAILED, "Unable to fetch SAML metadata: {reason}")
SAML_IDP_NOT_FOUND = Refusal(
    Code.SAML_IDP_NOT_FOUND, "A SAML connection has not been established with this Identity Provider"
)
SAML_RESPONSE_REFUSED = Refusal(Code.VALIDATION_FAILED, "SAML Assertion is not valid: {reason}")
SAML_VISIT_NOT_FOUND = Refusal(
    Code.SAML_RELAY_STATE_NOT_FOUND, "SAML RelayState does not exist, try logging in again?"
)
SAML_VISIT_FOREIGN = Refusal(
    Code.SAML_RELAY_STATE_NOT_FOUND, "SAML RelayState was begun in another browser, try logging in again?"
)
SAML_ADDRESS_FOREIGN = Refusal(
    Code.EMAIL_ADDRESS_NOT_AUTHORIZED,
    'This identity provider may not vouch for "{email}": its domain is not one of the provider\'s',
)
SAML_ADDRESS_TAKEN = Refusal(
    Code.EMAIL_ADDRESS_NOT_AUTHORIZED,
    'This identity provider has no domains, and may not vouch for "{email}", which another account has',
)
SAML_VISIT_EXPIRED = Refusal(
    Code.SAML_RELAY_STATE_EXPIRED, "SAML RelayState has expired. Try logging in again?"
)
SCIM_DISABLED = Refusal(Code.FEATURE_DISABLED, "SCIM is disabled")
WEB3_DISABLED = Refusal(Code.WEB3_PROVIDER_DISABLED, "Web3 provider is disabled")
NO_PASSKEY = Refusal(Code.VALIDATION_FAILED, "Passkey not found", 404)
PASSKEYS_DISABLED = Refusal(Code.PASSKEY_DISABLED, "Passkeys are disabled")
TOO_MANY_PASSKEYS = Refusal(Code.TOO_MANY_PASSKEYS, "A user can have at most {most} passkeys")
PASSKEY_NEEDS_AAL2 = Refusal(
    Code.INSUFFICIENT_AAL, "AAL2 session is required to add or delete a passkey", 403
)
NO_WEBAUTHN_CHALLENGE = Refusal(Code.WEBAUTHN_CHALLENGE_NOT_FOUND, "Challenge not found")
WEBAUTHN_CHALLENGE_EXPIRED = Refusal(Code.WEBAUTHN_CHALLENGE_EXPIRED, "Challenge has expired")
NO_WEBAUTHN_CREDENTIAL = Refusal(Code.WEBAUTHN_CREDENTIAL_NOT_FOUND, "Passkey is not known here")
CREDENTIAL_EXISTS = Refusal(Code.WEBAUTHN_CREDENTIAL_EXISTS, "This credential is registered already")
PASSKEY_UNVERIFIED = Refusal(Code.WEBAUTHN_VERIFICATION_FAILED, "Passkey could not be verified: {reason}")
WRONG_WEBAUTHN = Refusal(Code.MFA_VERIFICATION_FAILED, "Invalid MFA WebAuthn response")
WEBAUTHN_ANSWER = Refusal(
    Code.VALIDATION_FAILED, "webauthn needs a credential_response, and the type of its challenge"
)

# 14 and 15: wallets, the OAuth server
UNSUPPORTED_CHAIN = Refusal(Code.WEB3_UNSUPPORTED_CHAIN, "Unsupported chain")
OAUTH_SERVER_DISABLED = Refusal(Code.FEATURE_DISABLED, "OAuth server is disabled")
REGISTRATION_DISABLED = Refusal(
    Code.OAUTH_DYNAMIC_CLIENT_REGISTRATION_DISABLED, "Dynamic client registration is disabled"
)
CLIENT_NOT_FOUND = Refusal(Code.OAUTH_CLIENT_NOT_FOUND, "OAuth client not found")
AUTHORIZATION_NOT_FOUND = Refusal(Code.OAUTH_AUTHORIZATION_NOT_FOUND, "authorization not found")
CONSENT_NOT_FOUND = Refusal(Code.OAUTH_CONSENT_NOT_FOUND, "OAuth consent not found")
NOT_FOR_CLIENTS = Refusal(
    Code.NO_AUTHORIZATION, "OAuth clients are not allowed to perform these actions", 403
)

# 11 and 12: sign-in by other services, identities
NO_PROVIDER_EMAIL = Refusal(
    Code.EMAIL_ADDRESS_NOT_PROVIDED, "Error getting user email from external provider"
)
NO_PROVIDER_SUBJECT = Refusal(Code.UNEXPECTED_FAILURE, "Error getting user id from external provider")
MULTIPLE_ACCOUNTS = Refusal(
    Code.UNEXPECTED_FAILURE,
    "Multiple accounts with the same email address in the same linking domain detected",
)
UNVERIFIED_EMAIL_SENT = Refusal(
    Code.PROVIDER_EMAIL_NEEDS_VERIFICATION,
    "Unverified email with {provider}. A confirmation email has been sent to your {provider} email",
)
UNVERIFIED_EMAIL = Refusal(
    Code.PROVIDER_EMAIL_NEEDS_VERIFICATION,
    "Unverified email with {provider}. Verify the email with {provider} in order to sign in",
)
INVITE_NOT_FOUND = Refusal(Code.USER_NOT_FOUND, "The invitation was not found, or is over")
INVITE_GONE = Refusal(Code.INVITE_NOT_FOUND, "The invitation was not found, or is over")
INVITE_MISMATCH = Refusal(
    Code.VALIDATION_FAILED, "Invited email does not match emails from external provider"
)
NO_STATE = Refusal(Code.BAD_OAUTH_CALLBACK, "OAuth callback with missing state parameter")
BAD_STATE = Refusal(Code.BAD_OAUTH_STATE, "OAuth callback with invalid state")
FOREIGN_STATE = Refusal(
    Code.BAD_OAUTH_STATE, "OAuth callback with a state that was begun in another browser, try again"
)
NO_CODE = Refusal(Code.BAD_OAUTH_CALLBACK, "OAuth callback with missing authorization code")
CLIENT_STATE_GONE = Refusal(
    Code.OAUTH_CLIENT_STATE_NOT_FOUND, "What was kept for the way back from the provider is gone"
)
STATE_USED = Refusal(Code.FLOW_STATE_ALREADY_USED, "OAuth callback with a state that was used already")
WRONG_ISSUER = Refusal(
    Code.BAD_OAUTH_CALLBACK, "OAuth callback of another issuer than the one that was asked"
)
IDENTITY_TAKEN = Refusal(Code.IDENTITY_ALREADY_EXISTS, "Identity is already linked to another user")
IDENTITY_OWN = Refusal(Code.IDENTITY_ALREADY_EXISTS, "Identity is already linked")
IDENTITY_NOT_FOUND = Refusal(Code.IDENTITY_NOT_FOUND, "Identity doesn't exist")
OTHER_AUDIENCE = Refusal(Code.UNEXPECTED_AUDIENCE, "Token audience doesn't match request audience")
IDENTITY_ID = Refusal(Code.VALIDATION_FAILED, "identity_id must be an UUID", 404)
LAST_IDENTITY = Refusal(
    Code.SINGLE_IDENTITY_NOT_DELETABLE, "User must have at least 1 identity after unlinking"
)
EMAIL_CONFLICT = Refusal(
    Code.EMAIL_CONFLICT_IDENTITY_NOT_DELETABLE, "Unable to unlink identity due to email conflict"
)
LINKED_EMAIL_UNVERIFIED = Refusal(
    Code.EMAIL_NOT_CONFIRMED,
    "Unverified email with {provider}. A confirmation email has been sent to your {provider} email",
    422,
)
NOT_FOR_SINGLE_SIGN_ON = Refusal(
    Code.USER_SSO_MANAGED, "Identities of a SSO account can only be changed via SSO"
)

# 4.6 and 26.3: ID tokens, custom providers
ID_TOKEN_PROVIDER_OFF = Refusal(Code.PROVIDER_DISABLED, 'Provider (issuer "{issuer}") is not enabled')
ID_TOKEN_PROVIDER_UNKNOWN = Refusal(Code.VALIDATION_FAILED, 'Custom OIDC provider "{provider}" not allowed')
NO_CUSTOM_PROVIDER = Refusal(Code.CUSTOM_PROVIDER_NOT_FOUND, "Custom provider not found")
CUSTOM_PROVIDERS_DISABLED = Refusal(Code.FEATURE_DISABLED, "Custom OAuth providers are disabled")

# 16: administration
USER_ID = Refusal(Code.VALIDATION_FAILED, "user_id must be an UUID", 404)
USER_NOT_FOUND = Refusal(Code.USER_NOT_FOUND, "User not found", 404)
NO_USER_OF_EMAIL = Refusal(Code.USER_NOT_FOUND, "User with this email not found", 404)
LINK_TYPE = Refusal(Code.VALIDATION_FAILED, "type must be one of {types}")
LINK_NEEDS_SECURE_CHANGE = Refusal(
    Code.VALIDATION_FAILED, "Enable secure email change to generate link for current email"
)
USER_IN_USE = Refusal(
    Code.CONFLICT,
    'The user cannot be deleted while rows of "{schema}"."{table}" refer to it (foreign key "{constraint}"). Delete them'
    " first, or declare the foreign key with `on delete cascade` or `on delete set null`.",
)

# 21 and 22: limits
OVER_REQUEST_RATE = Refusal(Code.OVER_REQUEST_RATE_LIMIT, "Request rate limit reached")
CAPTCHA_FAILED = Refusal(Code.CAPTCHA_FAILED, "captcha protection: request disallowed ({reason})")
