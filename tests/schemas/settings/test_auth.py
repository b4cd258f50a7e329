"""The settings of accounts: every row of the reference's table of names, and what they refuse."""

import contextlib
import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.keys.secret import Secret
from schemas.settings.auth import PASSWORD_REQUIREMENTS, Auth
from schemas.settings.environment import own_name
from schemas.settings.gotrue_names import EXTRA_NAMES, GOTRUE_NAMES, SMS_PROVIDER
from schemas.settings.reading import load_settings
from schemas.settings.tree import Settings, SettingsError
from schemas.settings.types import Duration, Quota
from tests.rows import rows
from tests.schemas.auth_setting_rows import HOOK_KEY, KEY, ROWS, SIGNING
from tests.schemas.settings.test_tree import (
    COMPANIONS,
    SPECIAL,
    companions,
    document,
    file_with,
    is_expected,
    nested,
    refused,
    sample,
    texts,
    toml,
    value_of,
    values,
)

ALIASED = [row for row in ROWS if row[1]]


def gotrue(name: str) -> str:
    return name if name in EXTRA_NAMES else f"GOTRUE_{name}"


def auth_of(environment: dict[str, str], config: bytes = b"") -> Auth:
    """Read [auth] where nothing is to be told."""
    settings, warnings = load_settings(config, environment)
    assert warnings == []
    return settings.auth


@rows("key, name, text, value, default", ROWS)
def test_a_key_has_the_default_of_the_reference(
    key: str, name: str | None, text: str, value: object, default: object
) -> None:
    found = value_of(load_settings(b"", {})[0], f"auth.{key}")

    assert (found, type(found)) == (default, Duration if isinstance(found, Duration) else type(found))
    assert value != default


@rows("key, name, text, value, default", ALIASED)
def test_a_name_of_the_official_server_sets_its_key(
    key: str, name: str, text: str, value: object, default: object
) -> None:
    settings, warnings = load_settings(b"", {**companions(f"auth.{key}"), gotrue(name): text})

    assert value_of(settings, f"auth.{key}") == value
    assert is_expected(f"auth.{key}", warnings)


@rows("key, name, text, value, default", ALIASED)
def test_ours_win_over_the_official_names_and_both_over_the_file(
    key: str, name: str, text: str, value: object, default: object
) -> None:
    full = f"auth.{key}"
    own = own_name(full.split("."))
    mine = SPECIAL.get(full, sample(full))
    spelled = mine if isinstance(mine, str) else json.dumps(mine)
    config = b"" if default is None else file_with(full, default)

    assert value_of(auth_tree(config, {**companions(full), gotrue(name): text}), full) == value
    assert value_of(auth_tree(config, {**companions(full), gotrue(name): text, own: spelled}), full) == mine


def auth_tree(config: bytes, environment: dict[str, str]) -> Settings:
    return load_settings(config, environment)[0]


@rows("name, text", product([*GOTRUE_NAMES, SMS_PROVIDER], ["", "  "]))
def test_an_empty_official_name_is_as_if_it_were_not_set(name: str, text: str) -> None:
    assert load_settings(b"", {name: text}) == load_settings(b"", {})


def test_every_official_name_stands_in_the_table_above_or_is_an_addition() -> None:
    additions = {
        "GOTRUE_API_EXTERNAL_URL",
        "GOTRUE_CUSTOM_OAUTH_ENABLED",
        "GOTRUE_CUSTOM_OAUTH_MAX_PROVIDERS",
        "GOTRUE_EXPERIMENTAL_CREATE_EMAIL_IDENTITY_ON_PASSWORD_SET_ENABLED",
        "GOTRUE_EXTERNAL_REDIRECTURL",
        "GOTRUE_MAILER_EMAIL_VALIDATION_EXTENDED",
        "GOTRUE_SECURITY_CAPTCHA_TIMEOUT",
        "GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED",
        "GOTRUE_SMS_TEST_OTP_VALID_UNTIL",
        "GOTRUE_WEBAUTHN_CHALLENGE_EXPIRY_DURATION",
    }
    named = {gotrue(name) for _, name, *_ in ROWS if name}
    rest = {name for name in GOTRUE_NAMES.keys() - named if "_MFA_RECOVERY_CODES_" not in name}

    assert rest == additions


@pytest.mark.parametrize("sender", ["twilio", "twilio_verify", "messagebird", "textlocal", "vonage"])
def test_the_sender_of_messages_that_is_named_is_enabled_alone(sender: str) -> None:
    other = "vonage" if sender == "twilio" else "twilio"
    environment = companions(f"auth.sms.{sender}.enabled") | {"GOTRUE_SMS_PROVIDER": sender}

    assert auth_of(environment, file_with(f"auth.sms.{other}.enabled", True)).sms.sender == sender
    assert auth_of({}).sms.sender is None


