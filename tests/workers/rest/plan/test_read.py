"""Rows to read, resolved against the catalog: reference page, sections 7 to 11."""

import sys
from types import FrameType

import pytest

from tests.workers.rest.plan.asking import OPTIONS, plan
from tests.workers.rest.plan.catalogs import CATALOG
from workers.rest.errors.base import RestError
from workers.rest.errors.plan import AggregatesDisabled, NotImplementedHere, RelatedOrderNotToOne
from workers.rest.model import ALL_ROWS, Embed, EmbedNull, PlannedColumn, PlannedLogic, RelationRead, RowRange
from workers.rest.plan.read import Building
from workers.rest.plan.tree import Tree


def read(target: str, **options: str | bool | int | None) -> RelationRead:
    return plan("GET", target, **options).read


def names(read: RelationRead) -> list[str]:
    return [item.key if isinstance(item, Embed) else item.alias or item.field.name for item in read.items]


def test_a_read_is_of_its_relation_under_its_own_name() -> None:
    found = read("/clients")

    assert (found.source, found.alias, found.row_type) == (
        ("public", "clients"),
        "clients",
        ("public", "clients"),
    )
    assert (names(found), found.where, found.order, found.range) == (["*"], (), (), ALL_ROWS)
    assert not found.groups


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/clients?select=id", ["id"]),
        ("/clients?select=name,id", ["name", "id"]),
        ("/clients?select=*,projects(*),id", ["*", "projects", "id"]),
        ("/clients?select=key:id,p:projects(*)", ["key", "p"]),
        ("/clients?select=projects(*)", ["projects"]),
        ("/clients?select=unknown", ["unknown"]),  # reads are checked by the database
        ("/clients?select=*,count()", ["id", "name", "*"]),
        ("/items?select=*", ["id", "name", "size", "tint"]),  # one of them has a representation
    ],
)
def test_what_is_selected_stands_in_its_order(target: str, expected: list[str]) -> None:
    assert names(read(target)) == expected


def test_every_name_in_a_statement_is_its_own() -> None:
    found = read("/clients?select=*,projects(*,clients(*,projects(*))),again:projects(*)")
    seen = []

    def walk(node: RelationRead) -> None:
        seen.append(node.alias)
        for embed in node.embeds:
            seen.append(embed.alias)
            walk(embed.read)

    walk(found)

    assert len(seen) == len(set(seen)) == 9


def test_long_names_stay_within_what_postgres_keeps() -> None:
    found = read(f"/clients?select={'x' * 70}:projects(*),{'x' * 70}y:projects(*)").embeds

    assert [each.key[-2:] for each in found] == ["xx", "xy"]
    assert found[0].alias != found[1].alias
    assert all(len(each.alias.encode()) <= 58 for each in found)


@pytest.mark.parametrize(
    ("select", "is_inner", "drops", "hidden"),
    [
        ("projects(*)", False, False, False),
        ("projects!left(*)", False, False, False),
        ("projects!inner(*)", True, True, False),
        ("projects()", False, False, True),
        ("projects!inner()", True, True, True),
        ("projects(tasks())", False, False, True),
        ("projects(id,tasks())", False, False, False),
    ],
)
def test_joins(select: str, is_inner: bool, drops: bool, hidden: bool) -> None:
    embed = read(f"/clients?select=*,{select}").embeds[0]

    assert (embed.is_inner, embed.drops_parents, embed.is_hidden) == (is_inner, drops, hidden)


@pytest.mark.parametrize(
    ("value", "has_match"),
    [("is.null", False), ("not.is.null", True), ("is.not_null", True), ("not.is.not_null", False)],
)
def test_a_null_filter_on_an_embed_asks_for_its_rows(value: str, has_match: bool) -> None:
    found = read(f"/clients?select=*,projects()&projects={value}")
    embed = found.embeds[0]

    assert found.where == (EmbedNull(embed.alias, has_match),)
    assert embed.drops_parents


