"""The words of a search."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.mail_catcher.search import read_query
from tests.fuzz.mutate import near_text
from tests.services.mail_catcher.sample_emails import email

EMAIL = email("a", to="Ann Smith <ann@example.org>", subject="Your code", text="It is 123456")


@pytest.mark.parametrize(
    ("query", "finds"),
    [
        ("", True),
        ("to:ann@example.org", True),
        ("to:ANN@EXAMPLE.ORG", True),
        ('to:"ann@example.org"', True),
        ('to:"Ann Smith"', True),
        ("to:bob@example.org", False),
        ("-to:bob@example.org", True),
        ("!to:ann", False),
        ("from:team subject:code", True),
        ('subject:"your code"', True),
        ('subject:"code your"', False),
        ("123456", True),
        ("body:123456", True),
        ("654321", False),
        ("addressed:team addressed:ann", True),
        ("cc:ann", False),
        ("bcc:nobody", False),
        ("message-id:a@x", True),
        ("is:unread", True),
        ("is:read", False),
        ("-is:read", True),
        ("has:attachment", False),
        ("is:nonsense", False),
        ("https://nowhere.example", False),
        ('"', False),
    ],
)
def test_query_finds_what_it_says(query: str, finds: bool) -> None:
    assert read_query(query).matches(EMAIL, is_read=False) is finds


QUERIES = [
    'to:"Ann Smith" -from:x',
    "is:unread has:attachment",
    'subject:"your code" body:123456',
    "addressed:a cc:b bcc:c message-id:a@x",
]


@given(
    near_text(QUERIES, ["-", "!", ":", '"', "to:", "is:read", "before:", "after:2026-01-01", "is:"])
    | st.text()
)
@settings(max_examples=300)
def test_any_text_is_a_query(text: str) -> None:
    assert read_query(text).matches(EMAIL, is_read=True) in (True, False)
