"""The environment names of the official auth server, with the keys of ours that they set: only a table.

A self-hoster's environment is read unchanged. The names are those of docs/reference/auth.md, section 25, here without the prefix
`GOTRUE_`. `EXTRA_NAMES` are read without it.
"""

from typing import NamedTuple

from schemas.settings.auth import AuthHooks
from schemas.settings.auth_delivery import SENDERS, EmailTemplateSettings, Notifications
from schemas.settings.auth_providers import External

GOTRUE_PREFIX = "GOTRUE_"
EXTRA_NAMES = frozenset({"API_EXTERNAL_URL"})
"""Names without the prefix."""

SMS_PROVIDER = "GOTRUE_SMS_PROVIDER"
"""Selects the only sender that is enabled; every other name sets one key."""


class Alias(NamedTuple):
    """The key that a name sets."""

    path: tuple[str, ...]
    inverse: bool = False
    """The name means the opposite of the key."""
    separator: str = ","
    """Between the items of a list."""
    unit: str = ""
    """Unit of the number, where the key needs one."""


_PLAIN = {
    "SITE_URL": "site_url",
    "URI_ALLOW_LIST": "additional_redirect_urls",
    "JWT_EXP": "jwt_expiry",
    "JWT_ISSUER": "jwt_issuer",
    "JWT_SECRET": "jwt_secret",
    "JWT_KEYS": "jwt_keys",
    "JWT_KEY_ID": "jwt_key_id",
    "JWT_AUD": "jwt_aud",
    "JWT_ADMIN_ROLES": "jwt_admin_roles",
    "JWT_DEFAULT_GROUP_NAME": "jwt_default_group_name",
    "JWT_VALID_METHODS": "jwt_valid_methods",
    "SECURITY_REFRESH_TOKEN_ROTATION_ENABLED": "enable_refresh_token_rotation",
    "SECURITY_REFRESH_TOKEN_REUSE_INTERVAL": "refresh_token_reuse_interval",
    "SECURITY_REFRESH_TOKEN_ALLOW_REUSE": "refresh_token_allow_reuse",
    "SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION": "refresh_token_algorithm_version",
    "SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE": "refresh_token_upgrade_percentage",
    "SECURITY_MANUAL_LINKING_ENABLED": "enable_manual_linking",
    "SECURITY_SB_FORWARDED_FOR_ENABLED": "sb_forwarded_for_enabled",
    "SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION": "email.secure_password_change",
    "SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD": "email.require_current_password",
    "EXPERIMENTAL_CREATE_EMAIL_IDENTITY_ON_PASSWORD_SET_ENABLED": "email.identity_on_password",
    "SECURITY_CAPTCHA_ENABLED": "captcha.enabled",
    "SECURITY_CAPTCHA_PROVIDER": "captcha.provider",
    "SECURITY_CAPTCHA_SECRET": "captcha.secret",
    "SECURITY_CAPTCHA_TIMEOUT": "captcha.timeout",
    "PASSWORD_MIN_LENGTH": "minimum_password_length",
    "PASSWORD_HIBP_ENABLED": "password.hibp.enabled",
    "PASSWORD_HIBP_FAIL_CLOSED": "password.hibp.fail_closed",
    "PASSWORD_HIBP_USER_AGENT": "password.hibp.user_agent",
    "EXTERNAL_ANONYMOUS_USERS_ENABLED": "enable_anonymous_sign_ins",
    "EXTERNAL_FLOW_STATE_EXPIRY_DURATION": "flow_state_expiry_duration",
    "EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS": "allowed_id_token_issuers",
    "EXTERNAL_IOS_BUNDLE_ID": "ios_bundle_id",
    "EXTERNAL_REDIRECT_URL": "redirect_url",
    "EXTERNAL_EMAIL_ENABLED": "email.enable_signup",
    "EXTERNAL_EMAIL_MAGIC_LINK_ENABLED": "email.magic_link_enabled",
    "EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES": "email.authorized_addresses",
    "EXTERNAL_PHONE_ENABLED": "sms.enable_signup",
    "MAILER_SECURE_EMAIL_CHANGE_ENABLED": "email.double_confirm_changes",
    "MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS": "email.allow_unverified_email_sign_ins",
    "MAILER_OTP_LENGTH": "email.otp_length",
    "MAILER_OTP_EXP": "email.otp_expiry",
    "MAILER_EXTERNAL_HOSTS": "email.external_hosts",
    "MAILER_EMAIL_VALIDATION_EXTENDED": "email.validation_extended",
    "SMTP_MAX_FREQUENCY": "email.max_frequency",
    "SMTP_HOST": "email.smtp.host",
    "SMTP_PORT": "email.smtp.port",
    "SMTP_USER": "email.smtp.user",
    "SMTP_PASS": "email.smtp.pass",
    "SMTP_ADMIN_EMAIL": "email.smtp.admin_email",
    "SMTP_SENDER_NAME": "email.smtp.sender_name",
    "SMTP_HEADERS": "email.smtp.headers",
    "SMS_TEMPLATE": "sms.template",
    "SMS_MAX_FREQUENCY": "sms.max_frequency",
    "SMS_OTP_EXP": "sms.otp_expiry",
    "SMS_OTP_LENGTH": "sms.otp_length",
    "SMS_TEST_OTP": "sms.test_otp",
    "SMS_TEST_OTP_VALID_UNTIL": "sms.test_otp_valid_until",
    "SMS_TWILIO_CONTENT_SID": "sms.twilio.content_sid",
    "SESSIONS_TIMEBOX": "sessions.timebox",
    "SESSIONS_INACTIVITY_TIMEOUT": "sessions.inactivity_timeout",
    "SESSIONS_ALLOW_LOW_AAL": "sessions.allow_low_aal",
    "SESSIONS_SINGLE_PER_USER": "sessions.single_per_user",
    "SESSIONS_TAGS": "sessions.tags",
    "MFA_MAX_ENROLLED_FACTORS": "mfa.max_enrolled_factors",
    "MFA_MAX_VERIFIED_FACTORS": "mfa.max_verified_factors",
    "MFA_CHALLENGE_EXPIRY_DURATION": "mfa.challenge_expiry_duration",
    "MFA_FACTOR_EXPIRY_DURATION": "mfa.factor_expiry_duration",
    "MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY": "mfa.rate_limit_challenge_and_verify",
    "MFA_TOTP_ENROLL_ENABLED": "mfa.totp.enroll_enabled",
    "MFA_TOTP_VERIFY_ENABLED": "mfa.totp.verify_enabled",
    "MFA_PHONE_ENROLL_ENABLED": "mfa.phone.enroll_enabled",
    "MFA_PHONE_VERIFY_ENABLED": "mfa.phone.verify_enabled",
    "MFA_PHONE_OTP_LENGTH": "mfa.phone.otp_length",
    "MFA_PHONE_TEMPLATE": "mfa.phone.template",
    "MFA_PHONE_MAX_FREQUENCY": "mfa.phone.max_frequency",
    "MFA_WEB_AUTHN_ENROLL_ENABLED": "mfa.web_authn.enroll_enabled",
    "MFA_WEB_AUTHN_VERIFY_ENABLED": "mfa.web_authn.verify_enabled",
    "MFA_RECOVERY_CODES_ENROLL_ENABLED": "mfa.recovery_codes.enroll_enabled",
    "MFA_RECOVERY_CODES_VERIFY_ENABLED": "mfa.recovery_codes.verify_enabled",
    "MFA_RECOVERY_CODES_COUNT": "mfa.recovery_codes.count",
    "MFA_RECOVERY_CODES_CODE_LENGTH": "mfa.recovery_codes.code_length",
    "MFA_RECOVERY_CODES_MAX_VERIFY_ATTEMPTS": "mfa.recovery_codes.max_verify_attempts",
    "MFA_RECOVERY_CODES_LOCKOUT_DURATION": "mfa.recovery_codes.lockout_duration",
    "PASSKEY_ENABLED": "passkey.enabled",
    "PASSKEY_MAX_PASSKEYS_PER_USER": "passkey.max_passkeys_per_user",
    "WEBAUTHN_RP_ID": "webauthn.rp_id",
    "WEBAUTHN_RP_DISPLAY_NAME": "webauthn.rp_display_name",
    "WEBAUTHN_RP_ORIGINS": "webauthn.rp_origins",
    "WEBAUTHN_CHALLENGE_EXPIRY_DURATION": "webauthn.challenge_expiry_duration",
    "CUSTOM_OAUTH_ENABLED": "custom_oauth.enabled",
    "CUSTOM_OAUTH_MAX_PROVIDERS": "custom_oauth.max_providers",
    "OAUTH_SERVER_ENABLED": "oauth_server.enabled",
    "OAUTH_SERVER_AUTHORIZATION_PATH": "oauth_server.authorization_url_path",
    "OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION": "oauth_server.allow_dynamic_registration",
    "OAUTH_SERVER_AUTHORIZATION_TTL": "oauth_server.authorization_ttl",
    "OAUTH_SERVER_DEFAULT_SCOPE": "oauth_server.default_scope",
    "RATE_LIMIT_EMAIL_SENT": "rate_limit.email_sent",
    "RATE_LIMIT_SMS_SENT": "rate_limit.sms_sent",
    "RATE_LIMIT_ANONYMOUS_USERS": "rate_limit.anonymous_users",
    "RATE_LIMIT_TOKEN_REFRESH": "rate_limit.token_refresh",
    "RATE_LIMIT_OTP": "rate_limit.sign_in_sign_ups",
    "RATE_LIMIT_VERIFY": "rate_limit.token_verifications",
    "RATE_LIMIT_WEB3": "rate_limit.web3",
    "RATE_LIMIT_SSO": "rate_limit.sso",
    "RATE_LIMIT_PASSKEY": "rate_limit.passkey",
    "RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER": "rate_limit.oauth_dynamic_client_register",
    "RATE_LIMIT_HEADER": "rate_limit.header",
    "SAML_ENABLED": "saml.enabled",
    "SAML_PRIVATE_KEY": "saml.private_key",
    "SAML_PRIVATE_KEY_NEXT": "saml.private_key_next",
    "SAML_ALLOW_ENCRYPTED_ASSERTIONS": "saml.allow_encrypted_assertions",
    "SAML_RELAY_STATE_VALIDITY_PERIOD": "saml.relay_state_validity_period",
    "SAML_EXTERNAL_URL": "saml.external_url",
    "SAML_RATE_LIMIT_ASSERTION": "saml.rate_limit_assertion",
    "DB_CLEANUP_ENABLED": "db_cleanup_enabled",
    "AUDIT_LOG_DISABLE_POSTGRES": "audit_log.disable_postgres",
    "SECURITY_DATABASE_ENCRYPTION_ENCRYPT": "database_encryption.encrypt",
    "SECURITY_DATABASE_ENCRYPTION_ENCRYPTION_KEY_ID": "database_encryption.encryption_key_id",
    "SECURITY_DATABASE_ENCRYPTION_ENCRYPTION_KEY": "database_encryption.encryption_key",
    "SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS": "database_encryption.decryption_keys",
    "CORS_ALLOWED_HEADERS": "cors_allowed_headers",
    "API_MAX_REQUEST_DURATION": "max_request_duration",
}
_INVERSE = {
    "DISABLE_SIGNUP": "enable_signup",
    "MAILER_AUTOCONFIRM": "email.enable_confirmations",
    "SMS_AUTOCONFIRM": "sms.enable_confirmations",
}
_OTHER_SPELLINGS = {
    "JWT_VALIDMETHODS": "jwt_valid_methods",
    "EXTERNAL_REDIRECTURL": "redirect_url",
    "API_EXTERNAL_URL": "external_url",
}
"""Names of the same things that are found in the wild."""
_PROVIDER_KEYS = (
    "enabled",
    "client_id",
    "secret",
    "redirect_uri",
    "url",
    "skip_nonce_check",
    "email_optional",
)
_CHAIN_KEYS = ("enabled", "maximum_validity_duration")
_MAIL_KEYS = {"SUBJECTS": "subject", "TEMPLATES": "url", "URLPATHS": "url_path"}