def test_the_time_until_which_fixed_codes_hold_is_read_from_either_place() -> None:
    until = "2023-09-29T08:14:06Z"
    found = auth_of({"GOTRUE_SMS_TEST_OTP_VALID_UNTIL": until}).sms.test_otp_valid_until
    of_file = auth_of({}, f"[auth.sms]\ntest_otp_valid_until = {until}".encode()).sms.test_otp_valid_until

    assert found == of_file
    assert found is not None
    assert found.isoformat() == "2023-09-29T08:14:06+00:00"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("GOTRUE_SITE_URI", "; did you mean GOTRUE_SITE_URL?"),
        ("GOTRUE_EXTERNAL_GOGLE_CLIENT_ID", "; did you mean GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID?"),
        ("GOTRUE_SMS_PROVDER", "; did you mean GOTRUE_SMS_PROVIDER?"),
        ("GOTRUE_QQQ", ""),
    ],
)
def test_an_unknown_official_name_is_told_with_the_one_that_was_meant(name: str, told: str) -> None:
    assert load_settings(b"", {name: "x"})[1] == [f"unknown environment variable {name} is ignored{told}"]


SELF_HOSTED = {
    "GOTRUE_API_HOST": "0.0.0.0",
    "GOTRUE_API_PORT": "9999",
    "API_EXTERNAL_URL": "https://api.shop.example/auth/v1",
    "GOTRUE_DB_DRIVER": "postgres",
    "GOTRUE_DB_DATABASE_URL": "postgres://supabase_auth_admin:pw@db:5432/postgres",
    "GOTRUE_DB_MAX_POOL_SIZE": "10",
    "GOTRUE_LOG_LEVEL": "info",
    "GOTRUE_OPERATOR_TOKEN": "unused",
    "GOTRUE_SITE_URL": "https://shop.example",
    "GOTRUE_URI_ALLOW_LIST": "https://shop.example/**,https://*.preview.shop.example/**,shop://callback",
    "GOTRUE_DISABLE_SIGNUP": "false",
    "GOTRUE_JWT_ADMIN_ROLES": "service_role",
    "GOTRUE_JWT_AUD": "authenticated",
    "GOTRUE_JWT_DEFAULT_GROUP_NAME": "authenticated",
    "GOTRUE_JWT_EXP": "3600",
    "GOTRUE_JWT_SECRET": "0123456789abcdef0123456789abcdef01234567",
    "GOTRUE_JWT_KEYS": "[]",
    "GOTRUE_JWT_VALIDMETHODS": "HS256,RS256,ES256",
    "GOTRUE_EXTERNAL_EMAIL_ENABLED": "true",
    "GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED": "false",
    "GOTRUE_MAILER_AUTOCONFIRM": "false",
    "GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED": "true",
    "GOTRUE_MAILER_OTP_EXP": "3600",
    "GOTRUE_SMTP_ADMIN_EMAIL": "hello@shop.example",
    "GOTRUE_SMTP_HOST": "mail.shop.example",
    "GOTRUE_SMTP_PORT": "587",
    "GOTRUE_SMTP_USER": "shop",
    "GOTRUE_SMTP_PASS": "p4ss",
    "GOTRUE_SMTP_SENDER_NAME": "The Shop",
    "GOTRUE_SMTP_MAX_FREQUENCY": "1m0s",
    "GOTRUE_MAILER_URLPATHS_INVITE": "/auth/v1/verify",
    "GOTRUE_MAILER_URLPATHS_CONFIRMATION": "/auth/v1/verify",
    "GOTRUE_MAILER_URLPATHS_RECOVERY": "/auth/v1/verify",
    "GOTRUE_MAILER_URLPATHS_EMAIL_CHANGE": "/auth/v1/verify",
    "GOTRUE_MAILER_TEMPLATES_RECOVERY": "http://templates/recovery.html",
    "GOTRUE_MAILER_SUBJECTS_RECOVERY": "A new password",
    "GOTRUE_MAILER_SUBJECTS_INVITE": "",
    "GOTRUE_EXTERNAL_PHONE_ENABLED": "true",
    "GOTRUE_SMS_AUTOCONFIRM": "false",
    "GOTRUE_SMS_PROVIDER": "twilio",
    "GOTRUE_SMS_TWILIO_ACCOUNT_SID": "AC00",
    "GOTRUE_SMS_TWILIO_AUTH_TOKEN": "token",
    "GOTRUE_SMS_TWILIO_MESSAGE_SERVICE_SID": "MG00",
    "GOTRUE_SMS_TEST_OTP": "46700000001:123456,46700000002:234567",
    "GOTRUE_EXTERNAL_GOOGLE_ENABLED": "true",
    "GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID": "web.apps.example,ios.apps.example",
    "GOTRUE_EXTERNAL_GOOGLE_SECRET": "google",
    "GOTRUE_EXTERNAL_GOOGLE_REDIRECT_URI": "https://api.shop.example/auth/v1/callback",
    "GOTRUE_EXTERNAL_GOOGLE_SKIP_NONCE_CHECK": "true",
    "GOTRUE_EXTERNAL_APPLE_ENABLED": "false",
    "GOTRUE_EXTERNAL_APPLE_CLIENT_ID": "",
    "GOTRUE_EXTERNAL_KEYCLOAK_ENABLED": "true",
    "GOTRUE_EXTERNAL_KEYCLOAK_CLIENT_ID": "shop",
    "GOTRUE_EXTERNAL_KEYCLOAK_SECRET": "keycloak",
    "GOTRUE_EXTERNAL_KEYCLOAK_URL": "https://id.shop.example/realms/main",
    "GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED": "true",
    "GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI": "pg-functions://postgres/public/custom_access_token_hook",
    "GOTRUE_HOOK_SEND_EMAIL_ENABLED": "true",
    "GOTRUE_HOOK_SEND_EMAIL_URI": "http://host.docker.internal:54321/functions/v1/email_sender",
    "GOTRUE_HOOK_SEND_EMAIL_SECRETS": HOOK_KEY,
    "GOTRUE_SECURITY_CAPTCHA_ENABLED": "false",
    "GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED": "true",
    "GOTRUE_RATE_LIMIT_HEADER": "X-Forwarded-For",
    "GOTRUE_RATE_LIMIT_EMAIL_SENT": "360000",
    "GOTRUE_SESSIONS_TIMEBOX": "720h0m0s",
    "GOTRUE_MFA_PHONE_TEMPLATE": "Your code is {{ .Code }}",
    "GOTRUE_METRICS_ENABLED": "false",
}
"""The environment of the auth container of a shop that hosts itself."""


