"""Paths into the claims of a token: reference page, section 5."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.request_context.claims_path import claim_at, parse_claims_path

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
        ("$.roles[?match(@, 'auth')]", None),
        ("$.roles[?match(@, 'h.*')]", "hauthor"),
        ("$.empty[?(@ == 'x')]", None),
        ("$.role[?(@ == 'author')]", None),
        ("$.number", 7),
        ("$.a[0]", None),
    ],
)
def test_a_path_leads_to_a_claim_or_to_nothing(path: str, value: object) -> None:
    assert claim_at(CLAIMS, parse_claims_path(path)) == value


@pytest.mark.parametrize(
    "path",
    ["$.", "$..a", "$.a[", "$.a[x]", "$[-1]", "$.a['b]", "$.roles[?(@ = 'a')]", "$.roles[?count(@, 'a')]", "$.roles[?search(@, '(')]", "a b]", "$.a.'b'"],
)  # fmt: skip
def test_malformed_paths_are_refused(path: str) -> None:
    with pytest.raises(Exception, match=r"no JSON path|unterminated|missing"):
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
    claim_at(claims, parse_claims_path(path))