WITHOUT_MEANING = (
    "GOTRUE_API_HOST",
    "GOTRUE_API_PORT",
    "GOTRUE_API_ENDPOINT",
    "GOTRUE_COOKIE_",
    "GOTRUE_DB_",
    "GOTRUE_INDEX_WORKER_",
    "GOTRUE_JWT_ADMIN_GROUP_NAME",
    "GOTRUE_LOG_",
    "GOTRUE_METRICS_",
    "GOTRUE_OPERATOR_TOKEN",
    "GOTRUE_PASSWORD_HIBP_BLOOM_",
    "GOTRUE_PROFILER_",
    "GOTRUE_RELOADING_",
    "GOTRUE_SMTP_LOGGING_ENABLED",
    "GOTRUE_TRACING_",
)
"""Prefixes of names about the official server's own process: where it listens, what it logs, its database user. They are ignored
without a warning.
"""


def _dotted(key: str) -> tuple[str, ...]:
    return ("auth", *key.split("."))


def _mail_names() -> dict[str, Alias]:
    names = {}
    for title, key in _MAIL_KEYS.items():
        for name in EmailTemplateSettings.__struct_fields__:
            names[f"MAILER_{title}_{name}"] = Alias(_dotted(f"email.template.{name}.{key}"))
        if key != "url_path":
            for name in Notifications.__struct_fields__:
                names[f"MAILER_{title}_{name}_NOTIFICATION"] = Alias(
                    _dotted(f"email.notification.{name}.{key}")
                )
    for name in Notifications.__struct_fields__:
        names[f"MAILER_NOTIFICATIONS_{name}_ENABLED"] = Alias(_dotted(f"email.notification.{name}.enabled"))
    return names


