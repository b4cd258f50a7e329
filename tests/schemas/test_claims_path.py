"""Paths into the claims of a token: reference page, section 5."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.claims_path import parse_claims_path

CLAIMS = {
    "role": "author",
    "a": {"b": [{"c": "deep"}, "second"], "x y": ["odd"]},
    "https://x/role": {"key": "named"},
    "roles": ["guest", "author", 7, "authority", "hauthor"],
    "empty": [],
    "number": 7,
    'q"t': 1,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.role", "author"),
        (".role", "author"),
        ("role", "author"),
        ("$", CLAIMS),
        ("", CLAIMS),
        ("$.a.b[0].c", "deep"),
        (".a.b[1]", "second"),
        ("$.a.b[2]", None),
        ("$.a.b.c", None),
        ("$.role.x", None),
        ("$.nothing", None),
        ("$['https://x/role'].key", "named"),
        ('$["https://x/role"]["key"]', "named"),
        ("$['a']['b'][1]", "second"),
        ('.a."x y"[0]', "odd"),
        ('."https://x/role".key', "named"),
        ("$.roles[1]", "author"),
        ("$.roles[?(@ == 'author')]", "author"),
        ("$.roles[?@ == 'author']", "author"),
        ('$.roles[?(@ == "author")]', "author"),
        ("$.roles[?(@ == 'nobody')]", None),
        ("$.roles[?(@ != 'guest')]", "author"),
        ("$.roles[?(@ ^== 'auth')]", "author"),
        ("$.roles[?(@ ==^ 'ity')]", "authority"),
        ("$.roles[?(@ *== 'utho')]", "author"),
        ("$.roles[?search(@, '^au')]", "author"),
        ("$.roles[?search(@, 'ity$')]", "authority"),
        ("$.roles[-2]", "authority"),
        ("$.roles[3:]", "authority"),
        ("$.roles[::-1]", "hauthor"),
        ("$.roles[1:2:0]", None),
        ("$.roles[9,1]", "author"),
        ("$.roles[?@ == 'nobody' || @ == 7]", 7),
        ("$.roles[?length(@) > 6 && !(@ == 'x')]", "authority"),
        ("$.roles[? @ > 'b' ]", "guest"),
        ("$.a.b[?@.c == 'deep'].c", "deep"),
        ("$.a.b[?@.c].c", "deep"),
        ("$.a.b[?!@.c]", "second"),
        ("$.a.b[?@ == $.a.b[1]]", "second"),
        ("$.a[?count(@[*]) == 1][0]", "odd"),
        ("$.a[?value(@[*]) == 'odd'][0]", "odd"),
        ("$.a[?@.x == @.y]", CLAIMS["a"]["b"]),  # type: ignore[index]  # two that are not there are equal
        ("$..c", "deep"),
        ("$..['x y'][*]", "odd"),
        ("$.*", "author"),
        ("$['\\u0072ole']", "author"),
        ("$ .role", "author"),
        ("$.roles[?(@ ^== 'au' && @ ==^ 'ity')]", "authority"),
        ("$.roles[?match(@, 'auth')]", None),
        ("$.roles[?match(@, 'h.*')]", "hauthor"),
        ("$.empty[?(@ == 'x')]", None),
        ("$.role[?(@ == 'author')]", None),
        (".roles[?(@ ^== 'auth')]", "author"),
        ("$.number", 7),
        ("$.a[0]", None),
    ],
)
def test_a_path_leads_to_a_claim_or_to_nothing(path: str, value: object) -> None:
    assert parse_claims_path(path)(CLAIMS) == value


@pytest.mark.parametrize(
    "path",
    [
        "$.", "$..", "$.a[", "$.a[x]", "$.a['b]", "$.roles[?(@ = 'a')]", "$.roles[?count(@, 'a')]", "$.roles[?search(@, '(')]", "a b]", "$.a.'b'",
        "$.a[01]", "$.a[-0]", "$.a b", "$ ", "$.1", "$['\\x']", "$[?@.* == 1]", "$[?'a']", "$[?!@ == 1]", "$[?length(@) ]", "$[?@ == match(@, 'a')]",
        "$[?nothing(@)]", "$" + "[?(" * 30, "$." + "a" * 1001, "$[?search(@, '(a+)+$')]", "$[?search(@, 'a*a*a*')]", "$[?search(@, '(a|a){9}')]",
        "$[?search(@, '" + "(a|a)" * 9 + "')]", "..a", ".a[-1]",
    ],
)  # fmt: skip
def test_malformed_paths_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON path|pattern"):
        parse_claims_path(path)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None)
@given(
    _json,
    st.sampled_from(["$.a.b[0]", "$.a[?(@ == 'x')]", "$['c'].a", "$.b[1][0]", "$.a[?search(@, 'x')].b"]),
)
def test_any_claims_give_a_value(claims: object, path: str) -> None:
    parse_claims_path(path)(claims)


@settings(max_examples=150, deadline=None)
@given(st.text("$.@[]()?'\"*,:0a=!<>&|^ \\", max_size=20))
def test_any_text_is_a_path_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse_claims_path("$" + text)(CLAIMS)


def test_a_query_visits_a_bounded_number_of_claims() -> None:
    claims = {"a": [[[0] * 30] * 30] * 30}

    assert parse_claims_path("$..*..*..*..*..*[?@ == 1]")(claims) is None
