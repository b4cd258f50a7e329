"""Globs: every sign, alternatives, and that no text makes a match slow. Reference, section 20."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.auth.model.redirects.globs import BadGlob, Glob, expand


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("abc", "abc", True),
        ("abc", "abcd", False),
        ("abc", "Abc", False),
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("*", "abc", True),
        ("*", "a/b", False),
        ("*", "a.b", False),
        ("a*c", "abbbc", True),
        ("a*c", "ac", True),
        ("a*c", "a/c", False),
        ("**", "a/b.c", True),
        ("a/**", "a/", True),
        ("a/**", "a/b/c.d", True),
        ("a/**/d", "a/b/c/d", True),
        ("a/**/d", "a/d", False),
        ("***", "a/b", True),
        ("*.*", "a.b", True),
        ("*.*", "a.b.c", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("a?c", "a/c", False),
        ("[abc]x", "bx", True),
        ("[abc]x", "dx", False),
        ("[a-c]x", "bx", True),
        ("[a-c]x", "Bx", False),
        ("[!a-c]x", "bx", False),
        ("[!a-c]x", "dx", True),
        ("[^a]x", "bx", True),
        ("[a-]x", "-x", True),
        ("[!]x", "!x", True),
        (r"a\*c", "a*c", True),
        (r"a\*c", "abc", False),
        (r"a\?b\[c\]", "a?b[c]", True),
        ("a,b", "a,b", True),
        ("a}b", "a}b", True),
        ("名*", "名前", True),
        ("*ab*", "xxabab", True),
        ("*a*b*c", "aabbcc", True),
        ("*a*b*c", "aabbc/c", False),
    ],
)
def test_a_pattern_matches_as_described(pattern: str, text: str, is_match: bool) -> None:
    assert [Glob(each).matches(text) for each in expand(pattern)] == [is_match]


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("{a,b}c", ["ac", "bc"]),
        ("x{,s}", ["x", "xs"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{a,b{c,d}}", ["a", "bc", "bd"]),
        (r"{a\,b,c}", [r"a\,b", "c"]),
        ("[{]x", ["[{]x"]),
        (r"\{a,b\}", [r"\{a,b\}"]),
        ("{}", [""]),
        ("plain", ["plain"]),
    ],
)
def test_alternatives_are_taken_apart(pattern: str, texts: list[str]) -> None:
    assert expand(pattern) == texts


@pytest.mark.parametrize(
    "pattern", ["{a", "{a,{b}", "[a", "[", "[]", "x" * 3000, "{a,b}" * 9, "{" * 1500, "{" * 9 + "}" * 9]
)
def test_a_malformed_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadGlob):
        expand(pattern)


def test_a_backslash_at_the_end_is_refused() -> None:
    with pytest.raises(BadGlob):
        Glob("a\\")


@given(st.text("ab/.*?", max_size=8), st.text("ab/.", max_size=12))
def test_a_glob_agrees_with_the_regular_expression_of_its_meaning(pattern: str, text: str) -> None:
    meaning = re.sub(r"\*\*+|\*|\?|.", _meaning, pattern)

    assert Glob(pattern).matches(text) is (re.fullmatch(meaning, text) is not None)


@given(st.text(max_size=30))
def test_escaped_text_matches_itself_only(text: str) -> None:
    glob = Glob("".join(f"\\{character}" for character in text))

    assert glob.matches(text)
    assert not glob.matches(text + "x")


@given(st.text("ab*?[]!-{},\\/.", max_size=25), st.text("ab/.", max_size=10))
def test_any_pattern_compiles_or_is_refused(pattern: str, text: str) -> None:
    try:
        globs = [Glob(each) for each in expand(pattern)]
    except BadGlob:
        return
    assert all(glob.matches(text) in (True, False) for glob in globs)


def test_the_work_of_a_match_is_one_step_a_character() -> None:
    glob = Glob("**a" * 300 + "b")

    assert not glob.matches("a" * 4096)
    assert glob.matches("a" * 4095 + "b")


def _meaning(sign: re.Match[str]) -> str:
    run = {"*": "[^./]*", "?": "[^./]"}.get(sign[0])
    return run or (".*" if sign[0].startswith("**") else re.escape(sign[0]))