def _family_names() -> dict[str, Alias]:
    families = [
        ("EXTERNAL", "external", External.__struct_fields__, _PROVIDER_KEYS),
        ("EXTERNAL_WEB3", "web3", ("solana", "ethereum"), _CHAIN_KEYS),
        ("HOOK", "hook", AuthHooks.__struct_fields__, ("enabled", "uri", "secrets")),
        *(("SMS", "sms", (sender,), keys) for sender, keys in SENDERS.items()),
    ]
    return {
        f"{title}_{name}_{key}": Alias(_dotted(f"{section}.{name}.{key}"))
        for title, section, names, keys in families
        for name in names
        for key in keys
    }


def _all_names() -> dict[str, Alias]:
    plain = {name: Alias(_dotted(key)) for name, key in _PLAIN.items()}
    inverse = {name: Alias(_dotted(key), inverse=True) for name, key in _INVERSE.items()}
    characters = {
        "PASSWORD_REQUIRED_CHARACTERS": Alias(_dotted("password.required_characters"), separator=":")
    }
    others = {name: Alias(_dotted(key)) for name, key in _OTHER_SPELLINGS.items()}
    names = plain | inverse | characters
    names |= _mail_names() | _family_names() | others
    without_prefix = {name: Alias(_dotted("external_url")) for name in EXTRA_NAMES}
    return without_prefix | {GOTRUE_PREFIX + name.upper(): alias for name, alias in names.items()}


GOTRUE_NAMES: dict[str, Alias] = _all_names()
"""Every name with the key it sets; where several set one key, the usual name is first."""
