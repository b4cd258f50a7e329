"""Stored settings over those of a process: the checks of a start, the order of sources, values that cannot be used."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.keys.secret import Secret
from schemas.settings.forms import KINDS
from schemas.settings.live import EDGE_KEYS, LIVE_KEYS, OWNER_KEYS
from schemas.settings.overlay import SettingsBase, effective_settings, read_value, strict_settings, value_at
from schemas.settings.reading import load_settings
from schemas.settings.tree import Settings, SettingsError

BASE = SettingsBase(Settings())
TWILIO = {
    "auth.sms.twilio.enabled": True,
    "auth.sms.twilio.account_sid": "a",
    "auth.sms.twilio.auth_token": "t",
    "auth.sms.twilio.message_service_sid": "m",
}


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("auth.enable_signup", False, False),
        ("auth.site_url", "https://example.com", "https://example.com"),
        ("auth.sessions.timebox", "1h", 3600.0),
        ("auth.sessions.timebox", None, None),
        ("auth.external.github.secret", "x", Secret("x")),
        ("auth.email.smtp.pass", "p", Secret("p")),
        ("auth.sms.vonage.from", "Headwater", "Headwater"),
        ("auth.sms.test_otp", {"15550100": 123456}, {"15550100": "123456"}),
        ("api.max_rows", 5, 5),
        ("api.schemas", ["public"], ["public"]),
        ("storage.file_size_limit", "10MiB", 10 * 1024 * 1024),
        ("auth.rate_limit.email_sent", "5/1h", "5/1h"),
    ],
)
def test_a_stored_value_is_read_as_the_file_reads_it(key: str, value: object, expected: object) -> None:
    settings, _ = strict_settings(BASE, {key: value})

    assert value_at(settings, key) == expected


@pytest.mark.parametrize(
    ("config", "key", "value"),
    [
        ('[auth]\nsite_url = "nowhere"', "auth.site_url", "nowhere"),
        ("[auth]\nminimum_password_length = 80", "auth.minimum_password_length", 80),
        ("[auth.sms.twilio]\nenabled = true", "auth.sms.twilio.enabled", True),
        ("[api]\nmax_rows = -1", "api.max_rows", -1),
        ('[api]\ntx_end = "never"', "api.tx_end", "never"),
        ('[auth]\njwt_expiry = "soon"', "auth.jwt_expiry", "soon"),
    ],
)
def test_a_bad_value_is_refused_with_the_words_of_a_start(config: str, key: str, value: object) -> None:
    with pytest.raises(SettingsError) as at_start:
        load_settings(config.encode(), {})

    with pytest.raises(SettingsError) as stored:
        strict_settings(BASE, {key: value})

    assert str(stored.value) == str(at_start.value).removeprefix("config.toml: ")


def test_what_the_environment_fixes_stays() -> None:
    base = SettingsBase(Settings(), {"auth.enable_signup": "HEADWATER_AUTH_ENABLE_SIGNUP"})

    settings, _ = strict_settings(base, {"auth.enable_signup": False, "auth.enable_anonymous_sign_ins": True})

    assert (settings.auth.enable_signup, settings.auth.enable_anonymous_sign_ins) == (True, True)


@pytest.mark.parametrize(
    "key",
    [
        "db.url",
        "auth.jwt_secret",
        "auth.email.template.invite.content_path",
        "auth.signing_keys_path",
        "gateway.host",
        "storage.path",
        "auth",
        "nothing",
        "",
    ],
)
def test_what_is_read_at_the_start_cannot_be_stored(key: str) -> None:
    with pytest.raises(SettingsError, match="not a setting that can be changed"):
        read_value(key, "x")


def test_one_value_that_cannot_be_used_does_not_take_the_others_away() -> None:
    values = {"auth.site_url": "nowhere", "auth.enable_signup": False}

    effective = effective_settings(BASE, values)

    assert effective.settings.auth.site_url == Settings().auth.site_url
    assert effective.settings.auth.enable_signup is False
    assert list(effective.ignored) == ["auth.site_url"]
    assert "must be a URL" in effective.ignored["auth.site_url"]


def test_values_of_keys_that_a_version_does_not_know_are_reported() -> None:
    effective = effective_settings(BASE, {"auth.gone": 1, "api.max_rows": "many", "api.plan_enabled": True})

    assert set(effective.ignored) == {"auth.gone", "api.max_rows"}
    assert effective.settings.api.plan_enabled is True


def test_the_least_that_must_be_left_out_is_left_out() -> None:
    broken = {**TWILIO, "auth.sms.twilio.auth_token": "", "auth.sms.twilio.account_sid": ""}
    values = {**broken, "auth.sms.vonage.enabled": False, "api.max_rows": 7}

    effective = effective_settings(BASE, values)

    # Without `enabled` alone the others pass: the smallest change that works.
    assert list(effective.ignored) == ["auth.sms.twilio.enabled"]
    assert effective.settings.api.max_rows == 7


def test_a_check_of_a_pool_counts_as_well() -> None:
    def check(settings: Settings) -> None:
        if settings.auth.email.template.invite.content == "{{":
            raise SettingsError("auth.email.template.invite.content: not closed")

    values = {"auth.email.template.invite.content": "{{", "auth.enable_signup": False}

    effective = effective_settings(BASE, values, check)

    assert effective.ignored == {
        "auth.email.template.invite.content": "auth.email.template.invite.content: not closed"
    }
    assert effective.settings.auth.enable_signup is False


def test_if_nothing_passes_the_file_applies() -> None:
    def check(settings: Settings) -> None:
        raise SettingsError("no")

    effective = effective_settings(BASE, {"api.max_rows": 7, "auth.enable_signup": False}, check)

    assert effective.settings == BASE.settings
    assert set(effective.ignored) == {"api.max_rows", "auth.enable_signup"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(LIVE_KEYS)), JSON, max_size=4))
def test_any_stored_values_give_settings_that_pass_the_checks(values: dict[str, Any]) -> None:
    effective = effective_settings(BASE, values)

    assert effective.ignored.keys() <= values.keys()
    assert strict_settings(SettingsBase(effective.settings), {})[0] == effective.settings


def test_edges_get_no_secret_and_every_name_is_a_setting() -> None:
    names = {".".join(path): kind for path, kind in KINDS.items()}

    assert LIVE_KEYS >= OWNER_KEYS | EDGE_KEYS
    assert names.keys() >= LIVE_KEYS
    assert [key for key in EDGE_KEYS if "Secret" in str(names[key])] == []
    assert {
        "auth.enable_signup",
        "auth.email.smtp.pass",
        "api.schemas",
        "storage.file_size_limit",
    } <= LIVE_KEYS