def test_the_environment_of_a_self_hoster_is_read_without_a_word() -> None:
    auth = auth_of(SELF_HOSTED)

    assert auth.additional_redirect_urls[2] == "shop://callback"
    assert auth.jwt_secret == Secret("0123456789abcdef0123456789abcdef01234567")
    assert (auth.email.enable_confirmations, auth.email.smtp.is_used, auth.email.max_frequency) == (
        True,
        True,
        60,
    )
    assert auth.email.smtp.password == Secret("p4ss")
    assert (auth.sms.sender, auth.sms.test_otp["46700000002"]) == ("twilio", "234567")
    assert list(auth.external.enabled()) == ["google", "keycloak"]
    assert auth.external.google.client_ids == ("web.apps.example", "ios.apps.example")
    assert auth.sessions.timebox == 30 * 86400
    assert (auth.rate_limit.email_sent.most, auth.rate_limit.email_sent.refills) == (360000, False)


OFFICIAL_FILE = b"""
[auth]
enabled = true
site_url = "http://127.0.0.1:3000"
additional_redirect_urls = ["https://127.0.0.1:3000"]
jwt_expiry = 3600
enable_refresh_token_rotation = true
refresh_token_reuse_interval = 10
enable_signup = true
minimum_password_length = 8
password_requirements = "lower_upper_letters_digits_symbols"
[auth.rate_limit]
email_sent = 2
sign_in_sign_ups = 30
[auth.email]
double_confirm_changes = true
max_frequency = "1s"
[auth.email.smtp]
enabled = true
host = "smtp.example"
port = 587
user = "apikey"
pass = "env(SMTP_KEY)"
admin_email = "admin@email.example"
sender_name = "Admin"
[auth.email.template.invite]
subject = "You may come in"
content_path = "./supabase/templates/invite.html"
[auth.email.notification.password_changed]
enabled = true
[auth.sms.twilio]
enabled = false
auth_token = "env(TWILIO)"
[auth.sms.test_otp]
4152127777 = "123456"
4152127778 = 654321
[auth.sessions]
timebox = "24h"
inactivity_timeout = "0s"
[auth.hook.custom_access_token]
enabled = true
uri = "pg-functions://postgres/public/hook"
[auth.mfa.totp]
enroll_enabled = false
[auth.mfa.web_authn]
enroll_enabled = true
[auth.external.github]
enabled = true
client_id = "me"
secret = "env(GITHUB)"
url = ""
[auth.web3.solana]
enabled = false
[auth.third_party.aws_cognito]
enabled = false
[auth.oauth_server]
enabled = true
authorization_url_path = "/oauth/consent"
"""


