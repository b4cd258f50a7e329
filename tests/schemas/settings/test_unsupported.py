"""The official file: every key of the reference page is honoured or told, and what `supabase init` writes is read unchanged."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from schemas.settings.forms import KINDS, table_of_each
from schemas.settings.reading import load_settings
from schemas.settings.tree import Settings, SettingsError
from schemas.settings.unsupported import (
    UNSUPPORTED_KEYS,
    UNSUPPORTED_SECTIONS,
    in_one_line,
    is_unsupported,
)
from tests.rows import rows
from tests.schemas.settings.test_tree import value_of

HERE = Path(__file__).parent
OFFICIAL = (HERE / "official_config.toml").read_bytes()

DEFAULTS: dict[str, Any] = {
    "api.enabled": True, "api.port": 54321, "api.schemas": ["public", "graphql_public"],
    "api.extra_search_path": ["public", "extensions"], "api.max_rows": 1000, "api.auto_expose_new_tables": True,
    "api.tls.enabled": False,
    "db.port": 54322, "db.shadow_port": 54320, "db.health_timeout": "2m", "db.pooler.enabled": False,
    "db.pooler.port": 54329, "db.pooler.pool_mode": "transaction", "db.pooler.default_pool_size": 20,
    "db.pooler.max_client_conn": 100, "db.migrations.enabled": True, "db.migrations.schema_paths": [],
    "db.seed.enabled": True, "db.seed.sql_paths": ["./seed.sql"], "db.vault": {}, "db.settings": {},
    "realtime.enabled": True, "realtime.ip_version": "IPv4", "realtime.max_header_length": 4096,
    "inbucket.enabled": True, "inbucket.port": 54324, "inbucket.smtp_port": 54325, "inbucket.pop3_port": 54326,
    "inbucket.admin_email": "admin@email.com", "inbucket.sender_name": "Admin",
    "storage.enabled": True, "storage.file_size_limit": 50 * 1024 * 1024, "storage.image_transformation.enabled": True,
    "storage.s3_protocol.enabled": True, "storage.buckets": {},
    "auth.enabled": True, "auth.site_url": "http://127.0.0.1:3000", "auth.additional_redirect_urls": [],
    "auth.external_url": "", "auth.jwt_expiry": 3600, "auth.jwt_issuer": "", "auth.signing_keys_path": "",
    "auth.enable_refresh_token_rotation": True, "auth.refresh_token_reuse_interval": 10, "auth.enable_signup": True,
    "auth.enable_anonymous_sign_ins": False, "auth.enable_manual_linking": False, "auth.minimum_password_length": 6,
    "auth.password_requirements": "",
    "auth.email.enable_signup": True, "auth.email.double_confirm_changes": True,
    "auth.email.enable_confirmations": False, "auth.email.secure_password_change": False,
    "auth.email.max_frequency": 1.0, "auth.email.otp_length": 6, "auth.email.otp_expiry": 3600,
    "auth.captcha.enabled": False, "auth.sms.enable_signup": False, "auth.sms.test_otp": {},
    "auth.sessions.timebox": None, "auth.sessions.inactivity_timeout": None,
    "auth.mfa.max_enrolled_factors": 10, "auth.mfa.phone.enroll_enabled": False, "auth.mfa.web_authn.enroll_enabled": False,
    "auth.oauth_server.enabled": False, "auth.passkey.enabled": False, "auth.webauthn.rp_id": "",
    "auth.third_party.firebase.enabled": False, "auth.third_party.auth0.enabled": False,
    "auth.third_party.aws_cognito.enabled": False, "auth.third_party.clerk.enabled": False,
    "auth.web3.solana.enabled": False,
    "edge_runtime.enabled": True, "edge_runtime.policy": "per_worker", "edge_runtime.deno_version": 2,
    "edge_runtime.inspector_port": 8083, "edge_runtime.secrets": {}, "functions": {},
}  # fmt: skip
"""Keys and defaults of the table "config.toml" in the reference page "platform", section 2."""

TOLD = [
    "studio.enabled", "studio.port", "studio.api_url", "studio.openai_api_key", "analytics.enabled", "analytics.port",
    "analytics.backend", "db.network_restrictions.enabled", "db.major_version", "storage.analytics.enabled",
    "storage.vector.enabled", "experimental.orioledb_version",
]  # fmt: skip
"""Keys of the same table that are not honoured."""

PROVIDER = ("enabled", "client_id", "secret", "redirect_uri", "url", "skip_nonce_check", "email_optional")
BUCKET = ("public", "file_size_limit", "allowed_mime_types", "objects_path")


OTHER_VALUES = {"db.health_timeout": '"7s"', "db.root_key": '"7"', "realtime.ip_version": '"IPv6"'}


def warnings_of(config: str, environment: dict[str, str] | None = None) -> list[str]:
    return load_settings(config.encode(), environment or {})[1]


@rows("key", DEFAULTS)
def test_a_key_of_the_reference_has_its_default(key: str) -> None:
    assert value_of(Settings(), key) == DEFAULTS[key]


@rows("key", TOLD)
def test_a_key_of_the_reference_that_is_not_honoured_is_told(key: str) -> None:
    section, _, name = key.rpartition(".")

    value = "17" if name == "major_version" else '"something"'
    told = warnings_of(f"[{section}]\n{name} = {value}")

    assert len(told) == 1
    assert name in told[0]
    assert "Instead: " in told[0]
    assert is_unsupported(key)


@rows("name", PROVIDER)
def test_providers_have_the_keys_of_the_reference(name: str) -> None:
    assert ("auth", "external", "github", name) in KINDS


def test_buckets_have_the_keys_of_the_reference() -> None:
    table = table_of_each(KINDS["storage", "buckets"])

    assert table is not None
    assert set(BUCKET) <= set(table.__struct_fields__)


def test_every_hook_limit_and_letter_of_the_reference_has_a_key() -> None:
    limits = (
        "email_sent",
        "sms_sent",
        "anonymous_users",
        "token_refresh",
        "sign_in_sign_ups",
        "token_verifications",
        "web3",
    )
    hooks = (
        "mfa_verification_attempt",
        "password_verification_attempt",
        "custom_access_token",
        "send_sms",
        "send_email",
        "before_user_created",
    )
    letters = ("invite", "confirmation", "recovery", "magic_link", "email_change", "reauthentication")

    assert all(("auth", "rate_limit", name) in KINDS for name in limits)
    assert all(
        ("auth", "hook", name, key) in KINDS for name in hooks for key in ("enabled", "uri", "secrets")
    )
    assert all(("auth", "email", "template", name, "content_path") in KINDS for name in letters)


def test_the_file_that_the_official_tool_writes_is_read_with_a_line_a_section() -> None:
    settings, told = load_settings(OFFICIAL, {})

    assert settings.project_id == "demo"
    assert [line.partition("]")[0] + "]" for line in told] == ["[studio]", "[analytics]", "[db]"]


def test_every_key_of_the_official_file_is_known() -> None:
    told = load_settings(OFFICIAL, {})[1]

    assert not [line for line in told if "unknown" in line]
    assert tomllib.loads(OFFICIAL.decode())["auth"]["sms"]["twilio"]["auth_token"].startswith("env(")


@pytest.mark.parametrize("name", sorted(UNSUPPORTED_SECTIONS))
def test_a_section_that_is_switched_off_asks_for_nothing(name: str) -> None:
    assert warnings_of(f"[{name}]\nenabled = false\nport = 5") == []


@pytest.mark.parametrize("name", sorted(UNSUPPORTED_SECTIONS))
def test_a_section_that_is_not_honoured_is_one_line(name: str) -> None:
    told = warnings_of(f'[{name}]\nenabled = true\nother = "x"\n[{name}.inner]\nkey = 1')

    assert len([line for line in told if "unknown" not in line]) == 1
    assert told[-1].startswith(f"[{name}] in config.toml is not honoured (")


@pytest.mark.parametrize("key", sorted(UNSUPPORTED_KEYS))
def test_a_key_that_is_not_honoured_is_told_with_what_to_do(key: str) -> None:
    section, _, name = key.rpartition(".")

    told = warnings_of(f"[{section}]\n{name} = {OTHER_VALUES.get(key, 7)}")
    foreign = UNSUPPORTED_KEYS[key]

    assert told == [
        f"[{section}] in config.toml has keys that are not honoured. {name}: {foreign.why}. Instead: {foreign.instead}"
    ]


def test_keys_of_one_section_share_a_line() -> None:
    told = warnings_of('[db]\nmajor_version = 15\nhealth_timeout = "1m"\nroot_key = "x"')

    assert len(told) == 1
    assert all(name in told[0] for name in ("major_version", "health_timeout", "root_key"))


def test_all_that_is_not_honoured_fits_one_line_in_the_place_of_the_first() -> None:
    told = warnings_of('[studio]\nenabled = true\nport = 1\n[db]\nmajor_version = 15\nhealth_timeout = "1m"')

    assert in_one_line(["a", *told, "b"]) == [
        "a",
        "config.toml has what is not honoured: [studio], db.major_version, db.health_timeout. `headwater start -v` says why, and what to "
        "do instead.",
        "b",
    ]
    assert in_one_line(told[:1]) == told[:1]


def test_a_key_that_says_what_holds_anyway_is_not_told() -> None:
    assert (
        warnings_of('[db]\nmajor_version = 18\nhealth_timeout = "2m"\n[realtime]\nip_version = "IPv4"') == []
    )


def test_a_key_of_another_section_is_told_with_the_one_that_was_meant() -> None:
    assert warnings_of("[api]\njwt_expiry = 5") == [
        "unknown key api.jwt_expiry in config.toml is ignored; did you mean auth.jwt_expiry?"
    ]
    assert warnings_of("[stuido]\nport = 5") == [
        "unknown key stuido in config.toml is ignored; did you mean studio?"
    ]


@pytest.mark.parametrize(
    "key",
    [
        "api.port",
        "db.seed.enabled",
        "storage.file_size_limit",
        "storage.buckets.x.file_size_limit",
        "auth.email.max_frequency",
    ],
)
def test_a_number_never_stands_for_a_variable_that_is_not_set(key: str) -> None:
    section, _, name = key.rpartition(".")

    with pytest.raises(SettingsError) as caught:
        warnings_of(f'[{section}]\n{name} = "env(NOT_SET)"')

    assert str(caught.value) == f"{key} in config.toml asks for env(NOT_SET), but NOT_SET is not set"


def test_variables_inside_of_lists_are_told() -> None:
    assert warnings_of('[api]\nschemas = ["public", "env(NOT_SET)"]') == [
        "api.schemas in config.toml asks for env(NOT_SET), but NOT_SET is not set"
    ]


def test_a_secret_of_the_vault_whose_variable_is_not_set_is_left_out_and_told() -> None:
    assert warnings_of('[db.vault]\nkey = "env(NOT_SET)"') == [
        "db.vault in config.toml asks for env(NOT_SET), but NOT_SET is not set"
    ]


@pytest.mark.parametrize(("config", "said"), [
    ('[storage.buckets.a]\n[storage.buckets.b]\nfile_size_limit = "5 bananas"', "storage.buckets.b.file_size_limit must be a size such as 50MiB, or a whole number of bytes above 0"),
    ('[functions.hello]\nverify_jwt = "maybe"', "functions.hello.verify_jwt must be true or false"),
    ("[storage.buckets]\nimages = 5", "storage.buckets.images must be a table"),
    ("[storage.buckets.images]\nallowed_mime_types = [5]", "storage.buckets.images.allowed_mime_types must be a list of texts"),
])  # fmt: skip
def test_a_value_in_a_family_is_refused_by_its_whole_name(config: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        warnings_of(config)

    assert str(caught.value) == f"config.toml: {said}"
