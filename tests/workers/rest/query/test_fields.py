"""Fields, conditions and orders as SQL: reference page, sections 7, 8, 11 and 23."""

import pytest

from tests.workers.rest.query.fragments import after_from, rows
from workers.sql.operators import OPERATORS

NAME, ID, META = '"public"."projects"."name"', '"public"."projects"."id"', '"public"."projects"."meta"'


def where(parameter: str) -> tuple[str, list[str | None]]:
    text, params = after_from(f"/projects?{parameter}")
    return text.partition(" where ")[2], params


COMPARED = {
    "eq": "=", "neq": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "like": "like", "ilike": "ilike", "match": "~",
    "imatch": "~*", "isdistinct": "is distinct from", "cs": "@>", "cd": "<@", "ov": "&&", "sl": "<<", "sr": ">>", "nxr": "&<",
    "nxl": "&>", "adj": "-|-",
}  # fmt: skip
SEARCHED = {
    "fts": "to_tsquery", "plfts": "plainto_tsquery", "phfts": "phraseto_tsquery", "wfts": "websearch_to_tsquery",
}  # fmt: skip


def test_every_operator_is_looked_at_here() -> None:
    assert set(OPERATORS) == {*COMPARED, *SEARCHED, "in", "is"}


@pytest.mark.parametrize(("operator", "sql"), COMPARED.items())
def test_comparisons(operator: str, sql: str) -> None:
    assert where(f"name={operator}.x") == (f"{NAME} {sql} $1", ["x"])
    assert where(f"name=not.{operator}.x") == (f"not ({NAME} {sql} $1)", ["x"])
    assert where(f"name={operator}(col).id") == (f"{NAME} {sql} {ID}", [])


@pytest.mark.parametrize("operator", [name for name, each in OPERATORS.items() if each.quantifiable])
@pytest.mark.parametrize("word", ["any", "all"])
def test_quantifiers(operator: str, word: str) -> None:
    assert where(f"name={operator}({word}).{{a,b}}") == (f"{NAME} {COMPARED[operator]} {word}($1)", ["{a,b}"])


@pytest.mark.parametrize(("operator", "function"), SEARCHED.items())
def test_searches(operator: str, function: str) -> None:
    words, search = '"public"."projects"."words"', f"pg_catalog.{function}("

    assert where(f"words={operator}.x") == (f"{words} @@ {search}$1)", ["x"])
    assert where(f"words=not.{operator}(german).x") == (
        f"not ({words} @@ {search}$1::regconfig, $2))",
        ["german", "x"],
    )
    assert where(f"name={operator}.x") == (f"pg_catalog.to_tsvector({NAME}) @@ {search}$1)", ["x"])
    assert where(f"name={operator}(german).x") == (
        f"pg_catalog.to_tsvector($1::regconfig, {NAME}) @@ {search}$2::regconfig, $3)",
        ["german", "german", "x"],
    )


@pytest.mark.parametrize(
    ("parameter", "text", "params"),
    [
        ("name=in.(a,b)", f"{NAME} = any($1)", ['{"a","b"}']),
        ("name=in.()", f"{NAME} = any($1)", ["{}"]),
        ("or=(name.in.(a))", f"({NAME} = any($1))", ['{"a"}']),
        ("name=is.null", f"{NAME} is null", []),
        ("name=is.not_null", f"{NAME} is not null", []),
        ("name=not.is.null", f"not ({NAME} is null)", []),
        ("name=is.true", f"{NAME} is true", []),
        ("name=is.false", f"{NAME} is false", []),
        ("name=is.unknown", f"{NAME} is unknown", []),
        ("name=like.a*", f"{NAME} like $1", ["a%"]),
        ("shout=eq.X", '"public"."shout"', None),
        ("meta->a=eq.1", f"({META}->($1)) = $2", ["a", "1"]),
        ("meta->0->>-1=eq.1", f"({META}->($1::int)->>($2::int)) = $3", ["0", "-1", "1"]),
        ("tags->0=eq.1", '(pg_catalog.to_jsonb("public"."projects"."tags")->($1::int)) = $2', ["0", "1"]),
        ("id::text=like.1*", f"cast({ID} as text) like $1", ["1%"]),
        ("meta->>a::int=gt.1", f"cast(({META}->>($1)) as int) > $2", ["a", "1"]),
        ("name=eq(col).meta->>a", f"{NAME} = ({META}->>($1))", ["a"]),
        ("id=eq.1&name=eq.x", f"{ID} = $1 and {NAME} = $2", ["1", "x"]),
        ("or=(id.eq.1,name.eq.x)", f"({ID} = $1 or {NAME} = $2)", ["1", "x"]),
        ("not.and=(id.eq.1,name.eq.x)", f"not ({ID} = $1 and {NAME} = $2)", ["1", "x"]),
        ("or=(id.eq.1,not.and(id.eq.2,name.is.null))", f"({ID} = $1 or not ({ID} = $2 and {NAME} is null))", ["1", "2"]),
        ("unknown=eq.1", '"public"."projects"."unknown" = $1', ["1"]),
    ],
)  # fmt: skip
def test_conditions(parameter: str, text: str, params: list[str | None] | None) -> None:
    found, bound = where(parameter)

    assert (found, bound) == (text, params) if params is not None else found.startswith(text)


