"""Every error code of auth with its default status: a table. An error may carry another status where the API says so.

Source: docs/reference/auth.md, section 23.
"""

from enum import StrEnum


class ErrorCode(StrEnum):
    """An error code as clients read it; `status` is its default HTTP status."""

    status: int

    def __new__(cls, text: str, status: int) -> "ErrorCode":
        member = str.__new__(cls, text)
        member._value_ = text
        member.status = status
        return member

    # the request is wrong, or the server failed
    UNEXPECTED_FAILURE = "unexpected_failure", 500
    UNKNOWN = "unknown", 400
    VALIDATION_FAILED = "validation_failed", 400
    BAD_JSON = "bad_json", 400
    REQUEST_ENTITY_TOO_LARGE = "request_entity_too_large", 413
    REQUEST_TIMEOUT = "request_timeout", 504
    CONFLICT = "conflict", 409
    FEATURE_DISABLED = "feature_disabled", 404
    # authorization and rate limits
    NO_AUTHORIZATION = "no_authorization", 401
    BAD_JWT = "bad_jwt", 403
    NOT_ADMIN = "not_admin", 403
    OVER_REQUEST_RATE_LIMIT = "over_request_rate_limit", 429
    OVER_EMAIL_SEND_RATE_LIMIT = "over_email_send_rate_limit", 429
    OVER_SMS_SEND_RATE_LIMIT = "over_sms_send_rate_limit", 429
    CAPTCHA_FAILED = "captcha_failed", 400
    # users
    EMAIL_EXISTS = "email_exists", 422
    PHONE_EXISTS = "phone_exists", 422
    USER_ALREADY_EXISTS = "user_already_exists", 422
    USER_NOT_FOUND = "user_not_found", 404
    USER_BANNED = "user_banned", 403
    USER_SSO_MANAGED = "user_sso_managed", 422
    EMAIL_ADDRESS_INVALID = "email_address_invalid", 400
    EMAIL_ADDRESS_NOT_AUTHORIZED = "email_address_not_authorized", 400
    EMAIL_ADDRESS_NOT_PROVIDED = "email_address_not_provided", 400
    INVITE_NOT_FOUND = "invite_not_found", 404
    UNEXPECTED_AUDIENCE = "unexpected_audience", 403
    # sign-in methods
    SIGNUP_DISABLED = "signup_disabled", 422
    ANONYMOUS_PROVIDER_DISABLED = "anonymous_provider_disabled", 422
    OTP_DISABLED = "otp_disabled", 422
    EMAIL_PROVIDER_DISABLED = "email_provider_disabled", 422
    PHONE_PROVIDER_DISABLED = "phone_provider_disabled", 422
    PROVIDER_DISABLED = "provider_disabled", 400
    OAUTH_PROVIDER_NOT_SUPPORTED = "oauth_provider_not_supported", 400
    INVALID_CREDENTIALS = "invalid_credentials", 400
    EMAIL_NOT_CONFIRMED = "email_not_confirmed", 400
    PHONE_NOT_CONFIRMED = "phone_not_confirmed", 400
    PROVIDER_EMAIL_NEEDS_VERIFICATION = "provider_email_needs_verification", 422
    # passwords and codes
    WEAK_PASSWORD = "weak_password", 422
    SAME_PASSWORD = "same_password", 422
    CURRENT_PASSWORD_REQUIRED = "current_password_required", 400
    CURRENT_PASSWORD_INVALID = "current_password_invalid", 400
    REAUTHENTICATION_NEEDED = "reauthentication_needed", 400
    REAUTHENTICATION_NOT_VALID = "reauthentication_not_valid", 422
    OTP_EXPIRED = "otp_expired", 403
    SMS_SEND_FAILED = "sms_send_failed", 422
    # sessions and flows
    SESSION_NOT_FOUND = "session_not_found", 403
    SESSION_EXPIRED = "session_expired", 400
    REFRESH_TOKEN_NOT_FOUND = "refresh_token_not_found", 400
    REFRESH_TOKEN_ALREADY_USED = "refresh_token_already_used", 400
    FLOW_STATE_NOT_FOUND = "flow_state_not_found", 404
    FLOW_STATE_EXPIRED = "flow_state_expired", 422
    FLOW_STATE_ALREADY_USED = "flow_state_already_used", 400
    BAD_CODE_VERIFIER = "bad_code_verifier", 400
    BAD_OAUTH_STATE = "bad_oauth_state", 400
    BAD_OAUTH_CALLBACK = "bad_oauth_callback", 400
    OAUTH_INVALID_STATE = "oauth_invalid_state", 400
    OAUTH_CLIENT_STATE_NOT_FOUND = "oauth_client_state_not_found", 422
    OAUTH_CLIENT_STATE_EXPIRED = "oauth_client_state_expired", 422
    # identities
    IDENTITY_ALREADY_EXISTS = "identity_already_exists", 422
    IDENTITY_NOT_FOUND = "identity_not_found", 422
    SINGLE_IDENTITY_NOT_DELETABLE = "single_identity_not_deletable", 422
    EMAIL_CONFLICT_IDENTITY_NOT_DELETABLE = "email_conflict_identity_not_deletable", 422
    MANUAL_LINKING_DISABLED = "manual_linking_disabled", 404
    # factors
    TOO_MANY_ENROLLED_MFA_FACTORS = "too_many_enrolled_mfa_factors", 422
    MFA_FACTOR_NAME_CONFLICT = "mfa_factor_name_conflict", 422
    MFA_VERIFIED_FACTOR_EXISTS = "mfa_verified_factor_exists", 422
    MFA_FACTOR_NOT_FOUND = "mfa_factor_not_found", 404
    MFA_IP_ADDRESS_MISMATCH = "mfa_ip_address_mismatch", 422
    MFA_CHALLENGE_EXPIRED = "mfa_challenge_expired", 422
    MFA_VERIFICATION_FAILED = "mfa_verification_failed", 422
    MFA_VERIFICATION_REJECTED = "mfa_verification_rejected", 403
    INSUFFICIENT_AAL = "insufficient_aal", 403
    MFA_PHONE_ENROLL_NOT_ENABLED = "mfa_phone_enroll_not_enabled", 422
    MFA_PHONE_VERIFY_NOT_ENABLED = "mfa_phone_verify_not_enabled", 422
    MFA_TOTP_ENROLL_NOT_ENABLED = "mfa_totp_enroll_not_enabled", 422
    MFA_TOTP_VERIFY_NOT_ENABLED = "mfa_totp_verify_not_enabled", 422
    MFA_WEBAUTHN_ENROLL_NOT_ENABLED = "mfa_webauthn_enroll_not_enabled", 422
    MFA_WEBAUTHN_VERIFY_NOT_ENABLED = "mfa_webauthn_verify_not_enabled", 422
    MFA_RECOVERY_CODES_LOCKED = "mfa_recovery_codes_locked", 429
    MFA_RECOVERY_CODES_ENROLL_NOT_ENABLED = "mfa_recovery_codes_enroll_not_enabled", 422
    MFA_RECOVERY_CODES_VERIFY_NOT_ENABLED = "mfa_recovery_codes_verify_not_enabled", 422
    MFA_RECOVERY_CODES_SOLE_FACTOR = "mfa_recovery_codes_sole_factor", 422
    # single sign-on
    SAML_PROVIDER_DISABLED = "saml_provider_disabled", 404
    SAML_RELAY_STATE_NOT_FOUND = "saml_relay_state_not_found", 404
    SAML_RELAY_STATE_EXPIRED = "saml_relay_state_expired", 422
    SAML_IDP_NOT_FOUND = "saml_idp_not_found", 404
    SAML_IDP_ALREADY_EXISTS = "saml_idp_already_exists", 422
    SAML_ASSERTION_NO_USER_ID = "saml_assertion_no_user_id", 400
    SAML_ASSERTION_NO_EMAIL = "saml_assertion_no_email", 400
    SAML_METADATA_FETCH_FAILED = "saml_metadata_fetch_failed", 400
    SAML_ENTITY_ID_MISMATCH = "saml_entity_id_mismatch", 400
    SSO_DOMAIN_ALREADY_EXISTS = "sso_domain_already_exists", 400
    SSO_PROVIDER_NOT_FOUND = "sso_provider_not_found", 404
    SSO_PROVIDER_DISABLED = "sso_provider_disabled", 404
    # hooks
    HOOK_TIMEOUT = "hook_timeout", 422
    HOOK_TIMEOUT_AFTER_RETRY = "hook_timeout_after_retry", 422
    HOOK_PAYLOAD_OVER_SIZE_LIMIT = "hook_payload_over_size_limit", 422
    HOOK_PAYLOAD_INVALID_CONTENT_TYPE = "hook_payload_invalid_content_type", 400
    # wallets, the OAuth server, custom providers, passkeys
    WEB3_PROVIDER_DISABLED = "web3_provider_disabled", 422
    WEB3_UNSUPPORTED_CHAIN = "web3_unsupported_chain", 400
    OAUTH_DYNAMIC_CLIENT_REGISTRATION_DISABLED = "oauth_dynamic_client_registration_disabled", 403
    OAUTH_CLIENT_NOT_FOUND = "oauth_client_not_found", 404
    OAUTH_AUTHORIZATION_NOT_FOUND = "oauth_authorization_not_found", 404
    OAUTH_CONSENT_NOT_FOUND = "oauth_consent_not_found", 404
    CUSTOM_PROVIDER_NOT_FOUND = "custom_provider_not_found", 404
    OVER_CUSTOM_PROVIDER_QUOTA = "over_custom_provider_quota", 400
    PASSKEY_DISABLED = "passkey_disabled", 404
    TOO_MANY_PASSKEYS = "too_many_passkeys", 422
    WEBAUTHN_CREDENTIAL_NOT_FOUND = "webauthn_credential_not_found", 400
    WEBAUTHN_CHALLENGE_NOT_FOUND = "webauthn_challenge_not_found", 400
    WEBAUTHN_CHALLENGE_EXPIRED = "webauthn_challenge_expired", 400
    WEBAUTHN_VERIFICATION_FAILED = "webauthn_verification_failed", 400
    WEBAUTHN_CREDENTIAL_EXISTS = "webauthn_credential_exists", 422
