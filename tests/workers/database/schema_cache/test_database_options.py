import msgspec
import pytest

from schemas.keys.secret import Secret
from schemas.settings.tree import Api
from workers.database.schema_cache.database_options import apply_options


def field(api, path):
    for part in path.split("."):
        api = getattr(api, part)
    return api


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("db_schemas", "api, other ,third", "schemas", ["api", "other", "third"]),
        ("db_schema", "api", "schemas", ["api"]),
        ("db_extra_search_path", "", "extra_search_path", []),
        ("db_extra_search_path", "public,extensions", "extra_search_path", ["public", "extensions"]),
        ("db_anon_role", "visitor", "anon_role", "visitor"),
        ("db_anon_role", "", "anon_role", None),
        ("max_rows", "10", "max_rows", 10),
        ("db_max_rows", "0", "max_rows", None),
        ("db_pre_request", "public.check", "pre_request", "public.check"),
        ("root_spec", "root", "root_spec", "root"),
        ("db_tx_end", "rollback-allow-override", "tx_end", "rollback-allow-override"),
        ("db_aggregates_enabled", "true", "aggregates_enabled", True),
        ("require_filters", "on", "require_filters", True),
        ("db_plan_enabled", "ON", "plan_enabled", True),
        ("db_prepared_statements", "off", "prepared_statements", False),
        ("db_hoisted_tx_settings", "statement_timeout", "hoisted_tx_settings", ["statement_timeout"]),
        ("openapi_mode", "disabled", "openapi_mode", "disabled"),
        ("openapi_security_active", "1", "openapi_security_active", True),
        ("openapi_server_proxy_uri", "https://x.test/", "openapi_server_proxy_uri", "https://x.test/"),
        ("jwt_secret", "a" * 32, "jwt.secret", Secret("a" * 32)),
        ("jwt_secret_is_base64", "yes", "jwt.secret_is_base64", True),
        ("jwt_aud", "me", "jwt.audience", "me"),
        ("jwt_role_claim_key", "$.a.b", "jwt.role_claim_key", "$.a.b"),
        ("jwt_cache_max_entries", "5", "jwt.cache_max_entries", 5),
        (
            "server_cors_allowed_origins",
            "https://a.test, https://b.test",
            "cors_allowed_origins",
            ["https://a.test", "https://b.test"],
        ),
        ("server_timing_enabled", "t", "server_timing_enabled", True),
        ("server_trace_header", "X-Request-Id", "server_trace_header", "X-Request-Id"),
        ("error_verbosity", "minimal", "error_verbosity", "minimal"),
        ("legacy_target_names", "false", "legacy_target_names", False),
    ],
)
def test_an_option_of_the_database_takes_its_place(name, text, path, value):
    api, warnings = apply_options(Api(), {name: text})

    assert warnings == []
    assert field(api, path) == value


def test_what_no_option_names_stays_as_it_was():
    before = Api(max_rows=7, schemas=["x"])

    after, _ = apply_options(before, {"jwt_aud": "me"})

    assert msgspec.structs.replace(after, jwt=before.jwt) == before
    assert after.jwt == msgspec.structs.replace(before.jwt, audience="me")


def test_no_options_change_nothing():
    assert apply_options(Api(), {}) == (Api(), [])


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("max_rows", "many", "whole number"),
        ("max_rows", "-1", "whole number"),
        ("db_tx_end", "sometimes", "commit-allow-override"),
        ("db_aggregates_enabled", "perhaps", "true or false"),
        ("db_schemas", " , ", "at least one"),
        ("openapi_mode", "", "follow-privileges"),
        ("jwt_role_claim_key", "$.a[", "JSON path"),
    ],
)
def test_an_option_that_cannot_be_read_is_told_and_ignored(name, text, complaint):
    api, warnings = apply_options(Api(), {name: text, "jwt_aud": "me"})

    assert api == apply_options(Api(), {"jwt_aud": "me"})[0]
    assert len(warnings) == 1
    assert f"pgrst.{name}" in warnings[0]
    assert complaint in warnings[0]


def test_an_unknown_option_is_told_without_its_value():
    api, warnings = apply_options(Api(), {"jwt_sekret": "hidden"})

    assert api == Api()
    assert warnings == ["unknown option pgrst.jwt_sekret is ignored"]


def test_a_secret_shows_itself_nowhere():
    api, _ = apply_options(Api(), {"jwt_secret": "do-not-show-this"})

    assert "do-not-show-this" not in repr(api)
