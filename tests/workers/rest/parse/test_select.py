"""The `select` parameter: every form of the reference page, sections 6, 8, 9 and 10."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.rest.parse.anything import FEW, outcome, texts
from workers.rest.errors.parse import BadQuery
from workers.rest.model import STAR, FieldPath, JsonStep, SelectColumn, SelectEmbed, SelectItem
from workers.rest.parse.select import MAX_DEPTH, MOST_ITEMS, parse_select

ID = SelectColumn(FieldPath("id"))
NAME = SelectColumn(FieldPath("name"))


def json_field(name: str, *steps: tuple[str | int, bool]) -> FieldPath:
    return FieldPath(name, tuple(JsonStep(key, as_text) for key, as_text in steps))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", [STAR]),
        ("  ", [STAR]),
        ("*", [STAR]),
        ("id", [ID]),
        ("id,name", [ID, NAME]),
        (" id , name ", [ID, NAME]),
        ("*,id", [STAR, ID]),
        ("key:id", [SelectColumn(FieldPath("id"), alias="key")]),
        ('"the key":id', [SelectColumn(FieldPath("id"), alias="the key")]),
        ("$a_1:id", [SelectColumn(FieldPath("id"), alias="$a_1")]),
        ("first name:id", [SelectColumn(FieldPath("id"), alias="first name")]),
        ("id::text", [SelectColumn(FieldPath("id"), cast="text")]),
        ("id::double precision", [SelectColumn(FieldPath("id"), cast="double precision")]),
        ("key:id::text", [SelectColumn(FieldPath("id"), alias="key", cast="text")]),
        ('"id"', [ID]),
        ('"a,b.c:d"', [SelectColumn(FieldPath("a,b.c:d"))]),
        ('"x:y":"z::w"', [SelectColumn(FieldPath("z::w"), alias="x:y")]),
        ("data->a", [SelectColumn(json_field("data", ("a", False)))]),
        ("data->a->>b", [SelectColumn(json_field("data", ("a", False), ("b", True)))]),
        ("data->0->>-1", [SelectColumn(json_field("data", (0, False), (-1, True)))]),
        ("n:data->>a::int", [SelectColumn(json_field("data", ("a", True)), alias="n", cast="int")]),
        ("count", [SelectColumn(FieldPath("count"))]),
        ("counts", [SelectColumn(FieldPath("counts"))]),
    ],
)
def test_columns(text: str, items: list[SelectItem]) -> None:
    assert parse_select(text) == tuple(items)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("count()", SelectColumn(FieldPath("*"), aggregate="count")),
        ("n:count()", SelectColumn(FieldPath("*"), "n", aggregate="count")),
        ("n:count()::text", SelectColumn(FieldPath("*"), "n", aggregate="count", aggregate_cast="text")),
        ("km.sum()", SelectColumn(FieldPath("km"), aggregate="sum")),
        ("km.avg()", SelectColumn(FieldPath("km"), aggregate="avg")),
        ("km.count()", SelectColumn(FieldPath("km"), aggregate="count")),
        ("km.max()", SelectColumn(FieldPath("km"), aggregate="max")),
        ("km.min()", SelectColumn(FieldPath("km"), aggregate="min")),
        ("total:km.sum()", SelectColumn(FieldPath("km"), "total", aggregate="sum")),
        ("km::int.sum()", SelectColumn(FieldPath("km"), cast="int", aggregate="sum")),
        ("km.sum()::text", SelectColumn(FieldPath("km"), aggregate="sum", aggregate_cast="text")),
        ("a:km::int.sum()::text", SelectColumn(FieldPath("km"), "a", "int", "sum", "text")),
        ("data->>n::int.sum()", SelectColumn(json_field("data", ("n", True)), cast="int", aggregate="sum")),
        ("data->n.max()", SelectColumn(json_field("data", ("n", False)), aggregate="max")),
    ],
)
def test_aggregates(text: str, item: SelectItem) -> None:
    assert parse_select(text) == (item,)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("tasks(*)", SelectEmbed("tasks", (STAR,))),
        ("tasks()", SelectEmbed("tasks", ())),
        ("tasks( )", SelectEmbed("tasks", ())),
        ("tasks(id,name)", SelectEmbed("tasks", (ID, NAME))),
        ("tasks( id , name )", SelectEmbed("tasks", (ID, NAME))),
        ("t:tasks(id)", SelectEmbed("tasks", (ID,), alias="t")),
        ("tasks!fk(id)", SelectEmbed("tasks", (ID,), hint="fk")),
        ("tasks!inner(id)", SelectEmbed("tasks", (ID,), join="inner")),
        ("tasks!left(id)", SelectEmbed("tasks", (ID,), join="left")),
        ("tasks!fk!inner(id)", SelectEmbed("tasks", (ID,), hint="fk", join="inner")),
        ("tasks!inner!fk(id)", SelectEmbed("tasks", (ID,), hint="fk", join="inner")),
        ("tasks!inner!left(id)", SelectEmbed("tasks", (ID,), join="inner")),
        ("tasks!fk!other(id)", SelectEmbed("tasks", (ID,), hint="fk")),
        ('"my tasks"!"the fk"(id)', SelectEmbed("my tasks", (ID,), hint="the fk")),
        ("t:tasks!fk!inner(id)", SelectEmbed("tasks", (ID,), "t", "fk", "inner")),
        ("a(b(c(id)))", SelectEmbed("a", (SelectEmbed("b", (SelectEmbed("c", (ID,)),)),))),
        ("a(id,b(*),name)", SelectEmbed("a", (ID, SelectEmbed("b", (STAR,)), NAME))),
        ("...client(name)", SelectEmbed("client", (NAME,), is_spread=True)),
        ("...client!fk!inner(name)", SelectEmbed("client", (NAME,), hint="fk", join="inner", is_spread=True)),
        ("...a(...b(id))", SelectEmbed("a", (SelectEmbed("b", (ID,), is_spread=True),), is_spread=True)),
    ],
)  # fmt: skip
def test_embeds_and_spreads(text: str, item: SelectItem) -> None:
    assert parse_select(text) == (item,)


@pytest.mark.parametrize(
    ("text", "column", "details"),
    [
        ("data->>--34", 9, 'unexpected "-" expecting digit'),
        (",", 1, 'unexpected "," expecting field name (* or [a..z0..9_$]) or "..."'),
        ("id,", 4, 'unexpected end of input expecting field name (* or [a..z0..9_$]) or "..."'),
        ("id,,name", 4, 'unexpected "," expecting field name (* or [a..z0..9_$]) or "..."'),
        ("x:*", 3, 'unexpected "*" expecting field name (* or [a..z0..9_$])'),
        ("*x", 2, 'unexpected "x" expecting "," or end of input'),
        ("a::", 4, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        ("a:: ", 5, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        ("a::int[]", 7, 'unexpected "[" expecting "," or end of input'),
        ("a::public.color", 11, 'unexpected "c" expecting "sum()", "avg()", "count()", "max()" or "min()"'),
        ("a.median()", 3, 'unexpected "m" expecting "sum()", "avg()", "count()", "max()" or "min()"'),
        ("a.sum", 3, 'unexpected "s" expecting "sum()", "avg()", "count()", "max()" or "min()"'),
        ("tasks(id", 9, 'unexpected end of input expecting "," or ")"'),
        ("tasks!(id)", 7, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
        ("tasks!fk", 9, 'unexpected end of input expecting "("'),
        ("tasks!a!b!c(id)", 10, 'unexpected "!" expecting "("'),
        ("...x:a(id)", 5, 'unexpected ":" expecting "("'),
        ("...a", 5, 'unexpected end of input expecting "("'),
        ('"open', 6, "unexpected end of input expecting closing quote"),
    ],
)
def test_what_does_not_parse_is_refused_with_its_place(text: str, column: int, details: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_select(text)

    assert caught.value.code == "PGRST100"
    assert caught.value.message == f'"failed to parse select parameter ({text})" (line 1, column {column})'
    assert caught.value.details == details


@pytest.mark.parametrize("text", ["(" * 10_000, "a(" * 10_000, "...a(" * 10_000, "a(b,c(" * 5_000])
def test_endless_nesting_is_refused(text: str) -> None:
    with pytest.raises(BadQuery):
        parse_select(text)


def test_resources_may_stand_in_one_another_up_to_the_limit() -> None:
    deepest = "a(" * MAX_DEPTH + "id" + ")" * MAX_DEPTH

    item = parse_select(deepest)[0]

    for _ in range(MAX_DEPTH):
        assert isinstance(item, SelectEmbed)
        item = item.select[0]
    assert item == ID
    with pytest.raises(BadQuery, match="failed to parse select parameter"):
        parse_select(f"a({deepest})")


_names = st.text("abz_09 üж", min_size=1, max_size=6).map(str.strip).filter(bool)


def _shown(item: SelectItem) -> str:
    """Write an item as the grammar spells it."""
    alias = f'"{item.alias}":' if item.alias else ""
    if isinstance(item, SelectEmbed):
        hints = (f"!{item.join}" if item.join else "") + (f'!"{item.hint}"' if item.hint else "")
        return (
            f'{"..." if item.is_spread else alias}"{item.name}"{hints}({",".join(map(_shown, item.select))})'
        )
    if item.is_star:
        return "*"
    is_count = item.field.name == "*" and item.aggregate == "count"
    value = "count()" if is_count else f'"{item.field.name}"'
    value += f"::{item.cast}" if item.cast else ""
    value += f".{item.aggregate}()" if item.aggregate and not is_count else ""
    return alias + value + (f"::{item.aggregate_cast}" if item.aggregate_cast else "")


_columns = st.builds(
    SelectColumn, st.builds(FieldPath, _names), st.none() | _names, st.none() | st.just("int")
)
_aggregates = st.builds(
    SelectColumn,
    st.builds(FieldPath, _names),
    st.none() | _names,
    st.none() | st.just("int"),
    st.sampled_from(["sum", "avg", "count", "max", "min"]),
    st.none() | st.just("text"),
)
_items = st.recursive(
    st.just(STAR) | _columns | _aggregates,
    lambda inner: st.builds(
        SelectEmbed,
        _names,
        st.lists(inner, max_size=3).map(tuple),
        st.none(),
        st.none() | _names.filter(lambda name: name not in ("inner", "left")),
        st.sampled_from([None, "inner", "left"]),
        st.booleans(),
    ),
    max_leaves=8,
)


@FEW
@given(st.lists(_items, min_size=1, max_size=4))
def test_what_is_written_is_read_again(items: list[SelectItem]) -> None:
    assert parse_select(",".join(map(_shown, items))) == tuple(items)


@FEW
@given(texts)
def test_any_text_is_a_selection_or_refused(text: str) -> None:
    assert isinstance(outcome(parse_select, text), tuple | BadQuery)


def test_more_columns_than_a_table_can_have_are_refused() -> None:
    assert len(parse_select(",".join(["a"] * MOST_ITEMS))) == MOST_ITEMS
    with pytest.raises(BadQuery, match="failed to parse select parameter"):
        parse_select(",".join(["a"] * (MOST_ITEMS + 1)))


def test_longer_names_than_postgres_has_are_not_kept() -> None:
    name = "x" * 200

    assert parse_select(name) == parse_select(name)
    assert parse_select(name)[0] is not parse_select(name)[0]
