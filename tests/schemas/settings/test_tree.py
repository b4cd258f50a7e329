"""The settings: defaults, the file, the environment, and the words for what cannot be used."""

import contextlib
import json
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_test
from hypothesis import strategies as st

from schemas.keys.secret import Secret
from schemas.settings.auth import AuthHooks
from schemas.settings.auth_delivery import SENDERS
from schemas.settings.auth_providers import External
from schemas.settings.environment import environment_names
from schemas.settings.forms import keys as keys_of_table
from schemas.settings.functions import FunctionSettings
from schemas.settings.logs import LogDrain
from schemas.settings.process_environment import PROCESS_VARIABLES
from schemas.settings.reading import load_settings
from schemas.settings.storage import Bucket
from schemas.settings.streams import StreamSettings
from schemas.settings.tree import Settings, SettingsError
from schemas.settings.types import Duration, Quota, Size
from schemas.settings.unsupported import is_unsupported
from tests.fuzz.mutate import near
from tests.rows import rows
from tests.schemas.rsa_key import RSA_KEY

NAMES = environment_names()
PATHS = {".".join(path): kind for path, kind in NAMES.values()}
SECRETS = [
    key for key, kind in PATHS.items() if Secret in (kind, *get_args(kind)) and get_origin(kind) is not dict
]
LONG = "a secret that is long enough for every key of the tree"

OFFICIAL_DEFAULTS = {
    "api.enabled": True,
    "api.port": 54321,
    "api.schemas": ["public", "graphql_public"],
    "api.extra_search_path": ["public", "extensions"],
    "api.max_rows": 1000,
    "api.auto_expose_new_tables": True,
    "api.tls.enabled": False,
    "db.port": 54322,
    "db.shadow_port": 54320,
    "db.health_timeout": "2m",
    "db.pooler.enabled": False,
    "db.pooler.port": 54329,
    "db.pooler.pool_mode": "transaction",
    "db.pooler.default_pool_size": 20,
    "db.pooler.max_client_conn": 100,
    "db.migrations.enabled": True,
    "db.migrations.schema_paths": [],
    "db.seed.enabled": True,
    "db.seed.sql_paths": ["./seed.sql"],
    "db.settings": {},
    "auth.enabled": True,
    "auth.site_url": "http://127.0.0.1:3000",
    "auth.additional_redirect_urls": [],
    "auth.external_url": "",
    "auth.jwt_expiry": 3600,
    "auth.jwt_issuer": "",
    "auth.jwt_secret": "super-secret-jwt-token-with-at-least-32-characters-long",
    "auth.signing_keys_path": "",
    "storage.enabled": True,
    "storage.file_size_limit": 50 * 1024 * 1024,
    "storage.image_transformation.enabled": True,
    "storage.s3_protocol.enabled": True,
    "storage.buckets": {},
    "auth.publishable_key": "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH",
    "auth.secret_key": "sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz",
}
"""Keys of the official file and their defaults. Source: reference page "platform", sections 1 and 2."""

