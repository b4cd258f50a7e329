"""Names, sizes and types: what is taken and what is refused."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.storage.model.errors import StorageError
from workers.storage.model.names_and_sizes import (
    cache_control_of,
    check_bucket_name,
    check_header_values,
    existing_key,
    limit_of,
    parse_key,
    parse_size_limit,
)

MIB = 1024 * 1024


@pytest.mark.parametrize(
    "key",
    [
        "a.txt",
        "folder/a b.txt",
        "a//b",
        "/leading/slash.png",
        "A-Z_0!.*'()&$=@;:+,?-",
        "...",
        "a..b/c",
        ".hidden",
        "dir/.emptyFolderPlaceholder",
        "x" * 1024,
    ],
)
def test_usual_keys_are_taken_everywhere(key: str) -> None:
    assert parse_key(key, is_unicode=True) == key
    assert parse_key(key, is_unicode=False) == key


@pytest.mark.parametrize(
    "key", ["[a]", "{a}", "a#b", "a%b", "a^b", "a~b", "a|b", 'a"b', "a<b>", "été.txt", "日本.png"]
)
def test_other_signs_are_taken_only_where_every_script_is(key: str) -> None:
    assert parse_key(key, is_unicode=True) == key
    with pytest.raises(StorageError, match="Invalid key"):
        parse_key(key, is_unicode=False)


@pytest.mark.parametrize(
    "key",
    [
        "",
        ".",
        "..",
        "a/../b",
        "../a",
        "a/..",
        "./a",
        "a/.",
        "a/./b",
        "..\\a",
        "a\\..\\b",
        "a\\../b",
        "a\0b",
        "a\nb",
        "a\rb",
        "a\tb",
        "a\x1bb",
        "a\x7fb",
        "a\x85b",
        "a\u2028b",
        "a\u2029b",
        "a\ud800b",
        "x" * 1025,
        "é" * 513,
    ],
)
def test_keys_that_are_never_taken(key: str) -> None:
    for is_unicode in (True, False):
        with pytest.raises(StorageError) as refused:
            parse_key(key, is_unicode=is_unicode)
        assert refused.value.body()["code"] == "InvalidKey"
    with pytest.raises(StorageError):
        existing_key(key)


def test_keys_are_kept_composed() -> None:
    assert parse_key("e\u0301.txt", is_unicode=True) == "\u00e9.txt"
    assert existing_key("e\u0301.txt") == "\u00e9.txt"


@given(st.text(max_size=40))
def test_a_key_that_is_taken_is_fit_to_be_kept(text: str) -> None:
    try:
        key = parse_key(text, is_unicode=True)
    except StorageError:
        return

    assert key == unicodedata.normalize("NFC", key)
    assert len(key.encode()) <= 1024
    assert not any(segment in (".", "..") for segment in key.split("/"))
    assert parse_key(key, is_unicode=True) == key


@pytest.mark.parametrize("name", ["a", "my bucket", "A.b_c-1", "x" * 100, "it's(1)&$=@;:+,?"])
def test_names_of_buckets(name: str) -> None:
    check_bucket_name(name)


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "a/b", "x" * 101, "ä", "a\nb", "..", ".", "x--table-s3", "a%b", "a#b", "a\\b"]
)
def test_bad_names_of_buckets(name: str) -> None:
    with pytest.raises(StorageError) as refused:
        check_bucket_name(name)

    assert refused.value.body() == {
        "statusCode": "400",
        "error": "Invalid Input",
        "message": "Bucket name invalid",
        "code": "InvalidBucketName",
    }


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (None, None),
        (0, 0),
        (1000, 1000),
        ("1mb", 1_000_000),
        ("20MB", 20_000_000),
        ("1.5Gb", 1_500_000_000),
        ("10kb", 10_000),
        ("7b", 7),
        ("1234kb", 1_230_000),
        ("1.2345mb", 1_230_000),
    ],
)
def test_sizes(given: object, size: int | None) -> None:
    assert parse_size_limit(given, 5 * 1024 * MIB) == size


@pytest.mark.parametrize(
    "given", [-1, True, 1.5, "10", "mb", "1 mb", "1tb", "-1mb", "1mb ", [], "1e3mb", "٣mb"]
)
def test_bad_sizes(given: object) -> None:
    with pytest.raises(StorageError) as refused:
        parse_size_limit(given, 5 * 1024 * MIB)

    assert refused.value.body()["code"] == "InvalidRequest"


def test_size_above_that_of_the_service_is_refused() -> None:
    with pytest.raises(StorageError) as refused:
        parse_size_limit("2mb", 1_000_000)

    assert refused.value.body()["statusCode"] == "413"


@pytest.mark.parametrize(("bucket", "limit"), [(None, 50), (10, 10), (200, 200), (9999, 1000), (0, 0)])
def test_limit_of_a_bucket_may_be_above_the_standard_but_not_above_the_largest(
    bucket: int | None, limit: int
) -> None:
    assert limit_of(bucket, standard=50, largest=1000) == limit


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, "no-cache"),
        ("", "no-cache"),
        ("60", "max-age=60"),
        ("max-age=3600", "max-age=3600"),
        ("٣", "٣"),
    ],
)
def test_cache_control(given: str | None, kept: str) -> None:
    assert cache_control_of(given) == kept


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0", "日本"])
def test_what_cannot_be_sent_is_refused(text: str) -> None:
    with pytest.raises(StorageError) as refused:
        check_header_values("fine", text)

    assert refused.value.body()["error"] == "invalid_header_char"
