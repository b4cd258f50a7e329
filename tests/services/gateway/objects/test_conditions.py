import pytest

from schemas.http_dates import http_date
from services.gateway.objects.conditions import ByteRange, InvalidByteRange, is_unchanged, range_of

ETAG, MODIFIED = '"abc"', 1_800_000_000
DATE = http_date(MODIFIED)


@pytest.mark.parametrize("tags", ['"abc"', 'W/"abc"', '"x", "abc"', "*", '"x",W/"abc"'])
def test_a_client_that_has_the_body_is_told_so(tags: str) -> None:
    assert is_unchanged({"if-none-match": tags}, ETAG, MODIFIED)


@pytest.mark.parametrize("tags", ['"x"', "abc", "", '"ab"', '"abc'])
def test_other_tags_are_of_other_bodies(tags: str) -> None:
    assert not is_unchanged({"if-none-match": tags}, ETAG, MODIFIED)


def test_tags_win_over_dates() -> None:
    assert not is_unchanged({"if-none-match": '"x"', "if-modified-since": DATE}, ETAG, MODIFIED)


def test_dates_are_compared_in_whole_seconds() -> None:
    assert is_unchanged({"if-modified-since": DATE}, ETAG, MODIFIED)
    assert is_unchanged({"if-modified-since": http_date(MODIFIED + 1)}, ETAG, MODIFIED)
    assert not is_unchanged({"if-modified-since": http_date(MODIFIED - 1)}, ETAG, MODIFIED)


@pytest.mark.parametrize("text", ["", "yesterday", "Sat, 99 Nov 2026 00:00:00 GMT", "0"])
def test_what_is_no_date_is_no_condition(text: str) -> None:
    assert not is_unchanged({"if-modified-since": text}, ETAG, MODIFIED)


def test_a_body_without_a_tag_or_a_date_is_always_sent() -> None:
    assert not is_unchanged({"if-none-match": "*", "if-modified-since": DATE}, "", 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes=0-3", ByteRange(0, 4)),
        ("bytes=5-", ByteRange(5, 11)),
        ("bytes=-3", ByteRange(8, 11)),
        ("bytes=0-99", ByteRange(0, 11)),
        ("bytes=-99", ByteRange(0, 11)),
        ("bytes=10-10", ByteRange(10, 11)),
        ("Bytes = 1 - 2", ByteRange(1, 3)),
        ("items=0-3", None),
    ],
)
def test_a_range_is_clamped_to_the_body(text: str, expected: ByteRange | None) -> None:
    assert range_of({"range": text}, 11, ETAG, MODIFIED) == expected


@pytest.mark.parametrize(
    "text",
    ["bytes=11-", "bytes=3-2", "bytes=-0", "bytes=-", "bytes=", "bytes=0-1,3-4", "bytes=x-1", "bytes=99999999999999999999-",
     "bytes=" + "0-0," * 1000],
)  # fmt: skip
def test_ranges_that_cannot_be_sent_are_refused(text: str) -> None:
    with pytest.raises(InvalidByteRange):
        range_of({"range": text}, 11, ETAG, MODIFIED)


def test_an_empty_body_has_no_range() -> None:
    with pytest.raises(InvalidByteRange):
        range_of({"range": "bytes=0-0"}, 0, ETAG, MODIFIED)


@pytest.mark.parametrize(
    ("known", "is_ranged"),
    [(ETAG, True), (DATE, True), ('"x"', False), (f"W/{ETAG}", False), (http_date(MODIFIED + 1), False), ("x", False)],
)  # fmt: skip
def test_a_range_of_another_body_becomes_the_whole(known: str, is_ranged: bool) -> None:
    found = range_of({"range": "bytes=0-3", "if-range": known}, 11, ETAG, MODIFIED)

    assert (found is not None) is is_ranged


def test_dates_are_written_as_headers_have_them() -> None:
    assert http_date(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT"
