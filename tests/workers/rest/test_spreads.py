"""Rows of spreads that are grouped, and of embeds that a column names: reference page, sections 6 and 8."""

import pytest

from tests.workers.rest.rest_pool import RestPool, rows


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "/bridges?select=...rivers(name),id.count()&order=rivers(name)",
            [{"name": "Nile", "count": 1}, {"name": "Rhine", "count": 2}],
        ),
        (
            "/bridges?select=...rivers(name,mouths(sea)),id.count()&order=rivers(name)",
            [
                {"name": "Nile", "mouths": {"sea": "Mediterranean"}, "count": 1},
                {"name": "Rhine", "mouths": {"sea": "North Sea"}, "count": 2},
            ],
        ),
        (
            "/bridges?select=...rivers(meta),built.max()",
            [
                {"meta": {"source": {"lake": "Victoria"}}, "max": "1933-06-06"},
                {"meta": {}, "max": "1949-11-12"},
            ],
        ),
        (
            "/bridges?select=rivers(name),id.count()",
            [{"rivers": {"name": "Nile"}, "count": 1}, {"rivers": {"name": "Rhine"}, "count": 2}],
        ),
    ],
)
async def test_rows_are_grouped_by_what_is_spread_or_embedded(
    trial: RestPool, target: str, expected: list[dict[str, object]]
) -> None:
    answer = await trial.send("GET", target)

    assert answer.status == 200, answer.body
    assert sorted(rows(answer), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "/bridges?select=name,river_id(name)&name=eq.Bonn",
            [{"name": "Bonn", "river_id": {"name": "Rhine"}}],
        ),
        (
            "/mouths?select=sea,river_id(name)&sea=eq.North Sea",
            [{"sea": "North Sea", "river_id": {"name": "Rhine"}}],
        ),
    ],
)
async def test_an_embed_is_named_by_a_column_that_joins(
    trial: RestPool, target: str, expected: list[dict[str, object]]
) -> None:
    answer = await trial.send("GET", target)

    assert answer.status == 200, answer.body
    assert rows(answer) == expected


async def test_a_column_that_several_tables_refer_to_names_none(trial: RestPool) -> None:
    answer = await trial.send("GET", "/rivers?select=name,id(name)")

    assert answer.status == 300, answer.body


async def test_rows_that_refer_to_a_column_are_embedded_by_its_name(trial: RestPool) -> None:
    one = await trial.send("GET", "/lakes?select=name,id(depth)&order=name")
    many = await trial.send("GET", "/valleys?select=name,id(name)&order=name")

    assert rows(one) == [{"name": "Como", "id": {"depth": 410}}, {"name": "Garda", "id": None}]
    assert rows(many) == [{"name": "Adda", "id": [{"name": "Bormio"}, {"name": "Tirano"}]}]


@pytest.mark.parametrize(
    ("target", "accept", "expected"),
    [
        ("/bridges?select=rivers()&id=lt.3", "application/json", b"[{}, \n {}]"),
        ("/bridges?select=...rivers()&rivers=not.is.null&id=eq.1", "application/json", b"[{}]"),
        ("/rivers?select=bridges(rivers())&id=eq.1", "application/vnd.pgrst.object+json", b"{}"),
        ("/bridges?select=rivers()&id=lt.3", "text/csv", b"\n\n"),
        ("/bridges?select=id,rivers(mouths())&rivers=not.is.null&id=eq.1", "application/json", b'[{"id":1}]'),
    ],
)
async def test_rows_of_which_nothing_is_selected_are_empty(
    trial: RestPool, target: str, accept: str, expected: bytes
) -> None:
    answer = await trial.send("GET", target, accept=accept)

    assert (answer.status, answer.body) == (200, expected)
    written = await trial.send(
        "PATCH", "/bridges?select=rivers()&id=eq.1", {"name": "x"}, prefer="return=representation"
    )
    assert rows(written) == [{}]
    paged = await trial.send("GET", "/bridges?select=rivers()&order=id&limit=1", prefer="pagination=cursor")
    assert rows(paged) == [{}]


async def test_groups_are_ordered_by_the_json_path_that_makes_them(trial: RestPool) -> None:
    path = "meta->source->>lake"
    for order, expected in (("desc.nullslast", ["Victoria", None]), ("asc.nullsfirst", [None, "Victoria"])):
        answer = await trial.send("GET", f"/rivers?select=id.max(),lake:{path}&order={path}.{order}")
        assert [row["lake"] for row in rows(answer)] == expected  # type: ignore[attr-defined, index]  # a list of objects
