"""What the settings of accounts refuse, under the names the user wrote, and what they lift to its floor."""

import pytest

from schemas.settings.environment import own_name
from schemas.settings.reading import load_settings
from tests.schemas.auth_setting_rows import HOOK_KEY, KEY, SIGNING, VERIFYING
from tests.schemas.rsa_key import rsa_key
from tests.schemas.settings.test_tree import refused, value_of


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"GOTRUE_EXTERNAL_GITHUB_ENABLED": "true"}, "GOTRUE_EXTERNAL_GITHUB_ENABLED needs GOTRUE_EXTERNAL_GITHUB_CLIENT_ID, which is not set"),
        ({"GOTRUE_EXTERNAL_GITHUB_ENABLED": "1", "GOTRUE_EXTERNAL_GITHUB_CLIENT_ID": "x"}, "GOTRUE_EXTERNAL_GITHUB_ENABLED needs GOTRUE_EXTERNAL_GITHUB_SECRET, which is not set"),
        ({"HEADWATER_AUTH_EXTERNAL_GITHUB_ENABLED": "true"}, "HEADWATER_AUTH_EXTERNAL_GITHUB_ENABLED needs HEADWATER_AUTH_EXTERNAL_GITHUB_CLIENT_ID, which is not set"),
        ({"GOTRUE_EXTERNAL_KEYCLOAK_ENABLED": "t", "GOTRUE_EXTERNAL_KEYCLOAK_CLIENT_ID": "x", "HEADWATER_AUTH_EXTERNAL_KEYCLOAK_SECRET": "x"}, "GOTRUE_EXTERNAL_KEYCLOAK_ENABLED needs GOTRUE_EXTERNAL_KEYCLOAK_URL, which is not set"),
        ({"GOTRUE_SMTP_HOST": "smtp.example"}, "GOTRUE_SMTP_HOST is set, but GOTRUE_SMTP_ADMIN_EMAIL, the sender, is not"),
        ({"GOTRUE_SMTP_HOST": "smtp.example", "GOTRUE_SMTP_ADMIN_EMAIL": "nobody"}, "GOTRUE_SMTP_ADMIN_EMAIL must be an e-mail address"),
        ({"HEADWATER_AUTH_EMAIL_SMTP_ENABLED": "true"}, "HEADWATER_AUTH_EMAIL_SMTP_ENABLED needs HEADWATER_AUTH_EMAIL_SMTP_HOST, which is not set"),
        ({"GOTRUE_SMS_PROVIDER": "twilio"}, "GOTRUE_SMS_PROVIDER needs GOTRUE_SMS_TWILIO_ACCOUNT_SID, which is not set"),
        ({"GOTRUE_SMS_PROVIDER": "pigeon"}, "GOTRUE_SMS_PROVIDER must be one of twilio, twilio_verify, messagebird, textlocal, vonage"),
        ({"GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS": "1", "GOTRUE_MAILER_AUTOCONFIRM": "1"}, "GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS cannot be on while GOTRUE_MAILER_AUTOCONFIRM has every address confirmed at once"),
        ({"GOTRUE_SITE_URL": "example"}, "GOTRUE_SITE_URL must be a URL, such as https://example.com"),
        ({"GOTRUE_SITE_URL": "http://[::1"}, "GOTRUE_SITE_URL must be a URL, such as https://example.com"),
        ({"API_EXTERNAL_URL": "ftp://example.org"}, "API_EXTERNAL_URL must be a URL, such as https://example.com/auth/v1"),
        ({"GOTRUE_SECURITY_CAPTCHA_ENABLED": "true"}, "GOTRUE_SECURITY_CAPTCHA_ENABLED needs GOTRUE_SECURITY_CAPTCHA_SECRET, which is not set"),
        ({"GOTRUE_SECURITY_CAPTCHA_ENABLED": "true", "GOTRUE_SECURITY_CAPTCHA_PROVIDER": "x"}, "GOTRUE_SECURITY_CAPTCHA_PROVIDER must be hcaptcha or turnstile"),
        ({"GOTRUE_JWT_KEYS": "{}"}, "GOTRUE_JWT_KEYS must be a list of JWKs as JSON"),
        ({"GOTRUE_JWT_KEYS": "["}, "GOTRUE_JWT_KEYS must be a list of JWKs as JSON"),
        ({"GOTRUE_JWT_KEYS": f"[{VERIFYING}]"}, "GOTRUE_JWT_KEYS must have exactly one key with sign in its key_ops; it has none"),
        ({"GOTRUE_JWT_KEYS": f"[{SIGNING}, {SIGNING}]"}, "GOTRUE_JWT_KEYS must have exactly one key with sign in its key_ops; it has 2"),
        ({"GOTRUE_JWT_KEYS": f'[{SIGNING}, {SIGNING.replace("sign", "x")}]'}, "GOTRUE_JWT_KEYS: every kid must be a text that no other key has"),
        ({"GOTRUE_JWT_KEYS": f'[{SIGNING.replace("ES256", "none")}]'}, "GOTRUE_JWT_KEYS: alg of key 1 must be one of RS256, RS512, ES256, ES512, EdDSA, HS256"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true"}, "GOTRUE_HOOK_SEND_SMS_ENABLED needs GOTRUE_HOOK_SEND_SMS_URI, which is not set"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "http://example.org"}, "GOTRUE_HOOK_SEND_SMS_URI must begin with https://; http:// is for this machine only"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "x"}, "GOTRUE_HOOK_SEND_SMS_URI must begin with pg-functions:// or https://"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "pg-functions://postgres/public"}, "GOTRUE_HOOK_SEND_SMS_URI must be pg-functions://postgres/<schema>/<function>"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "https://example.org", "GOTRUE_HOOK_SEND_SMS_SECRETS": f"{HOOK_KEY}|hunter2"}, "GOTRUE_HOOK_SEND_SMS_SECRETS must be keys of the form v1,whsec_<base64 of 24 to 64 bytes>, joined by |"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "https://example.org"}, "GOTRUE_HOOK_SEND_SMS_ENABLED needs GOTRUE_HOOK_SEND_SMS_SECRETS, which is not set: calls over HTTP are signed with v1,whsec_<base64>"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "https://example.org", "GOTRUE_HOOK_SEND_SMS_SECRETS": "v1a,whpk_" + "A" * 44 + ":whsk_" + "A" * 44}, "GOTRUE_HOOK_SEND_SMS_SECRETS holds a pair of keys (v1a,...), with which calls are not signed here; make a shared key of the form v1,whsec_<base64 of 24 to 64 bytes>"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "https://example.org", "GOTRUE_HOOK_SEND_SMS_SECRETS": "v1,whsec_c2hvcnQ="}, "GOTRUE_HOOK_SEND_SMS_SECRETS must be keys of the form v1,whsec_<base64 of 24 to 64 bytes>, joined by |"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "https://ann:pw@example.org", "GOTRUE_HOOK_SEND_SMS_SECRETS": HOOK_KEY}, "GOTRUE_HOOK_SEND_SMS_URI must not hold a user or a password"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "pg-functions://other/public/hook"}, "GOTRUE_HOOK_SEND_SMS_URI must be pg-functions://postgres/<schema>/<function>"),
        ({"GOTRUE_HOOK_SEND_SMS_ENABLED": "true", "GOTRUE_HOOK_SEND_SMS_URI": "pg-functions://postgres/public/hook/more"}, "GOTRUE_HOOK_SEND_SMS_URI must be pg-functions://postgres/<schema>/<function>"),
        ({"GOTRUE_PASSKEY_ENABLED": "true", "GOTRUE_WEBAUTHN_RP_ID": "x"}, "GOTRUE_PASSKEY_ENABLED needs GOTRUE_WEBAUTHN_RP_ORIGINS, which is not set"),
        ({"GOTRUE_SAML_ENABLED": "true"}, "GOTRUE_SAML_ENABLED needs GOTRUE_SAML_PRIVATE_KEY, which is not set"),
        ({"GOTRUE_SAML_ENABLED": "true", "GOTRUE_SAML_PRIVATE_KEY": "c2VjcmV0"}, "GOTRUE_SAML_PRIVATE_KEY must be an RSA key: PKCS#1 DER in base64"),
        ({"GOTRUE_SAML_ENABLED": "true", "GOTRUE_SAML_PRIVATE_KEY": "no base64"}, "GOTRUE_SAML_PRIVATE_KEY must be an RSA key: PKCS#1 DER in base64"),
        ({"GOTRUE_SAML_ENABLED": "true", "GOTRUE_SAML_PRIVATE_KEY": rsa_key(1024)}, "GOTRUE_SAML_PRIVATE_KEY must have 2048 bits or more, and the exponent 65537"),
        ({"GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPT": "true"}, "GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPT needs GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPTION_KEY_ID, which is not set"),
        ({"GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPT": "true", "GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPTION_KEY_ID": "one", "GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPTION_KEY": KEY}, "GOTRUE_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS must hold GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPTION_KEY under its id too"),
        ({"GOTRUE_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS": "one:hunter2"}, "GOTRUE_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS: one must be 32 bytes in base64url"),
        ({"GOTRUE_MFA_RECOVERY_CODES_ENROLL_ENABLED": "1", "GOTRUE_MFA_RECOVERY_CODES_LOCKOUT_DURATION": "1s"}, "GOTRUE_MFA_RECOVERY_CODES_LOCKOUT_DURATION must be 1m to 24h"),
        ({"GOTRUE_MAILER_AUTOCONFIRM": "yes"}, "GOTRUE_MAILER_AUTOCONFIRM must be true or false"),
        ({"GOTRUE_SMTP_PORT": "smtp"}, "GOTRUE_SMTP_PORT must be a port, 0 to 65535"),
        ({"GOTRUE_SMTP_MAX_FREQUENCY": "often"}, "GOTRUE_SMTP_MAX_FREQUENCY must be a duration such as 90s or 1h30m, or a number of seconds"),
        ({"GOTRUE_RATE_LIMIT_EMAIL_SENT": "30/often"}, "GOTRUE_RATE_LIMIT_EMAIL_SENT must be a whole number for each hour, or one with a time, such as 100/24h"),
        ({"GOTRUE_SMS_TEST_OTP": "46700000001"}, "GOTRUE_SMS_TEST_OTP must be a table of texts, as name:value,name:value"),
        ({"GOTRUE_SMS_TEST_OTP_VALID_UNTIL": "tomorrow"}, "GOTRUE_SMS_TEST_OTP_VALID_UNTIL must be a time with its zone, such as 2030-01-31T12:00:00Z"),
        ({"GOTRUE_SMTP_HEADERS": '{"X": "y"}'}, "GOTRUE_SMTP_HEADERS must be a table of lists of texts"),
        ({"GOTRUE_JWT_SECRET": "short"}, "GOTRUE_JWT_SECRET must have 16 characters or more"),
        ({"HEADWATER_LOG_LEVEL": "loud"}, "HEADWATER_LOG_LEVEL is 'loud' but must be one of debug, info, warning, error"),
        ({"GOTRUE_JWT_SECRET": "\udcff"}, "GOTRUE_JWT_SECRET is not valid UTF-8"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_under_the_name_the_user_wrote(
    environment: dict[str, str], said: str
) -> None:
    assert refused(b"", environment) == said


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[auth.external.github]\nenabled = true", "auth.external.github.enabled needs auth.external.github.client_id, which is not set"),
        ("[auth.external.google]\nenabled = true\nclient_id = ' , '", "auth.external.google.client_id must name at least one client"),
        ("[auth.external.google]\nenabled = true\nclient_id = 'x'\nredirect_uri = 'x'", "auth.external.google.redirect_uri must be a URL"),
        ("[auth]\npassword_requirements = 'letters'", "auth.password_requirements must be empty or one of letters_digits, lower_upper_letters_digits, lower_upper_letters_digits_symbols"),
        ("[auth]\nminimum_password_length = 100", "auth.minimum_password_length must not be above auth.password.max_length"),
        ("[auth.third_party.clerk]\nenabled = true", "auth.third_party.clerk.enabled needs auth.third_party.clerk.domain, which is not set"),
        ("[auth.email.template.invite]\nurl = 'ftp://files.example/x'", "auth.email.template.invite.url must be a URL, or a path on auth.site_url"),
        ("[auth.email.notification.email_changed]\nurl = 'file:///x'", "auth.email.notification.email_changed.url must be a URL, or a path on auth.site_url"),
        ("[auth.email.template.invite]\ncontent = 'x'\nurl = 'x'", "auth.email.template.invite.content, auth.email.template.invite.content_path and auth.email.template.invite.url exclude one another"),
        ("[auth.external.github]\nenabled = true\nclient_id = ' '", "auth.external.github.enabled needs auth.external.github.client_id, which is not set"),
        ("[auth.sms.vonage]\nenabled=true\n[auth.sms.twilio]\nenabled = true", "auth.sms.vonage.enabled is on, but auth.sms.twilio.enabled is too: one sender at most"),
    ],
)  # fmt: skip
def test_what_cannot_work_in_the_file_is_refused_with_the_files_name(config: str, said: str) -> None:
    assert refused(config.encode()) == f"config.toml: {said}"