SPECIAL = {
    "api.external_url": "https://api.example.org",
    "backup.s3.endpoint": "https://storage.example.org",
    "backup.azure.endpoint": "https://storage.example.org",
    "observability.otlp_endpoint": "http://127.0.0.1:4318",
    "api.jwt.role_claim_key": "$.roles[0]",
    "storage.staging_limit": Size(77 * 1024 * 1024),
    "api.tx_end": "rollback",
    "edge_runtime.policy": "oneshot",
    "api.openapi_mode": "disabled",
    "api.error_verbosity": "minimal",
    "log.level": "debug",
    "backup.drill": "monthly",
    "log.format": "json",
    "db.pooler.pool_mode": "session",
    "db.pooler.default_pool_size": 7,
    "db.pooler.max_client_conn": 9,
    "gateway.compression.zstd_level": 7,
    "gateway.compression.brotli_level": 7,
    "gateway.compression.gzip_level": 7,
    "gateway.trusted_proxies": ["10.0.0.0/8", "::1"],
    "db.tls.host": "0.0.0.0",
    "db.tls.networks": ["10.0.0.0/8", "::1"],
    "gateway.proxy_secret": "one-that-a-proxy-shows",
    "realtime.retention_size": Size(77_000_000),
    "db.replicas.max_lag": Duration(7),
    "db.replicas.urls": "postgresql://replica.test/postgres",
    "auth.site_url": "myapp://home",
    "auth.external_url": "https://example.org/auth/v1",
    "auth.hashed_keys": {"worker": f"secret {'0a' * 32} x7Qz 2026-11-29"},
    "auth.redirect_url": "https://example.org/callback",
    "auth.saml.external_url": "https://example.org/auth/v1",
    "management.mcp_origins": ["https://one.example", "http://localhost:5173"],
    "auth.jwt_keys": '[{"kty": "oct", "kid": "one", "k": "AAAA", "key_ops": ["sign", "verify"]}]',
    "auth.publishable_keys": "sb_publishable_0123456789abcdef,sb_publishable_fedcba9876543210",
    "auth.secret_keys": "sb_secret_0123456789abcdef",
    "auth.former_jwt_secret_until": "2027-01-31T12:00:00Z",
    "auth.sealing_key": "a sealing key of 32 characters or more",
    "auth.refresh_token_algorithm_version": 1,
    "auth.refresh_token_upgrade_percentage": 77,
    "auth.minimum_password_length": 12,
    "auth.password_requirements": "letters_digits",
    "auth.password.argon2.time_cost": 3,
    "auth.password.argon2.parallelism": 4,
    "auth.email.otp_length": 8,
    "auth.sms.otp_length": 8,
    "auth.mfa.phone.otp_length": 8,
    "auth.mfa.recovery_codes.count": 12,
    "auth.mfa.recovery_codes.code_length": 20,
    "auth.mfa.recovery_codes.max_verify_attempts": 7,
    "auth.email.smtp.headers": {"X-Kind": ["$messageType"]},
    "auth.email.smtp.admin_email": "admin@example.org",
    "auth.email.smtp.enabled": False,
    "api.tls.enabled": False,
    "observability.sampling": 0.25,
    "log.store.requests": 0.25,
    "auth.sms.test_otp_valid_until": datetime(2030, 1, 31, 12, tzinfo=UTC),
    "auth.database_encryption.decryption_keys": {"one": "A" * 43},
    "backup.backend": "s3",
    "backup.path": "/mnt/backups",
    "backup.incrementals": 7,
    "api.tls.http_port": 8080,
    "certificates.domains": ["api.example.org", "www.example.org"],
    "certificates.contact": "ops@example.org",
    "certificates.directory": "https://ca.example.org/directory",
    "certificates.challenges": ["http-01"],
    "certificates.eab_hmac_key": "YSBrZXkgb2YgdGhlc2UgdGVzdHM",
    "certificates.dns.server": "ns1.example.org:53",
    "certificates.dns.key_algorithm": "hmac-sha512",
    "certificates.dns.key_secret": "YSBrZXkgb2YgdGhlc2UgdGVzdHM=",
    "backup.key": "a2V5IG9mIDMyIGJ5dGVzIGZvciB0aGVzZSB0ZXN0cyE=",
    "backup.old_keys": "b2xkIGtleSBvZiAzMiBieXRlcyBmb3IgdGVzdHMhISE=",
    "backup.wal_limit": Size(777 * 1024 * 1024),
    "backup.drill_webhook": "https://alarms.example.org/drills",
    "backup.drill_webhook_secret": "whsec_YSBrZXkgb2YgYSB3ZWJob29rIGZvciB0ZXN0cyE=",
    "storage.backend": "s3",
    "storage.public_url": "https://files.example.org",
    "storage.s3.endpoint": "http://minio:9000",
    "storage.azure.endpoint": "http://azurite:10000",
    "storage.webhook_url": "https://example.org/events",
    "storage.cdn_purge_endpoint_url": "https://example.org/cdn",
    "storage.events_max_age": Duration(8 * 86400),
    "logs.drain": {"far": LogDrain(enabled=False, labels={"site": "one"}, level="error")},
    "streams": {"far": StreamSettings(enabled=False, tables=["orders"], without={"orders": ["secret"]})},
    "functions": {"hello": FunctionSettings(verify_jwt=False, memory_mb=77, allow_net=["example.org"])},
    "storage.buckets": {
        "images": Bucket(public=True, file_size_limit=Size(777), allowed_mime_types=["image/*"])
    },
}
"""Values of keys that do not take just any value of their type."""

WITHOUT_EFFECT = (
    "auth.email.external_hosts",
    "auth.rate_limit.header",
    "auth.sb_forwarded_for_enabled",
)
"""Keys of the official server that change nothing here, of which a warning says so."""

KEY_PAIR = ("access_key_id", "secret_access_key")

