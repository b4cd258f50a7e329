"""The `Prefer` header: reference page, section 12."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.rest.parse.anything import FEW, texts
from workers.rest.model import Preferences
from workers.rest.parse.preferences import parse_preferences


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("return=minimal", Preferences(representation="minimal")),
        ("return=headers-only", Preferences(representation="headers-only")),
        ("return=representation", Preferences(representation="representation")),
        ("count=exact", Preferences(count="exact")),
        ("count=planned", Preferences(count="planned")),
        ("count=estimated", Preferences(count="estimated")),
        ("resolution=merge-duplicates", Preferences(resolution="merge-duplicates")),
        ("resolution=ignore-duplicates", Preferences(resolution="ignore-duplicates")),
        ("missing=default", Preferences(missing="default")),
        ("missing=null", Preferences(missing="null")),
        ("tx=commit", Preferences(tx="commit")),
        ("tx=rollback", Preferences(tx="rollback")),
        ("handling=strict", Preferences(handling="strict")),
        ("handling=lenient", Preferences(handling="lenient")),
        ("timezone=America/Los_Angeles", Preferences(timezone="America/Los_Angeles")),
        ("timezone=+05:30", Preferences(timezone="+05:30")),
        ("max-affected=0", Preferences(max_affected=0)),
        ("max-affected=10", Preferences(max_affected=10)),
        ("max-affected=" + "9" * 10_000, Preferences(max_affected=2**63 - 1)),
        ("", Preferences()),
    ],
)
def test_directives(directive: str, expected: Preferences) -> None:
    assert parse_preferences((directive,)) == expected


@pytest.mark.parametrize(
    "directive",
    [
        "return=everything", "return=", "return", "Return=minimal", "return =minimal", "count=many", "resolution=merge",
        "missing=zero", "tx=maybe", "handling=rough", "timezone=", "timezone", "max-affected=-1", "max-affected=many",
        "max-affected=", "max-affected=1.5", "max-affected=٣", "respond-async", "wait=100", "=", "return=minimal;x=1",
    ],
)  # fmt: skip
def test_other_directives_are_kept_as_invalid(directive: str) -> None:
    assert parse_preferences((directive,)) == Preferences(invalid=(directive,))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], Preferences()),
        (["return=minimal, count=exact"], Preferences(representation="minimal", count="exact")),
        (["return=minimal", "count=exact"], Preferences(representation="minimal", count="exact")),
        (["return=minimal,return=representation"], Preferences(representation="minimal")),
        (["count=exact", "count=planned"], Preferences(count="exact")),
        (["tx=maybe, tx=commit"], Preferences(tx="commit", invalid=("tx=maybe",))),
        (
            ["foo, handling=strict,  bar=1 "],
            Preferences(handling="strict", invalid=("foo", "bar=1")),
        ),
        ([",, ,return=minimal,,"], Preferences(representation="minimal")),
        (["max-affected=1,max-affected=2"], Preferences(max_affected=1)),
        (["timezone=UTC, timezone=CET"], Preferences(timezone="UTC")),
    ],
)
def test_the_first_of_each_kind_counts(headers: list[str], expected: Preferences) -> None:
    assert parse_preferences(tuple(headers)) == expected


@FEW
@given(st.lists(texts, max_size=3))
def test_any_headers_are_preferences(headers: list[str]) -> None:
    assert isinstance(parse_preferences(tuple(headers)), Preferences)