def test_a_key_of_the_file_and_one_of_the_environment_are_each_told_as_they_were_written() -> None:
    config, environment = (
        b"[auth]\nminimum_password_length = 100",
        {"HEADWATER_AUTH_PASSWORD_MAX_LENGTH": "99"},
    )

    told = "auth.minimum_password_length must not be above HEADWATER_AUTH_PASSWORD_MAX_LENGTH"
    assert refused(config, environment) == f"config.toml: {told}"


def test_a_secret_is_not_needed_where_applications_bring_id_tokens_themselves() -> None:
    environment = {"GOTRUE_EXTERNAL_APPLE_ENABLED": "true", "GOTRUE_EXTERNAL_APPLE_CLIENT_ID": "com.example"}

    assert load_settings(b"", environment)[0].auth.external.apple.secret is None


@pytest.mark.parametrize(
    ("key", "text", "kept", "told"),
    [
        ("minimum_password_length", "4", 6, "HEADWATER_AUTH_MINIMUM_PASSWORD_LENGTH is less than 6; passwords have at least 6 characters"),
        ("email.otp_length", "5", 6, "HEADWATER_AUTH_EMAIL_OTP_LENGTH must be 6 to 10; codes have 6 digits"),
        ("sms.otp_length", "11", 6, "HEADWATER_AUTH_SMS_OTP_LENGTH must be 6 to 10; codes have 6 digits"),
        ("mfa.phone.otp_length", "-1", 6, "HEADWATER_AUTH_MFA_PHONE_OTP_LENGTH must be 6 to 10; codes have 6 digits"),
        ("mfa.challenge_expiry_duration", "1s", 300, "HEADWATER_AUTH_MFA_CHALLENGE_EXPIRY_DURATION is less than 300 seconds; 300 hold"),
        ("mfa.factor_expiry_duration", "4m59s", 300, "HEADWATER_AUTH_MFA_FACTOR_EXPIRY_DURATION is less than 300 seconds; 300 hold"),
        ("flow_state_expiry_duration", "0", 300, "HEADWATER_AUTH_FLOW_STATE_EXPIRY_DURATION is less than 300 seconds; 300 hold"),
    ],
)  # fmt: skip
def test_a_value_below_its_floor_is_told_and_lifted(key: str, text: str, kept: object, told: str) -> None:
    settings, warnings = load_settings(b"", {own_name(["auth", *key.split(".")]): text})

    assert value_of(settings, f"auth.{key}") == kept
    assert warnings == [told]


def test_an_oauth_server_without_a_consent_page_starts_with_a_warning() -> None:
    settings, warnings = load_settings(b"", {"GOTRUE_OAUTH_SERVER_ENABLED": "true"})

    assert settings.auth.oauth_server.enabled
    (warning,) = warnings
    assert "auth.oauth_server.authorization_url_path is not set: /oauth/authorize answers" in warning