COMPANIONS = {
    "certificates.domains": {"accept_terms": "true"},
    "certificates.eab_key_id": {"eab_hmac_key": "YSBrZXkgb2YgdGhlc2UgdGVzdHM"},
    "certificates.eab_hmac_key": {"eab_key_id": "kid-1"},
    "certificates.dns.key_name": {"dns_key_secret": "YSBrZXkgb2YgdGhlc2UgdGVzdHM="},
    "certificates.dns.key_secret": {"dns_key_name": "key"},
    "auth.email.smtp.host": {"email_smtp_admin_email": "admin@example.org"},
    "auth.email.allow_unverified_email_sign_ins": {"email_enable_confirmations": "true"},
    "auth.captcha.enabled": {"captcha_secret": "x"},
    "auth.oauth_server.enabled": {"oauth_server_authorization_url_path": "/consent"},
    "auth.passkey.enabled": {"webauthn_rp_id": "example.org", "webauthn_rp_origins": "https://example.org"},
    "auth.saml.enabled": {"saml_private_key": RSA_KEY},
    "auth.database_encryption.encrypt": {
        "database_encryption_encryption_key_id": "one",
        "database_encryption_encryption_key": "A" * 43,
        "database_encryption_decryption_keys": json.dumps({"one": "A" * 43}),
    },
    "auth.former_jwt_secret": {"former_jwt_secret_until": "2027-01-31T12:00:00Z"},
    "auth.third_party.firebase.enabled": {"third_party_firebase_project_id": "x"},
    "auth.third_party.auth0.enabled": {"third_party_auth0_tenant": "x"},
    "auth.third_party.aws_cognito.enabled": {
        "third_party_aws_cognito_user_pool_id": "x",
        "third_party_aws_cognito_user_pool_region": "x",
    },
    "auth.third_party.clerk.enabled": {"third_party_clerk_domain": "x"},
    "auth.third_party.workos.enabled": {"third_party_workos_issuer_url": "x"},
    **{
        f"auth.sms.{sender}.enabled": {f"sms_{sender}_{key}": "x" for key in needed}
        for sender, needed in SENDERS.items()
    },
    **{
        f"auth.external.{name}.enabled": {
            f"external_{name}_client_id": "x",
            f"external_{name}_secret": "x",
            f"external_{name}_url": "https://example.org",
        }
        for name in External.__struct_fields__
    },
    "backup.continuous": {"path": "/mnt/backups"},
    "storage.backend": {"s3_bucket": "x"},
    "storage.image_transformation.limit_min_size": {"image_transformation_limit_max_size": "778"},
    **{
        f"storage.{section}.{key}": {f"{section}_{other}": "x"}
        for section in ("s3", "s3_protocol")
        for key, other in (KEY_PAIR, KEY_PAIR[::-1])
    },
    **{
        f"auth.hook.{name}.enabled": {f"hook_{name}_uri": "pg-functions://postgres/public/hook"}
        for name in AuthHooks.__struct_fields__
    },
}
"""What keys need beside them, under their names of the environment in the key's section."""


def companions(key: str) -> dict[str, str]:
    """Give the environment that a key cannot do without."""
    section = key.partition(".")[0]
    return {f"HEADWATER_{section}_{name}".upper(): text for name, text in COMPANIONS.get(key, {}).items()}


def value_of(settings: Settings, key: str) -> Any:
    """Give the value of a key; a secret as its text."""
    found: Any = settings
    for part in key.split("."):
        names = {each.encode_name: each.name for each in msgspec.structs.fields(found)}
        found = getattr(found, names[part])
    if isinstance(found, dict):
        return {name: each.reveal() if isinstance(each, Secret) else each for name, each in found.items()}
    return found.reveal() if isinstance(found, Secret) else found


def sample(key: str) -> Any:
    """Give a value of a key's type that is not its default."""
    kind = PATHS[key]
    if key in SPECIAL:
        return SPECIAL[key]
    plain = {each for each in (kind, get_origin(kind), *get_args(kind)) if isinstance(each, type)}
    if Duration in plain:
        return Duration(777)
    if Quota in plain:
        return Quota("77")
    if Size in plain:
        return Size(777)
    if key.endswith((".redirect_uri", ".url")) and key.startswith("auth.external."):
        return "https://example.org/callback"
    if list in plain:
        return ["one", "two"]
    if dict in plain:
        return {"name": "value"}
    if bool in plain:
        return not value_of(Settings(), key)
    if int in plain:
        return 777
    if float in plain:
        return 7.5
    return LONG


