"""Directives in comments of tables: read, refused with a reason, written without touching the text around."""

import pytest

from schemas.table_directives import (
    CommentDirective,
    HistoryDirective,
    InvalidDirective,
    read_directive,
    with_directive,
)

WEEK = CommentDirective(HistoryDirective(7))
TEXT = '@headwater({"history":{"days":7}})'


@pytest.mark.parametrize(
    ("comment", "directive"),
    [
        ("", CommentDirective()),
        ("headwater", CommentDirective()),
        (f"(a) {TEXT} (b)", WEEK),
        ('@graphql({"name": "x"}) @headwater({"history": {}})', CommentDirective(HistoryDirective(30))),
        ("@headwater({})", CommentDirective()),
        ('@headwater({"label": "name"})', CommentDirective(label="name")),
    ],
)
def test_a_directive_stands_anywhere(comment: str, directive: CommentDirective):
    assert read_directive(comment) == directive


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("@headwater(", "needs a JSON object"),
        ("@headwater(" + "[" * 100_000, "needs a JSON object"),
        ('@headwater({"history": {"days": 7}}', "not closed"),
        ('@headwater({"histroy": {}})', "unknown field `histroy`"),
        ('@headwater({"history": {"days": "x"}})', "Expected `int`"),
        ('@headwater({"history": {"days": 0}})', "1 to 3650"),
        ("@headwater(3)", "Expected `object`"),
    ],
)
def test_a_wrong_directive_says_what_is_expected(comment: str, reason: str):
    with pytest.raises(InvalidDirective, match=reason):
        read_directive(comment)


@pytest.mark.parametrize(
    ("comment", "directive", "written"),
    [
        ("", WEEK, TEXT),
        ("All notes", WEEK, f"All notes {TEXT}"),
        ('a @headwater({"history": {"days": 30}}) b', WEEK, f"a {TEXT} b"),
        (f"a {TEXT} b", CommentDirective(), "a b"),
        ("a @headwater(x) b", WEEK, f"a {TEXT} b"),
        ("a @headwater(x", CommentDirective(), "a"),
    ],
)
def test_the_text_around_stays(comment: str, directive: CommentDirective, written: str):
    assert with_directive(comment, directive) == written
