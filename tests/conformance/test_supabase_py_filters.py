"""Every filter of the Python client, each with the rows that it must leave."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.callers import Caller

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

Filter = Callable[[Any], Any]
DELTA, SOURCE, FALLS, LOCK = 1, 2, 3, 4

PROJECTS: dict[str, tuple[Filter, list[int]]] = {
    "eq": (lambda q: q.eq("name", "Delta"), [DELTA]),
    "eq, a boolean": (lambda q: q.eq("is_open", True), [DELTA, LOCK]),
    "eq, a JSON member": (lambda q: q.eq("meta->depth->m", 12), [DELTA]),
    "eq, a JSON document": (lambda q: q.eq("meta->depth", {"m": 1}), [SOURCE]),
    "neq": (lambda q: q.neq("name", "Delta"), [SOURCE, FALLS, LOCK]),
    "gt": (lambda q: q.gt("budget", 20), [DELTA]),
    "gte": (lambda q: q.gte("budget", 20), [DELTA, SOURCE]),
    "lt": (lambda q: q.lt("budget", 20), [LOCK]),
    "lte": (lambda q: q.lte("budget", 20), [SOURCE, LOCK]),
    "is_ null": (lambda q: q.is_("budget", None), [FALLS]),
    "is_ true": (lambda q: q.is_("is_open", True), [DELTA, LOCK]),
    "is_ false": (lambda q: q.is_("is_open", False), [SOURCE]),
    "is_ unknown": (lambda q: q.is_("is_open", "unknown"), [FALLS]),
    "like": (lambda q: q.like("name", "%l%"), [DELTA, FALLS]),
    "like_all_of": (lambda q: q.like_all_of("name", "%l%,F%"), [FALLS]),
    "like_any_of": (lambda q: q.like_any_of("name", "D%,S%"), [DELTA, SOURCE]),
    "ilike": (lambda q: q.ilike("name", "l%"), [LOCK]),
    "ilike_all_of": (lambda q: q.ilike_all_of("name", "%L%,f%"), [FALLS]),
    "ilike_any_of": (lambda q: q.ilike_any_of("name", "d%,l%"), [DELTA, LOCK]),
    "in_": (lambda q: q.in_("name", ["Falls", "Lock", 'a,"b"\\']), [FALLS, LOCK]),
    "in_, numbers": (lambda q: q.in_("id", [1, 4]), [DELTA, LOCK]),
    "in_, nothing": (lambda q: q.in_("id", []), []),
    "cs": (lambda q: q.cs("tags", ["water", "mud"]), [DELTA]),
    "cd": (lambda q: q.cd("tags", ["water", "a b,c"]), [SOURCE, FALLS, LOCK]),
    "ov": (lambda q: q.ov("tags", ["mud", "sand"]), [DELTA]),
    "contains, an array": (lambda q: q.contains("tags", ["water"]), [DELTA, FALLS]),
    "contains, a document": (lambda q: q.contains("meta", {"depth": {"m": 1}}), [SOURCE]),
    "contained_by, an array": (lambda q: q.contained_by("tags", ["water"]), [SOURCE, FALLS, LOCK]),
    "contained_by, a document": (
        lambda q: q.contained_by("meta", {"depth": {"m": 12}, "more": 1}),
        [DELTA, FALLS, LOCK],
    ),
    "overlaps": (lambda q: q.overlaps("tags", ["mud", "sand"]), [DELTA]),
    "match": (lambda q: q.match({"client_id": 1, "name": "Source"}), [SOURCE]),
    "filter": (lambda q: q.filter("name", "match", "^[DS]"), [DELTA, SOURCE]),
    "filter, without case": (lambda q: q.filter("name", "imatch", "^(delta|lock)$"), [DELTA, LOCK]),
    "filter, isdistinct": (lambda q: q.filter("client_id", "isdistinct", "1"), [FALLS, LOCK]),
    "not_ eq": (lambda q: q.not_.eq("client_id", 1), [FALLS]),
    "not_ is": (lambda q: q.not_.is_("client_id", None), [DELTA, SOURCE, FALLS]),
    "not_ in": (lambda q: q.not_.in_("name", ["Falls", "Lock"]), [DELTA, SOURCE]),
    "or_": (lambda q: q.or_("name.eq.Lock,and(client_id.eq.1,budget.lt.50)"), [SOURCE, LOCK]),
    "not_ or": (lambda q: q.not_.or_("id.eq.1,id.eq.2"), [FALLS, LOCK]),
}

SHIFTS: dict[str, tuple[Filter, list[int]]] = {
    "sr": (lambda q: q.sr("hours", (1, 5)), [2, 3]),
    "range_gt": (lambda q: q.range_gt("hours", (1, 5)), [2, 3]),
    "nxl": (lambda q: q.nxl("hours", (4, 9)), [2, 3]),
    "range_gte": (lambda q: q.range_gte("hours", (4, 9)), [2, 3]),
    "sl": (lambda q: q.sl("hours", (5, 9)), [1]),
    "range_lt": (lambda q: q.range_lt("hours", (5, 9)), [1]),
    "nxr": (lambda q: q.nxr("hours", (4, 9)), [1, 2]),
    "range_lte": (lambda q: q.range_lte("hours", (4, 9)), [1, 2]),
    "adj": (lambda q: q.adj("hours", (8, 12)), [2, 3]),
    "range_adjacent": (lambda q: q.range_adjacent("hours", (8, 12)), [2, 3]),
    "ov, a range": (lambda q: q.ov("hours", "[4,6)"), [1, 2]),
    "contains, a range": (lambda q: q.contains("hours", "[6,8)"), [2]),
    "contained_by, a range": (lambda q: q.contained_by("hours", "[0,10)"), [1, 2]),
}

ENGLISH = {"config": "english"}
ARTICLES: dict[str, tuple[Filter, list[int]]] = {
    "fts": (lambda q: q.fts("words", "fat & cat"), [1, 2]),
    "plfts": (lambda q: q.plfts("words", "fat cat"), [1, 2]),
    "phfts": (lambda q: q.phfts("words", "fat cat"), [1]),
    "wfts": (lambda q: q.wfts("words", '"fat cat" or rat'), [1, 3]),
    "text_search": (lambda q: q.text_search("words", "fat & !sat"), [2]),
    "text_search, with a configuration": (lambda q: q.text_search("words", "cats", options=ENGLISH), [1, 2]),
    "text_search, plain": (
        lambda q: q.text_search("body", "the fat cats", {**ENGLISH, "type": "plain"}),
        [1, 2],
    ),
    "text_search, phrase": (lambda q: q.text_search("body", "fat cats", {**ENGLISH, "type": "phrase"}), [1]),
    "text_search, web search": (
        lambda q: q.text_search("body", '"fat cat" or rats', {**ENGLISH, "type": "web_search"}),
        [1, 3],
    ),
}

CASES = [
    pytest.param(table, *case, id=name)
    for table, cases in (("projects", PROJECTS), ("shifts", SHIFTS), ("articles", ARTICLES))
    for name, case in cases.items()
]


@pytest.mark.parametrize(("table", "filtered", "expected"), CASES)
async def test_filter_leaves_its_rows(db: Caller, table: str, filtered: Filter, expected: list[int]) -> None:
    found = await db.rows(filtered(db.table(table).select("id")).order("id"))

    assert [row["id"] for row in found] == expected


async def test_or_on_related_rows(db: Caller) -> None:
    def query() -> Any:
        return db.table("projects").select("name", "tasks(title)").lte("id", 3).order("id")

    some = await db.rows(query().or_("title.like.s*,title.like.m*", reference_table="tasks"))
    others = await db.rows(query().not_.or_("title.like.s*,title.like.m*", reference_table="tasks"))

    assert [len(row["tasks"]) for row in some] == [1, 0, 1]
    assert [len(row["tasks"]) for row in others] == [1, 0, 0]


@pytest.mark.usefixtures("parcels")
async def test_values_of_all_signs_are_compared_as_they_are(db: Caller) -> None:
    names = ["a,b", "a(b)", '"quoted"', "back\\slash", "per%cent", "star*", "a&b=c?d#e/f", "plus+ and blank"]
    names += ["null", "{a}", "eq.1", "línea\nnueva", "Ж漢字🙂", " edges ", "a.b:c"]
    await db.run(db.table("parcels").insert([{"name": name} for name in names]))

    one_by_one = [await db.rows(db.table("parcels").select("name").eq("name", name)) for name in names]
    together = await db.rows(db.table("parcels").select("name").in_("name", names))

    assert one_by_one == [[{"name": name}] for name in names]
    assert sorted(row["name"] for row in together) == sorted(names)
