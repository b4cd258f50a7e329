"""Documents about users: whatever they hold, they read as a person or as nobody."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.auth.federation.providers.apple import read_apple
from workers.auth.federation.providers.azure import read_azure
from workers.auth.federation.providers.bitbucket import read_bitbucket
from workers.auth.federation.providers.custom import read_custom
from workers.auth.federation.providers.discord import read_discord
from workers.auth.federation.providers.facebook import read_facebook, read_limited_login
from workers.auth.federation.providers.figma import read_figma
from workers.auth.federation.providers.fly import read_fly
from workers.auth.federation.providers.github import read_github
from workers.auth.federation.providers.gitlab import read_gitlab
from workers.auth.federation.providers.google import read_google
from workers.auth.federation.providers.kakao import read_kakao, read_kakao_token
from workers.auth.federation.providers.linkedin import read_linkedin, read_linkedin_oidc
from workers.auth.federation.providers.notion import read_notion
from workers.auth.federation.providers.profile import (
    flag,
    items,
    join_names,
    member,
    nonempty,
    read_openid_user,
    text,
)
from workers.auth.federation.providers.slack import read_slack
from workers.auth.federation.providers.snapchat import read_snapchat, read_snapchat_token
from workers.auth.federation.providers.spotify import read_spotify
from workers.auth.federation.providers.twitch import read_twitch
from workers.auth.federation.providers.twitter import read_twitter
from workers.auth.federation.providers.vercel_marketplace import read_vercel
from workers.auth.federation.providers.workos import read_workos
from workers.auth.federation.providers.x import read_x
from workers.auth.federation.providers.zoom import read_zoom
from workers.auth.federation.social.protocol import ProviderError, ProviderUser

READERS: list[Callable[[Any], ProviderUser]] = [
    read_apple, read_azure, read_facebook, read_google, read_kakao_token, read_limited_login, read_linkedin_oidc,
    read_snapchat, read_snapchat_token, read_vercel, read_openid_user,
    lambda each: read_apple({"sub": "1"}, str(each)),
    lambda each: read_bitbucket(each, each, "i"), lambda each: read_custom(each, {"sub": "id.a", "name": "b.0"}, ["c"]),
    lambda each: read_discord(each, "i"), lambda each: read_figma(each, "i"), lambda each: read_fly(each, "i"),
    lambda each: read_github(each, list(each.values()), "i"), lambda each: read_gitlab(each, list(each.values()), "i"),
    lambda each: read_kakao(each, "i"), lambda each: read_linkedin(each, each, "i"), lambda each: read_notion(each, "i"),
    lambda each: read_slack(each, "i", is_verified=True), lambda each: read_spotify(each, "i"),
    lambda each: read_twitch(each, "i"), lambda each: read_twitter(each, "i"), lambda each: read_workos(each, "i"),
    lambda each: read_x(each, "i"), lambda each: read_zoom(each, "i"),
]  # fmt: skip
NAMES = (
    "id", "sub", "uuid", "email", "name", "picture", "images", "data", "values", "bot", "owner", "user", "me", "profile",
    "kakao_account", "elements", "handle~", "firstName", "localized", "preferredLocale", "avatar", "discriminator",
    "xms_edov", "is_private_email", "links", "bitmoji", "a", "b", "width",
)  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(NAMES), json_values))
def test_any_document_gives_a_person_or_is_refused(document: dict[str, Any]):
    for read in READERS:
        try:
            person = read(document)
        except ProviderError:
            continue
        assert isinstance(person, ProviderUser)
        assert person.subject
        assert all(each.address for each in person.emails)
        assert None not in person.claims.values()


@pytest.mark.parametrize(
    ("document", "path", "found"),
    [
        ({"a": {"b": [{"c": "x"}]}}, ("a", "b", 0, "c"), "x"),
        ({"a": {"b": [{"c": "x"}]}}, ("a", "b", -1, "c"), "x"),
        ({"a": []}, ("a", 0), None),
        ({"a": []}, ("a", -1), None),
        ({"a": "text"}, ("a", 0), None),
        ({"a": [1]}, ("a", "0"), None),
        (None, ("a",), None),
    ],
)
def test_a_way_through_a_document_ends_where_it_breaks_off(
    document: object, path: tuple[Any, ...], found: object
):
    assert member(document, *path) == found


@pytest.mark.parametrize(
    ("value", "found"), [("x", "x"), (7, "7"), (0, "0"), (True, ""), (None, ""), (1.5, ""), ([], "")]
)
def test_texts_are_texts_or_whole_numbers(value: object, found: str):
    assert text({"a": value}, "a") == found


@pytest.mark.parametrize("value", [True, "true", "True", 1, "1"])
def test_what_holds_is_written_in_many_ways(value: object):
    assert flag({"a": value}, "a")


@pytest.mark.parametrize("value", [False, "false", 0, "0", None, "yes", 2, [], {}, "", [True]])
def test_everything_else_does_not_hold(value: object):
    assert not flag({"a": value}, "a")


def test_small_helpers():
    assert nonempty(a="", b=None, c={}, d=[], e="x", f=False, g=0) == {"e": "x", "f": False, "g": 0}
    assert (join_names("Ada", "", "Lovelace"), join_names("", "")) == ("Ada Lovelace", "")
    assert items({"a": "x"}, "a") == []


def test_standard_claims_are_taken_over():
    claims = {
        "sub": "1",
        "email": "a@b.org",
        "given_name": "Ada",
        "family_name": "Lovelace",
        "phone_number": "+1",
        "acr": "1",
    }

    person = read_openid_user(claims)

    assert dict(person.claims) == {
        "given_name": "Ada", "family_name": "Lovelace", "name": "Ada Lovelace", "full_name": "Ada Lovelace", "phone": "+1",
        "provider_id": "1",
    }  # fmt: skip
    assert [(each.address, each.is_verified) for each in person.emails] == [("a@b.org", False)]