def toml(value: object) -> str:
    """Write a value as TOML, tables inline."""
    match value:
        case dict():
            return "{" + ", ".join(f"{toml(name)} = {toml(inner)}" for name, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case bool():
            return str(value).lower()
        case Size():
            return str(int(value))
        case msgspec.Struct():
            return toml(table_of(value))
        case Duration():
            return f'"{value}"'
        case datetime():
            return value.isoformat()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def table_of(value: object) -> Any:
    """Give a table of a family, such as `buckets.<name>`, as a plain one, without what is unset."""
    if isinstance(value, dict):
        return {name: table_of(inner) for name, inner in value.items()}
    if isinstance(value, msgspec.Struct):
        named = {name: table_of(getattr(value, name)) for name in value.__struct_fields__}
        return {name: inner for name, inner in named.items() if inner is not None}
    return value


def document(tree: dict[str, Any]) -> bytes:
    return "\n".join(f"{toml(name)} = {toml(inner)}" for name, inner in tree.items()).encode()


def file_with(key: str, value: object) -> bytes:
    """Give a file with one key."""
    *sections, name = key.split(".")
    return f"{'[' + '.'.join(sections) + ']' if sections else ''}\n{name} = {toml(value)}\n".encode()


def refused(config: bytes = b"", environment: dict[str, str] | None = None) -> str:
    """Give the words of a refusal."""
    with pytest.raises(SettingsError) as caught:
        load_settings(config, environment or {})
    return str(caught.value)


@rows("key", OFFICIAL_DEFAULTS)
def test_a_key_of_the_official_file_has_its_official_default(key: str) -> None:
    settings, warnings = load_settings(b"", {})

    assert value_of(settings, key) == OFFICIAL_DEFAULTS[key]
    assert warnings == []


def is_expected(key: str, warnings: list[str]) -> bool:
    """Tell whether a key causes a warning exactly if it has no effect."""
    return [" has no effect: " in each for each in warnings] == [True] * (key in WITHOUT_EFFECT)


@rows("key", sorted(PATHS))
def test_every_key_is_read_from_the_file(key: str) -> None:
    settings, warnings = load_settings(file_with(key, sample(key)), companions(key))

    assert value_of(settings, key) == sample(key)
    assert type(value_of(settings, key)) is type(sample(key))
    assert is_unsupported(key) or is_expected(key, warnings)


@rows("variable", sorted(NAMES))
def test_every_key_is_read_from_the_environment_which_wins_over_the_file(variable: str) -> None:
    key = ".".join(NAMES[variable][0])
    wanted = sample(key)
    default = value_of(Settings(), key)
    config = b"" if default is None else file_with(key, default)
    spelled = wanted.isoformat() if isinstance(wanted, datetime) else wanted
    text = (
        spelled if isinstance(spelled, str) else json.dumps(table_of(spelled))
    )  # also the spelling of numbers and truth values

    settings, warnings = load_settings(config, {**companions(key), variable: text})

    assert variable == "HEADWATER_" + key.upper().replace(".", "_")
    assert value_of(settings, key) == wanted
    assert is_unsupported(key) or is_expected(key, warnings)


def test_no_two_keys_share_an_environment_name() -> None:
    def leaves(struct: type[msgspec.Struct]) -> int:
        kinds = keys_of_table(struct).values()
        return sum(leaves(kind) if kind in msgspec.Struct.__subclasses__() else 1 for kind in kinds)

    assert len(NAMES) == leaves(Settings)
    assert not NAMES.keys() & PROCESS_VARIABLES.keys()


@pytest.mark.parametrize(
    ("text", "listed"),
    [("a", ["a"]), ("a,b", ["a", "b"]), (" a , ,b,", ["a", "b"]), ('["a, b"]', ["a, b"])],
)
def test_lists_in_the_environment_are_comma_separated_or_json(text: str, listed: list[str]) -> None:
    settings, _ = load_settings(b"", {"HEADWATER_API_SCHEMAS": text})

    assert settings.api.schemas == listed


@pytest.mark.parametrize("text", ["true", "TRUE", "1"])
def test_truth_values_in_the_environment_are_true_false_1_or_0(text: str) -> None:
    settings, _ = load_settings(b"", {"HEADWATER_API_PLAN_ENABLED": text, "HEADWATER_API_ENABLED": "0"})

    assert (settings.api.plan_enabled, settings.api.enabled) == (True, False)


@pytest.mark.parametrize(
    ("variable", "key", "option"),
    [("DATABASE_URL", "db.url", "--database-url"), ("NATS_URL", "broker.url", "--nats-url")],
)
def test_a_url_of_another_program_is_not_read_and_the_notice_names_what_is(
    variable: str, key: str, option: str
) -> None:
    own = "HEADWATER_" + key.upper().replace(".", "_")
    notice = f"{variable} in the environment is not read. To use that server, set {own} or give {option}"

    settings, warnings = load_settings(b"", {variable: "other"})

    assert (value_of(settings, key), warnings) == (None, [notice])
    assert load_settings(b"", {f"{variable}_FILE": "/x"})[1] == [
        notice.replace(variable, f"{variable}_FILE", 1)
    ]
    assert load_settings(b"", {variable: ""})[1] == []
    settings, warnings = load_settings(file_with(key, f"env({variable})"), {variable: "other"})
    assert (value_of(settings, key), warnings) == ("other", [])
    settings, warnings = load_settings(b"", {variable: "other", own: "own"})
    assert (value_of(settings, key), warnings) == ("own", [])


def test_a_key_that_the_environment_sets_needs_no_variable_of_the_file() -> None:
    settings, warnings = load_settings(file_with("db.url", "env(NOT_SET)"), {"HEADWATER_DB_URL": "own"})

    assert (value_of(settings, "db.url"), warnings) == ("own", [])


@pytest.mark.parametrize("beside", [{}, {"STORAGE_S3_URL": "http://127.0.0.1:54321/storage/v1/s3"}])
def test_a_key_pair_of_s3_is_read_unless_it_comes_from_a_report(beside: dict[str, str]) -> None:
    pair = {"S3_PROTOCOL_ACCESS_KEY_ID": "id", "S3_PROTOCOL_ACCESS_KEY_SECRET": "key"}

    settings, warnings = load_settings(b"", pair | beside)

    assert value_of(settings, "storage.s3_protocol.access_key_id") == (None if beside else "id")
    assert value_of(settings, "storage.s3_protocol.secret_access_key") == (None if beside else "key")
    assert warnings == []


@pytest.mark.parametrize(
    ("key", "empty"),
    [
        ("api.max_rows", 0),
        ("api.anon_role", ""),
        ("db.url", ""),
        ("db.authenticator_password", ""),
        ("broker.url", ""),
        ("gateway.metrics_token", ""),
    ],
)
def test_what_is_empty_is_none(key: str, empty: object) -> None:
    assert value_of(load_settings(file_with(key, empty), {})[0], key) is None


def test_without_exposed_schemas_those_of_the_official_tool_are_exposed() -> None:
    assert load_settings(b"[api]\nschemas = []", {})[0].api.schemas == ["public", "storage"]
    assert load_settings(b"", {"HEADWATER_API_SCHEMAS": ""})[0].api.schemas == ["public", "storage"]
    assert load_settings(b'[api]\nschemas = ["api"]', {})[0].api.schemas == ["api"]


def test_an_empty_jwt_secret_is_kept_since_it_means_that_no_token_can_be_verified() -> None:
    settings, _ = load_settings(b"", {"HEADWATER_API_JWT_SECRET": ""})

    assert settings.api.jwt.secret == Secret("")


def test_variables_are_put_into_strings_of_the_file_wherever_they_stand() -> None:
    config = b"""
    project_id = "env(NAME)"
    [api]
    port = "env(PORT)"
    schemas = ["env(NAME)", "fixed"]
    external_url = "https://env(NAME).example.org:env(PORT)/"
    [api.app_settings]
    tenant = "env(NAME)"
    [auth]
    jwt_secret = "env(LONG)"
    """

    settings, warnings = load_settings(config, {"NAME": "mine", "PORT": "8000", "LONG": LONG})

    assert (settings.project_id, settings.api.port) == ("mine", 8000)
    assert settings.api.schemas == ["mine", "fixed"]
    assert settings.api.external_url == "https://mine.example.org:8000/"
    assert settings.api.app_settings == {"tenant": "mine"}
    assert settings.auth.jwt_secret.reveal() == LONG
    assert warnings == []


def test_a_variable_that_is_not_set_is_told() -> None:
    settings, warnings = load_settings(b'[api]\nexternal_url = "https://env(NOWHERE)/"', {})

    assert settings.api.external_url == "https://env(NOWHERE)/"
    assert warnings == ["api.external_url in config.toml asks for env(NOWHERE), but NOWHERE is not set"]


@rows("key", ["site_url", "external_url", "redirect_url"])
def test_an_address_whose_variable_is_not_set_has_its_default(key: str) -> None:
    settings, warnings = load_settings(f'[auth]\n{key} = "env(NOWHERE)"'.encode(), {})

    assert getattr(settings.auth, key) == getattr(load_settings()[0].auth, key)
    assert warnings == [
        f"auth.{key} in config.toml asks for env(NOWHERE), but NOWHERE is not set: the default is used"
    ]


@rows("key", sorted(SECRETS))
def test_a_secret_is_never_the_name_of_a_variable_that_is_not_set(key: str) -> None:
    config = file_with(key, "a long text around env(NOT_SET_ANYWHERE)")
    if key.startswith(("auth.external.", "auth.sms.", "auth.email.smtp.")):
        settings, warnings = load_settings(config, {})
        table = key.rpartition(".")[0]
        assert warnings == [f"{table} in config.toml stays off, for NOT_SET_ANYWHERE is not set"]
        assert "env(" not in repr(
            msgspec.to_builtins(
                settings, enc_hook=lambda each: each.reveal() if isinstance(each, Secret) else repr(each)
            )
        )
        return

    text = refused(config)

    assert text == f"{key} in config.toml asks for env(NOT_SET_ANYWHERE), but NOT_SET_ANYWHERE is not set"


def test_a_variable_of_what_is_switched_off_need_not_be_set() -> None:
    config = b"""
    [auth.external.apple]
    enabled = false
    client_id = "env(APPLE_ID)"
    secret = "env(APPLE_SECRET)"
    [auth.sms.twilio]
    enabled = "env(WITH_SMS)"
    auth_token = "env(TWILIO_TOKEN)"
    """

    settings, warnings = load_settings(config, {"WITH_SMS": "false"})

    assert (settings.auth.external.apple.client_id, warnings) == ("", [])
    assert "env(" not in str(settings.auth.external.apple.secret)


def test_a_service_whose_variable_is_not_set_stays_off() -> None:
    config = b"""
    [auth.external.apple]
    enabled = true
    client_id = "env(APPLE_ID)"
    secret = "env(APPLE_SECRET)"
    """

    off, told = load_settings(config, {"APPLE_ID": "mine"})
    on, nothing = load_settings(config, {"APPLE_ID": "mine", "APPLE_SECRET": "s" * 20})

    assert (off.auth.external.apple.enabled, on.auth.external.apple.enabled) == (False, True)
    assert (told, nothing) == (
        ["auth.external.apple in config.toml stays off, for APPLE_SECRET is not set"],
        [],
    )


def test_a_variable_of_a_section_of_other_tools_need_not_be_set() -> None:
    told = load_settings(b'[studio]\nenabled = false\nopenai_api_key = "env(OPENAI_API_KEY)"', {})[1]

    assert told == []


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("[api]\nmax_row = 5", "unknown key api.max_row in config.toml is ignored; did you mean api.max_rows?"),
        ("[auth]\njwt_expry = 5", "unknown key auth.jwt_expry in config.toml is ignored; did you mean auth.jwt_expiry?"),
        ("[gatway]\nx = 5", "unknown key gatway in config.toml is ignored; did you mean gateway?"),
        ("[db.seed]\nqqq = 5", "unknown key db.seed.qqq in config.toml is ignored"),
        ("qqq = 5", "unknown key qqq in config.toml is ignored"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_told_with_the_one_that_was_meant(config: str, told: str) -> None:
    assert load_settings(config.encode(), {})[1] == [told]


def test_an_unknown_variable_is_told_with_the_one_that_was_meant() -> None:
    _, warnings = load_settings(b"", {"HEADWATER_API_PROT": "5", "HEADWATER_QQQ": "", "OTHER": "1"})

    assert warnings == [
        "unknown environment variable HEADWATER_API_PROT is ignored; did you mean HEADWATER_API_PORT?",
        "unknown environment variable HEADWATER_QQQ is ignored",
    ]


def test_variables_by_which_processes_speak_to_each_other_are_known() -> None:
    assert load_settings(b"", dict.fromkeys(PROCESS_VARIABLES, "x"))[1] == []


@pytest.mark.parametrize(
    ("key", "value", "form"),
    [
        ("project_id", 5, "a text"),
        ("api.port", "x", "a port, 0 to 65535"),
        ("api.port", 65536, "a port, 0 to 65535"),
        ("api.port", -1, "a port, 0 to 65535"),
        ("api.port", 10**30, "a port, 0 to 65535"),
        ("api.port", 1.5, "a port, 0 to 65535"),
        ("api.enabled", "yes", "true or false"),
        ("api.enabled", 2, "true or false"),
        ("api.max_rows", "many", "a whole number"),
        ("api.max_rows", -1, "a whole number, 0 or more"),
        ("api.idempotency.max_keys", 0, "a whole number above 0"),
        ("api.schemas", "public", "a list of texts"),
        ("api.schemas", ["public", 5], "a list of texts"),
        ("api.app_settings", ["x"], "a table of texts"),
        ("api.app_settings", {"x": ["y"]}, "a table of texts"),
        ("api.jwt.cache_max_entries", -1, "a whole number, 0 or more"),
        ("db.pool_size", 0, "a whole number above 0"),
        ("auth.jwt_expiry", 604801, "a whole number of seconds, 1 to 604800"),
        ("gateway.max_body", "50MiB", "a whole number of bytes above 0"),
        ("gateway.max_body", 0, "a whole number of bytes above 0"),
        ("gateway.body_timeout", "30s", "a number of seconds above 0 and at most 86400, a day"),
        ("gateway.body_timeout", 0, "a number of seconds above 0 and at most 86400, a day"),
        ("gateway.body_timeout", float("nan"), "a number of seconds above 0 and at most 86400, a day"),
        ("gateway.body_timeout", float("inf"), "a number of seconds above 0 and at most 86400, a day"),
        ("gateway.rate_limit.per_key", -1, "a number, 0 or more"),
        ("pools.concurrency", 0, "a whole number above 0"),
        ("api", 5, "a table"),
        ("api.jwt", "x", "a table"),
        ("api", [{"port": 5}], "a table"),
    ],
)
def test_a_value_of_another_form_is_refused_with_the_form_the_key_takes(
    key: str, value: object, form: str
) -> None:
    assert refused(file_with(key, value)) == f"config.toml: {key} must be {form}"


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("HEADWATER_API_PORT", "x", "must be a port, 0 to 65535"),
        ("HEADWATER_API_PORT", "70000", "must be a port, 0 to 65535"),
        ("HEADWATER_API_ENABLED", "", "must be true or false"),
        ("HEADWATER_GATEWAY_BODY_TIMEOUT", "30s", "must be a number of seconds above 0 and at most 86400, a day"),
        ("HEADWATER_API_SCHEMAS", "[1]", "must be a list of texts"),
        ("HEADWATER_API_SCHEMAS", "[", "is not valid JSON; it takes a list of texts"),
        ("HEADWATER_API_SCHEMAS", "{}", "must be a list of texts"),
        ("HEADWATER_API_APP_SETTINGS", "a=b", "is not valid JSON; it takes a table of texts"),
        ("HEADWATER_API_APP_SETTINGS", '["a"]', "must be a table of texts"),
        ("HEADWATER_API_APP_SETTINGS", '{"a":' * 100_000, "is not valid JSON; it takes a table of texts"),
        ("HEADWATER_DB_PASSWORD", "\udcff", "is not valid UTF-8"),
        ("HEADWATER_DB_URL", "postgres://\udcff", "is not valid UTF-8"),
    ],
)  # fmt: skip
def test_a_variable_of_another_form_is_refused_by_its_own_name(variable: str, text: str, said: str) -> None:
    assert refused(b"", {variable: text}) == f"{variable} {said}"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("api.tx_end", "maybe", "api.tx_end is 'maybe' but must be one of commit, commit-allow-override, rollback, rollback-allow-override"),
        ("api.openapi_mode", "x", "api.openapi_mode is 'x' but must be one of follow-privileges, ignore-privileges, disabled"),
        ("api.error_verbosity", "x", "api.error_verbosity is 'x' but must be one of verbose, minimal"),
        ("log.level", "loud", "log.level is 'loud' but must be one of debug, info, warning, error"),
        ("db.pooler.pool_mode", "statement", "db.pooler.pool_mode is 'statement' but must be one of transaction, session"),
        ("log.format", "xml", "log.format is 'xml' but must be one of auto, json, console"),
        ("gateway.host", "", "gateway.host must not be empty; 0.0.0.0 listens on every address of IPv4, :: on all"),
        ("gateway.trusted_proxies", ["::1", "10.0.0.0/33"], "gateway.trusted_proxies has '10.0.0.0/33', which is no network such as 10.0.0.0/8, and no address"),
        ("api.idempotency.keep", "169h", "api.idempotency.keep must be 1s to 168h, a week"),
        ("api.idempotency.keep", "0s", "api.idempotency.keep must be 1s to 168h, a week"),
        ("api.idempotency.max_answer", "17MiB", "api.idempotency.max_answer must be 16MiB or less"),
        ("db.replicas.max_lag", "61s", "db.replicas.max_lag must be 10ms to 60s"),
        ("db.replicas.urls", "postgresql://a, secret", "db.replicas.urls: number 2 must be postgresql://[user:password@]host[:port]/database"),
        ("db.replicas.urls", "postgresql://a:99999/x", "db.replicas.urls: number 1 must be postgresql://[user:password@]host[:port]/database"),
        ("gateway.trusted_proxies", ["proxy.local"], "gateway.trusted_proxies has 'proxy.local', which is no network such as 10.0.0.0/8, and no address"),
        ("auth.jwt_secret", "fifteen letters", "auth.jwt_secret must have 16 characters or more"),
        ("auth.publishable_key", "", "auth.publishable_key must not be empty"),
        ("auth.secret_key", " ", "auth.secret_key must not be empty"),
        ("realtime.retention_size", "15MiB", "realtime.retention_size must be 16MiB or more: the changes of one transaction may be a message of 8MB"),
        ("realtime.max_payload", 8_000_001, "realtime.max_payload must be 8000000 or less: longer messages would not reach the clients of other edges"),
        ("api.external_url", "http://[", "api.external_url must be a URL such as https://api.example.org"),
        ("api.external_url", "api.example.org", "api.external_url must be a URL such as https://api.example.org"),
        ("backup.s3.endpoint", "https://h:99999", "backup.s3.endpoint must be a URL such as https://storage.example.org"),
        ("observability.otlp_endpoint", "4318", "observability.otlp_endpoint must be a URL such as http://127.0.0.1:4318"),
        ("certificates.directory", "http://[", "certificates.directory must be a URL such as https://acme.example.org/directory"),
        ("broker.url", "x:y", "broker.url must be nats://[user:password@]host[:port], or tls://..., several separated by commas"),
        ("broker.url", "nats://a, nats://[", "broker.url must be nats://[user:password@]host[:port], or tls://..., several separated by commas"),
        ("api.jwt.role_claim_key", "$.a[", "api.jwt.role_claim_key must be a JSON path like `$.role` (no JSON path: $.a[)"),
        ("api.jwt.secret", "x" * 31, "api.jwt.secret must have 32 bytes or more, or be a JWK or a JWK set"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_work_is_refused(key: str, value: object, said: str) -> None:
    assert refused(file_with(key, value)) == f"config.toml: {said}"


def test_the_length_of_a_base64_secret_is_that_of_what_it_stands_for() -> None:
    flag = {"HEADWATER_API_JWT_SECRET_IS_BASE64": "true"}
    settings, _ = load_settings(b"", {**flag, "HEADWATER_API_JWT_SECRET": "A" * 43 + "="})

    assert settings.api.jwt.secret == Secret("A" * 43 + "=")
    assert "32 bytes" in refused(b"", {**flag, "HEADWATER_API_JWT_SECRET": "A" * 40})


def test_numbers_and_truth_values_of_server_settings_are_taken_as_texts() -> None:
    config = b"[db.settings]\nmax_connections = 100\ntrack_commit_timestamp = true\nshared_buffers = '1GB'"

    settings, _ = load_settings(config, {})

    assert settings.db.settings == {
        "max_connections": "100",
        "track_commit_timestamp": "true",
        "shared_buffers": "1GB",
    }


@pytest.mark.parametrize(
    "config", [b"\xff", b"[", b"a = " + b"[" * 100_000, b"a = " + b"1" * 100_000, b"a = 1\na = 2"]
)
def test_a_file_that_is_no_toml_is_refused(config: bytes) -> None:
    assert refused(config).startswith("config.toml is n")


def test_a_section_that_is_no_table_is_refused_whatever_the_environment_says() -> None:
    assert refused(b"api = 5", {"HEADWATER_API_JWT_AUDIENCE": "x"}) == "config.toml: api must be a table"


def test_the_name_of_the_file_is_told() -> None:
    with pytest.raises(SettingsError, match=r"^my/config\.toml: api\.port must be"):
        load_settings(b"[api]\nport = 'x'", {}, source="my/config.toml")


def test_settings_cannot_be_changed() -> None:
    settings, _ = load_settings(b"", {})

    for struct, name in ((settings, "api"), (settings.api, "port"), (settings.api.jwt, "secret")):
        with pytest.raises(AttributeError):
            setattr(struct, name, None)


def test_no_secret_shows_in_a_representation() -> None:
    keys = {name: ".".join(path) for name, (path, _) in NAMES.items()}
    environment = {name: SPECIAL.get(key, f"{LONG} {name}") for name, key in keys.items() if key in SECRETS}
    names = {
        "HEADWATER_AUTH_FORMER_JWT_SECRET_UNTIL": "2027-01-31T12:00:00Z",
        "HEADWATER_CERTIFICATES_EAB_KEY_ID": "kid-1",
        "HEADWATER_CERTIFICATES_DNS_KEY_NAME": "key",
    }
    settings, warnings = load_settings(b"", {**environment, **names})

    assert LONG not in f"{settings!r} {settings} {warnings}"
    assert repr(settings).count("***") == len(SECRETS)
    with pytest.raises(TypeError):
        msgspec.json.encode(settings)


@rows(
    "key, form",
    product(sorted(SECRETS), [lambda text: [text], lambda text: {"x": text}, lambda text: 123456789]),
)
def test_a_secret_of_another_form_is_refused_without_being_shown(key: str, form: Any) -> None:
    assert refused(file_with(key, form(LONG))) == f"config.toml: {key} must be a text"


texts = st.text(st.characters(codec="utf-8"), max_size=20)
values = st.recursive(
    st.none().map(lambda _: "env(HOME)")
    | st.booleans()
    | st.integers()
    | st.floats()
    | texts
    | st.sampled_from(["commit", "json", "::1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


def nested(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a tree from paths; what stands in the way of a later one is replaced."""
    tree: dict[str, Any] = {}
    for key, value in pairs:
        *sections, name = key.split(".")
        table = tree
        for section in sections:
            if not isinstance(table.get(section), dict):
                table[section] = {}
            table = table[section]
        table[name] = value
    return tree


keys = st.sampled_from(sorted({*PATHS, *(key.rpartition(".")[0] or "api" for key in PATHS)}))
trees = st.lists(st.tuples(keys, values), max_size=6).map(nested)


@given(trees | st.dictionaries(texts, values, max_size=5), st.dictionaries(st.sampled_from(sorted(NAMES)), st.text(max_size=20), max_size=4))  # fmt: skip
def test_any_tree_and_environment_give_settings_or_a_refusal(
    tree: dict[str, Any], environment: dict[str, str]
) -> None:
    with contextlib.suppress(SettingsError):
        settings, warnings = load_settings(document(tree), environment)

        assert isinstance(settings, Settings)
        assert all(isinstance(warning, str) for warning in warnings)


OFFICIAL = (Path(__file__).parent / "official_config.toml").read_bytes()
TOML_WORDS = [
    b"[",
    b"]",
    b"[[",
    b'"',
    b"=",
    b"{",
    b"}",
    b"true",
    b"env(HOME)",
    b'"env(NOWHERE)"',
    b"1e400",
    b"9" * 5000,
    b"\n[auth]\n",
    b"\n[api]\n",
    b"nan",
    b"[" * 2000,
]


@given(near([OFFICIAL, *OFFICIAL.split(b"\n\n")], TOML_WORDS) | st.binary(max_size=60))
@settings_of_test(max_examples=300)
def test_any_file_gives_settings_or_a_refusal(config: bytes) -> None:
    with contextlib.suppress(SettingsError):
        settings, _ = load_settings(config, {})

        assert isinstance(settings, Settings)


@pytest.mark.parametrize("text", ["a." * 2000 + "b = 1", "a = " + "[" * 200 + "]" * 200])
def test_a_file_that_nests_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="nested too deeply"):
        load_settings(text.encode(), {})