def test_null_filters_on_embeds_stand_in_logic_too() -> None:
    found = read(
        "/projects?select=*,client:clients(),tasks()&or=(client.not.is.null,tasks.is.null,name.is.null)"
    )

    assert isinstance(found.where[0], PlannedLogic)
    first, second, third = found.where[0].branches
    assert first == EmbedNull(found.embeds[0].alias, has_match=True)
    assert second == EmbedNull(found.embeds[1].alias, has_match=False)
    assert not isinstance(third, EmbedNull)


@pytest.mark.parametrize(
    "parameter", ["clients=eq.null", "clients=is.true", "clients->a=is.null", "other=is.null"]
)
def test_other_filters_mean_a_column(parameter: str) -> None:
    found = read(f"/projects?select=*,clients()&{parameter}")

    assert not isinstance(found.where[0], EmbedNull)
    assert not found.embeds[0].drops_parents


@pytest.mark.parametrize(("legacy", "is_embed"), [(True, True), (False, False)])
def test_an_embed_with_an_alias_goes_by_its_name_only_while_that_is_allowed(
    legacy: bool, is_embed: bool
) -> None:
    found = plan("GET", "/projects?select=id,c:clients(id)&clients=is.null", legacy_target_names=legacy).read

    assert isinstance(found.where[0], EmbedNull) is is_embed


@pytest.mark.parametrize(
    ("term", "embed_key"),
    [("clients(name)", "clients"), ("lead(name).desc", "lead"), ("clients(id).desc.nullslast", "clients")],
)
def test_a_parent_is_ordered_by_a_to_one_embed(term: str, embed_key: str) -> None:
    found = read(f"/projects?select=*,clients(name),lead(*)&order={term},id")
    embed = next(each for each in found.embeds if each.key == embed_key)

    assert found.order[0].embed == embed.alias
    assert embed.ordered_by == (found.order[0],)
    assert found.order[1].embed is None


def test_a_parent_is_not_ordered_by_many_rows() -> None:
    with pytest.raises(RelatedOrderNotToOne) as caught:
        read("/projects?select=*,tasks(*)&order=tasks(name)")

    assert caught.value.message == "A related order on 'tasks' is not possible"
    assert (
        caught.value.details == "'projects' and 'tasks' do not form a many-to-one or one-to-one relationship"
    )


@pytest.mark.parametrize(
    ("target", "groups"),
    [
        ("/projects?select=count()", True),
        ("/projects?select=name,id.sum()", True),
        ("/projects?select=name", False),
        ("/projects?select=name,...clients(id.sum())", True),
        ("/projects?select=name,clients(id.sum())", False),
        ("/projects?select=name,...clients(name),id.max()", True),
        ("/tasks?select=...projects(...clients(id.sum()))", True),
    ],
)
def test_an_aggregate_groups_the_rest(target: str, groups: bool) -> None:
    assert read(target).groups is groups


@pytest.mark.parametrize(
    "target",
    [
        "/projects?select=count()", "/projects?select=id.sum()", "/clients?select=name,projects(count())",
        "/projects?select=...clients(id.max())",
    ],
)  # fmt: skip
def test_aggregates_may_be_off(target: str) -> None:
    with pytest.raises(AggregatesDisabled) as caught:
        read(target, aggregates_enabled=False)

    assert caught.value.body()["message"] == "Use of aggregate functions is not allowed"


def test_columns_of_a_to_one_spread_are_lifted() -> None:
    embed = read("/projects?select=name,...clients(id,client:name)").embeds[0]

    assert embed.is_spread
    assert [(each.carried, each.name) for each in embed.spread] == [("id", "id"), ("client", "client")]


def test_a_star_in_a_spread_is_written_out() -> None:
    embed = read("/clients?select=name,...projects(*)").embeds[0]

    assert [each.name for each in embed.spread][:3] == ["id", "name", "client_id"]


def test_an_aggregate_of_a_to_one_spread_happens_in_the_parent() -> None:
    embed = read("/projects?select=...clients(total:id.sum()::text)").embeds[0]
    column = embed.read.items[0]

    assert isinstance(column, PlannedColumn)
    assert (column.aggregate, column.alias) == (None, embed.spread[0].carried)
    assert (embed.spread[0].name, embed.spread[0].aggregate, embed.spread[0].aggregate_cast) == (
        "total",
        "sum",
        "text",
    )


