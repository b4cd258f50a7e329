"""What a webhook may be: filters, addresses, headers, secrets."""

import pytest

from schemas.realtime import FilterCondition
from schemas.webhooks import (
    InvalidWebhook,
    WebhookFilterColumn,
    check_headers,
    check_secret,
    check_url,
    new_secret,
    read_filters,
)

COLUMNS = [
    WebhookFilterColumn("id", "int8"), WebhookFilterColumn("ok", "bool"), WebhookFilterColumn("name", "text"),
    WebhookFilterColumn("kind", "mood", is_enum=True), WebhookFilterColumn("doc", "jsonb"), WebhookFilterColumn("odd", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id=gte.5", FilterCondition("id", "gte", ["5"], type="int8", local="number")),
        (
            "name=not.in.(a,b)",
            FilterCondition("name", "in", ["a", "b"], is_negated=True, type="text", local="text"),
        ),
        ("kind=eq.glad.=", FilterCondition("kind", "eq", ["glad.="], type="mood", local="text")),
        ("ok=is.TRUE", FilterCondition("ok", "is", ["true"], type="bool", local="null")),
        (
            "doc=not.is.null",
            FilterCondition("doc", "is", ["null"], is_negated=True, type="jsonb", local="null"),
        ),
    ],
)
def test_a_filter_is_read(text: str, expected: FilterCondition):
    assert read_filters([text], COLUMNS) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "id", "id=like.5", "id=eq.five", "id=in.5", "id=in.()", "name=lt.a", "doc=eq.1", "odd=eq.a", "ok=gt.true", "id=is.true",
        "gone=eq.1", "name=eq." + "x" * 5000,
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_decided_is_refused(text: str):
    with pytest.raises(InvalidWebhook):
        read_filters([text], COLUMNS)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "https://",
        "https://user:secret@example.com/",
        "https://example.com/#a",
        "http://a:0/",
        "http://a:x/",
        "https://exa mple.com",
    ],
)
def test_an_address_that_cannot_be_is_refused(url: str):
    with pytest.raises(InvalidWebhook):
        check_url(url)


@pytest.mark.parametrize(
    "headers", [{"Host": "x"}, {"a b": "x"}, {"a": "x\r\ny: z"}, {"A": "1", "a": "2"}, {"WEBHOOK-ID": "x"}]
)
def test_a_header_that_could_frame_or_forge_is_refused(headers: dict[str, str]):
    with pytest.raises(InvalidWebhook):
        check_headers(headers)


@pytest.mark.parametrize(
    "secret", ["whsec_c2hvcnQ=", "whsec_###", "short", new_secret().removeprefix("whsec_")]
)
def test_a_secret_that_does_not_protect_is_refused(secret: str):
    with pytest.raises(InvalidWebhook):
        check_secret(secret)
    assert check_secret(new_secret())
