"""Users, identities and factors as bodies show them. Reference, sections 2.1 to 2.3."""

import json
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser, Factor, UserIdentity
from workers.auth.model.user_json import factor_json, identity_json, merged_metadata, metadata_text, user_json

ID, OTHER = UUID(int=1), UUID(int=2)
THEN = datetime(2026, 11, 21, 1, 30, 0, 123456, UTC)
SHOWN = "2026-11-21T01:30:00.123Z"
ALWAYS = {
    "id", "aud", "role", "email", "phone", "app_metadata", "user_metadata", "identities", "created_at", "updated_at",
    "is_anonymous",
}  # fmt: skip
TIMES = (
    "email_confirmed_at", "phone_confirmed_at", "confirmed_at", "invited_at", "confirmation_sent_at",
    "recovery_sent_at", "email_change_sent_at", "phone_change_sent_at", "reauthentication_sent_at", "last_sign_in_at",
    "banned_until", "deleted_at",
)  # fmt: skip


def test_a_user_made_by_hand_has_every_field_that_is_always_there():
    shown = user_json(AuthUser(ID))

    assert shown == {
        "id": str(ID), "aud": "", "role": "", "email": "", "phone": "", "app_metadata": {}, "user_metadata": {},
        "identities": [], "created_at": None, "updated_at": None, "is_anonymous": False,
    }  # fmt: skip
    assert set(shown) == ALWAYS


@pytest.mark.parametrize("name", TIMES)
def test_a_time_is_shown_when_it_is_set(name: str):
    shown = user_json(AuthUser(ID, **{name: THEN}))  # type: ignore[arg-type]  # the names are of times

    assert shown[name] == SHOWN
    assert set(shown) == ALWAYS | {name}


def test_times_are_in_utc_with_milliseconds():
    there = THEN.astimezone(timezone(timedelta(hours=5, minutes=30)))

    assert user_json(AuthUser(ID, created_at=there))["created_at"] == SHOWN
    assert (
        user_json(AuthUser(ID, created_at=THEN.replace(microsecond=0)))["created_at"]
        == "2026-11-21T01:30:00.000Z"
    )


def test_pending_addresses_are_shown_when_there_are_any():
    shown = user_json(AuthUser(ID, email_change="b@b.org", phone_change="4915"))

    assert (shown["new_email"], shown["new_phone"]) == ("b@b.org", "4915")
    assert set(user_json(AuthUser(ID, email_change="", phone_change=""))) == ALWAYS


def test_what_is_secret_in_a_user_is_not_shown():
    shown = user_json(AuthUser(ID, encrypted_password="$argon2id$..."))

    assert "argon2id" not in repr(shown)


def test_an_identity_is_shown_with_both_ids():
    identity = UserIdentity(
        OTHER, ID, "github", "4711", {"sub": "4711", "email": "A@b.org"}, "a@b.org", THEN, THEN, THEN
    )

    assert identity_json(identity) == {
        "identity_id": str(OTHER), "id": "4711", "user_id": str(ID), "provider": "github", "email": "a@b.org",
        "identity_data": {"sub": "4711", "email": "A@b.org"},
        "last_sign_in_at": SHOWN, "created_at": SHOWN, "updated_at": SHOWN,
    }  # fmt: skip


def test_an_identity_without_address_shows_none():
    assert "email" not in identity_json(UserIdentity(OTHER, ID, "phone", str(ID), {"sub": str(ID)}))
    assert identity_json(UserIdentity(OTHER, ID, "phone", str(ID), {}))["last_sign_in_at"] is None


def test_a_factor_is_shown_without_its_secret():
    assert factor_json(Factor(OTHER, "totp", "verified", THEN, THEN)) == {
        "id": str(OTHER), "factor_type": "totp", "status": "verified", "phone": "", "created_at": SHOWN,
        "updated_at": SHOWN, "last_challenged_at": None,
    }  # fmt: skip


def test_a_factor_shows_what_it_has():
    factor = Factor(OTHER, "webauthn", "unverified", THEN, THEN, "key", "4915", THEN, ID, {"challenge": "x"})

    shown = factor_json(factor)

    assert (shown["friendly_name"], shown["phone"], shown["last_challenged_at"]) == ("key", "4915", SHOWN)
    assert (shown["web_authn_aaguid"], shown["last_webauthn_challenge_data"]) == (str(ID), {"challenge": "x"})


def test_a_user_shows_factors_when_there_are_any():
    factor = Factor(OTHER, "totp", "verified", THEN, THEN)

    assert user_json(AuthUser(ID, factors=(factor,)))["factors"] == [factor_json(factor)]


@pytest.mark.parametrize(
    ("old", "new", "whole"),
    [
        (None, {}, {}),
        (None, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": None}, {}, {"a": None}),
        ({}, {"a": None}, {}),
        ({"a": {"x": 1}}, {"a": {"y": None}}, {"a": {"y": None}}),
        ({"a": 1}, {"a": 0, "b": "", "c": False}, {"a": 0, "b": "", "c": False}),
    ],
)
def test_metadata_merges_key_by_key(
    old: dict[str, object] | None, new: dict[str, object], whole: dict[str, object]
):
    assert merged_metadata(old, new) == whole


_metadata = st.dictionaries(st.sampled_from("abcd"), st.none() | st.integers())


@given(_metadata, _metadata)
def test_merging_twice_is_merging_once(old: dict[str, object], new: dict[str, object]):
    once = merged_metadata(old, new)

    assert merged_metadata(once, new) == once
    assert {key: once.get(key) for key in new} == new


@pytest.mark.parametrize(("fits", "is_too_deep"), [("[" * 99 + "]" * 99, "[" * 100 + "]" * 100)])
def test_metadata_has_a_depth(fits: str, is_too_deep: str) -> None:
    metadata = {"a": json.loads(fits), "n": 2**64}

    assert json.loads(metadata_text(metadata)) == metadata
    with pytest.raises(AuthError, match="100 levels"):
        metadata_text({"a": json.loads(is_too_deep)})