def test_a_file_of_the_official_tool_is_read_without_a_word() -> None:
    auth = auth_of({"SMTP_KEY": "smtp", "TWILIO": "twilio", "GITHUB": "github"}, OFFICIAL_FILE)

    assert auth.email.smtp.password == Secret("smtp")
    assert (auth.sessions.timebox, auth.sessions.inactivity_timeout) == (86400, None)
    assert auth.sms.test_otp == {"4152127777": "123456", "4152127778": "654321"}
    assert (auth.rate_limit.email_sent, auth.email.template.invite.subject) == ("2", "You may come in")
    assert list(auth.external.enabled()) == ["github"]


@pytest.mark.parametrize("text", ["", " ", "[]", " [ ] "])
def test_an_empty_list_of_signing_keys_is_none(text: str) -> None:
    assert auth_of({"GOTRUE_JWT_KEYS": text}).jwt_keys is None
    assert auth_of({"HEADWATER_AUTH_JWT_KEYS": text}).jwt_keys is None


def test_a_secret_in_a_table_is_never_the_name_of_a_variable_that_is_not_set() -> None:
    config = b'[auth.database_encryption.decryption_keys]\none = "env(NOT_SET)"'

    assert "asks for env(NOT_SET), but NOT_SET is not set" in refused(config)


def test_no_key_of_encryption_shows_in_a_representation() -> None:
    settings, _ = load_settings(file_with("auth.database_encryption.decryption_keys", {"one": KEY}), {})

    assert KEY not in repr(settings)


@pytest.mark.parametrize("name", PASSWORD_REQUIREMENTS)
def test_the_named_password_requirements_are_sets_of_signs(name: str) -> None:
    sets = PASSWORD_REQUIREMENTS[name]

    assert all(len(set(each)) == len(each) for each in sets)
    assert len(sets) == {"": 0, "letters_digits": 2}.get(name, 3 + name.endswith("symbols"))


names = st.sampled_from(sorted([*GOTRUE_NAMES, SMS_PROVIDER]))
words = st.text(max_size=20) | st.sampled_from(
    [
        "true",
        "f",
        "1",
        "24h0m0s",
        "30/1h",
        "a:b,c=d",
        "[]",
        "{}",
        f"[{SIGNING}]",
        "https://a.example",
        "twilio",
        KEY,
    ]
)
auth_keys = st.sampled_from(
    sorted({f"auth.{row[0]}" for row in ROWS} | {key.rpartition(".")[0] for key in COMPANIONS})
)
auth_values = values | words.filter(lambda text: text.isprintable())


@given(st.dictionaries(names, words, max_size=8))
def test_any_official_environment_gives_settings_or_a_refusal(environment: dict[str, str]) -> None:
    with contextlib.suppress(SettingsError):
        settings, warnings = load_settings(b"", environment)

        assert isinstance(settings, Settings)
        assert all(isinstance(warning, str) for warning in warnings)


@given(
    st.lists(st.tuples(auth_keys, auth_values), max_size=6).map(nested),
    st.dictionaries(names, words, max_size=3),
)
def test_any_tree_of_accounts_gives_settings_or_a_refusal(
    tree: dict[str, Any], environment: dict[str, str]
) -> None:
    with contextlib.suppress(SettingsError):
        settings, _ = load_settings(document(tree), environment)

        assert isinstance(settings.auth, Auth)


@given(st.lists(texts, max_size=3))
def test_sets_of_signs_come_back_as_they_were_written(sets: list[str]) -> None:
    sets = [each for each in sets if each.strip() and not each.endswith("\\") and each == each.strip()]
    text = ":".join(each.replace(":", "\\:") for each in sets)
    wanted = [each for each in sets if "\\:" not in each]
    if wanted == sets:
        assert auth_of({"GOTRUE_PASSWORD_REQUIRED_CHARACTERS": text}).password.required_characters == sets


def test_toml_of_a_quota_may_be_a_number() -> None:
    assert auth_of({}, f"[auth.rate_limit]\nemail_sent = {toml(7)}".encode()).rate_limit.email_sent == Quota(
        "7"
    )