def test_a_representation_converts_the_values_of_filters() -> None:
    assert after_from("/items?tint=eq.red")[0].endswith('"tint" = "public"."color_of"($1::text)')
    assert after_from("/items?tint=in.(red)")[0].endswith(
        '"tint" = any(array(select "public"."color_of"(hw_item) from unnest($1::text[]) as hw_item))'
    )
    for untouched in ("like.x", "is.null", "isdistinct.x", "fts.x"):
        assert "color_of" not in after_from(f"/items?tint={untouched}")[0]


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        ("and=(clients(name.eq.x))", 'exists (select from "public"."clients" as "hw_related_0" where "hw_related_0"."id" = "public"."projects"."client_id" and "hw_related_0"."name" = $1)'),
        ("and=(not.tasks(id.gt.1))", 'not exists (select from "public"."tasks" as "hw_related_0" where "hw_related_0"."project_id" = "public"."projects"."id" and "hw_related_0"."id" > $1)'),
        ("and=(lead(name.eq.x))", 'exists (select from "public"."lead"('),
        ("and=(tasks(users(id.eq.1)))", '"hw_related_1_j"."task_id" = "hw_related_0"."id" and "hw_related_1_j"."user_id" = "hw_related_1"."id"'),
    ],
)  # fmt: skip
def test_related_rows_are_looked_for(parameter: str, text: str) -> None:
    assert text in where(parameter)[0]


@pytest.mark.parametrize(
    ("select", "text", "params"),
    [
        ("*", '"public"."projects".*', []),
        ("name", NAME, []),
        ("key:name", f'{NAME} as "key"', []),
        ("name::text", f'cast({NAME} as text) as "name"', []),
        ("meta->a->>b", f'({META}->($1)->>($2)) as "b"', ["a", "b"]),
        ("id.sum()", f'pg_catalog.sum({ID}) as "sum"', []),
        ("id::numeric.avg()::text", f'cast(pg_catalog.avg(cast({ID} as numeric)) as text) as "avg"', []),
        ("count()", 'pg_catalog.count(*) as "count"', []),
        ("n:count()::text", 'cast(pg_catalog.count(*) as text) as "n"', []),
        ("id.count(distinct)", f'pg_catalog.count(distinct {ID}) as "count"', []),
    ],
)
def test_selected_columns(select: str, text: str, params: list[str]) -> None:
    found, bound = rows(f"/projects?select={select}")

    assert found == f'select {text} from "public"."projects"'
    assert bound == params


def test_a_representation_shows_its_columns() -> None:
    text, _ = rows("/items?select=tint,tint::text")

    assert '"public"."color_json"("public"."items"."tint") as "tint"' in text
    assert 'cast("public"."color_json"("public"."items"."tint") as text) as "tint"' in text


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("id", ID),
        ("id.asc", f"{ID} asc"),
        ("id.desc.nullslast", f"{ID} desc nulls last"),
        ("id.nullsfirst,name", f"{ID} nulls first, {NAME}"),
        ("meta->>a.desc", f"({META}->>($1)) desc"),
    ],
)
def test_orders(order: str, text: str) -> None:
    assert after_from(f"/projects?order={order}")[0] == f'"public"."projects" order by {text}'


def test_a_whole_row_is_no_column_of_the_same_name() -> None:
    assert '"public"."shout"("public"."projects".*)' in rows("/projects?select=shout")[0]
