"""The `Accept` header: reference page, section 15; RFC 9110, 12.5.1."""

import pytest
from hypothesis import given

from tests.workers.rest.parse.anything import FEW, texts
from workers.rest.model import MediaType
from workers.rest.parse.media import ANY, parse_accept

JSON, CSV = MediaType("application/json"), MediaType("text/csv")
OBJECT = MediaType("application/vnd.pgrst.object+json")


@pytest.mark.parametrize(
    ("header", "types"),
    [
        (None, [ANY]),
        ("", [ANY]),
        (" , ", [ANY]),
        ("*/*", [ANY]),
        ("application/json", [JSON]),
        ("Application/JSON", [JSON]),
        ("application/json, text/csv", [JSON, CSV]),
        ("application/json;q=0.5, text/csv", [CSV, JSON]),
        ("application/json;q=0.5, text/csv;q=0.5", [JSON, CSV]),
        ("text/csv; q=0.2, */*;q=0.1, application/json", [JSON, CSV, ANY]),
        ("*/*, text/csv", [CSV, ANY]),
        ("*/*, text/*, application/json", [JSON, MediaType("text/*"), ANY]),
        ("text/csv;q=0, application/json", [JSON]),
        ("text/csv;q=0", [ANY]),
        ("text/csv;Q=0.1,application/json", [JSON, CSV]),
        ("text/csv;q=2,application/json;q=1", [CSV, JSON]),
        ("text/csv;q=high,application/json;q=0.9", [CSV, JSON]),
        ("text/csv;q=nan,application/json;q=0.9", [CSV, JSON]),
        ("undefined", [MediaType("undefined")]),
        ("application/vnd.pgrst.object+json", [OBJECT]),
        ("application/vnd.rest.object+json", [OBJECT]),
        ("application/vnd.rest.object", [MediaType("application/vnd.pgrst.object")]),
        ("application/vnd.pgrst.object+json;nulls=stripped", [MediaType(OBJECT.name, (("nulls", "stripped"),))]),
        ("application/vnd.pgrst.array+json; nulls = stripped", [MediaType("application/vnd.pgrst.array+json", (("nulls", "stripped"),))]),
        ("application/json;charset=utf-8", [MediaType("application/json", (("charset", "utf-8"),))]),
        (
            'application/vnd.pgrst.plan+json; for="application/json"; options=analyze|verbose;',
            [MediaType("application/vnd.pgrst.plan+json", (("for", "application/json"), ("options", "analyze|verbose")))],
        ),
        (
            'application/vnd.rest.plan+text; for="text/csv;x=1, y", application/json',
            [MediaType("application/vnd.pgrst.plan+text", (("for", "text/csv;x=1, y"),)), JSON],
        ),
        (
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            [MediaType("text/html"), MediaType("application/xhtml+xml"), MediaType("application/xml"), ANY],
        ),
    ],
)  # fmt: skip
def test_types_are_listed_by_preference(header: str | None, types: list[MediaType]) -> None:
    assert parse_accept(header) == tuple(types)


@pytest.mark.parametrize(
    ("header", "value"),
    [('a/b;x="c, d;e', "c, d;e"), ('a/b;x="c\\', "c\\"), ('a/b;x="' + '\\"' * 100_000, None)],
)
def test_a_quote_that_is_never_closed_runs_to_the_end(header: str, value: str | None) -> None:
    (found,) = parse_accept(header)

    assert found.name == "a/b"
    assert value is None or found.parameter("x") == value


def test_a_parameter_is_found_by_its_name() -> None:
    media = MediaType("a/b", (("nulls", "stripped"), ("nulls", "kept")))

    assert media.parameter("nulls") == "stripped"
    assert media.parameter("for") is None


@FEW
@given(texts)
def test_any_header_lists_some_type(text: str) -> None:
    for header in (text, f'a/b;for="{text}', f"a/b;q={text},c/d"):
        assert all(isinstance(media, MediaType) for media in parse_accept(header))
        assert parse_accept(header)