def test_spreads_compose_and_pass_embeds_on() -> None:
    embed = read("/tasks?select=...projects(name,...clients(client:name),tasks(id))").embeds[0]

    assert [each.name for each in embed.spread] == ["name", "client", "tasks"]


@pytest.mark.parametrize(
    "target",
    [
        "/clients?select=...projects(id.sum())", "/users?select=...tasks(count())",
        "/clients?select=...projects(...tasks(id.max()))", "/clients?select=...projects(...clients(id.max()))",
    ],
)  # fmt: skip
def test_aggregates_in_to_many_spreads_are_refused(target: str) -> None:
    with pytest.raises(NotImplementedHere) as caught:
        read(target)

    assert caught.value.message == "Feature not implemented"
    assert caught.value.details == "Aggregates are not implemented for one-to-many or many-to-many spreads."


@pytest.mark.parametrize(
    ("target", "root", "many", "one"),
    [
        ("/clients?select=*,projects(*,lead(*))", RowRange(0, 10), RowRange(0, 10), ALL_ROWS),
        (
            "/clients?select=*,projects(*,lead(*))&limit=5&projects.limit=50",
            RowRange(0, 5),
            RowRange(0, 10),
            ALL_ROWS,
        ),
        (
            "/clients?select=*,projects(*,lead(*))&limit=50&projects.limit=5",
            RowRange(0, 10),
            RowRange(0, 5),
            ALL_ROWS,
        ),
        ("/clients?select=*,projects(*,lead(*))&offset=7", RowRange(7, 10), RowRange(0, 10), ALL_ROWS),
        ("/clients?select=*,projects(*,lead(*))&limit=0", RowRange(0, 0), RowRange(0, 10), ALL_ROWS),
    ],
)
def test_max_rows_bounds_every_read(target: str, root: RowRange, many: RowRange, one: RowRange) -> None:
    found = read(target, max_rows=10)

    assert (found.range, found.embeds[0].read.range) == (root, many)
    assert found.embeds[0].read.embeds[0].read.range == one


def test_max_rows_does_not_bound_writes() -> None:
    found = plan(
        "PATCH", "/clients?select=*,projects(*)", '{"name":"x"}', prefer="return=representation", max_rows=1
    )

    assert (found.read.range, found.read.embeds[0].read.range) == (ALL_ROWS, ALL_ROWS)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("/nothing?select=x(*)&y.id=eq.1", "PGRST205"),
        ("/projects?select=*,nope(*)&other.id=eq.1", "PGRST108"),
        ("/orders?select=*,addresses(*),nope(*)&other.id=eq.1", "PGRST108"),
        ("/orders?select=*,nope(*),addresses(*)", "PGRST200"),
        ("/projects?select=count(),nope(*)", "PGRST200"),
        ("/orders?select=count(),addresses(*)", "PGRST201"),
        ("/projects?select=count(),tasks(*)&order=tasks(id)", "PGRST118"),
        ("/clients?select=count(),...projects(id.sum())", "PGRST123"),
        ("/clients?select=projects(tasks(*)),nope(*)&projects.order=tasks(id)", "PGRST200"),
        ("/clients?select=projects(count()),nope(*)", "PGRST200"),
    ],
)
def test_refusals_win_in_their_order(target: str, code: str) -> None:
    with pytest.raises(RestError) as caught:
        read(target, accept="no/type", prefer="handling=strict,foo", aggregates_enabled=False)

    assert caught.value.code == code


def test_embeds_of_one_relation_are_numbered_without_a_search() -> None:
    building, count, lines = Building(CATALOG, OPTIONS, "public", Tree(None, True), None), 400, 0  # type: ignore[arg-type]  # no resource is looked at

    def trace(_: FrameType, event: str, __: object) -> object:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]  # a function that returns itself has no type
    try:
        names = [building.alias("clients") for _ in range(count)]
    finally:
        sys.settrace(before)

    assert names == [f"clients_{number}" for number in range(1, count + 1)]
    assert lines < 20 * count
