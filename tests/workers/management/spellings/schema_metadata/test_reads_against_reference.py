"""Every list and every object, field by field as the reference answers them."""

from typing import Any

import pytest

from tests.workers.management.spellings.schema_metadata.conftest import Ours
from tests.workers.management.spellings.schema_metadata.reference import Reference

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

KEYS = {
    "config": "name",
    "extensions": "name",
    "table-privileges": "relation_id",
    "column-privileges": "column_id",
}
"""The member that names an object, where it is not `id`."""
EVERYTHING = "include_system_schemas=true"
LISTS = [
    *(
        "schemas",
        "tables",
        "columns",
        "views",
        "materialized-views",
        "foreign-tables",
        "functions",
        "types",
        "triggers",
    ),
    *("policies", "publications", "roles", "extensions", "table-privileges", "config"),
    *(
        f"{kind}?{EVERYTHING}"
        for kind in ("schemas", "tables", "columns", "views", "functions", "types", "triggers")
    ),
    *(f"{kind}?{EVERYTHING}" for kind in ("policies", "table-privileges")),
    "tables?include_columns=false",
    "views?include_columns=false",
    "materialized-views?include_columns=true",
    "foreign-tables?include_columns=false",
    "tables?included_schemas=shop,public",
    "tables?included_schemas=pg_catalog",
    "tables?excluded_schemas=shop,auth",
    "tables?included_schemas=shop&excluded_schemas=shop",
    "tables?included_schemas=",
    "functions?included_schemas=shop",
    "columns?excluded_schemas=auth,storage,realtime",
    "types?include_array_types=true&included_schemas=shop",
    "types?include_array_types=true&include_system_schemas=true",
    "roles?include_default_roles=true",
    "tables?limit=0",
    "functions?limit=0",
    'tables?included_schemas=My "Schema"',
    "policies?included_schemas=shop' or true--",
]


@pytest.mark.parametrize("path", LISTS)
async def test_lists_have_the_objects_of_the_reference(ours: Ours, theirs: Reference, path: str) -> None:
    status, answer = await ours.send("GET", f"/{path}")
    expected_status, expected = await theirs.send("GET", f"/{path}")

    assert (status, expected_status) == (200, 200), (answer, expected)
    found = differences(by_key(answer, path), by_key(expected, path))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "kind",
    ["schemas", "tables", "columns", "views", "materialized-views", "foreign-tables", "functions", "triggers",
     "policies", "publications", "roles", "extensions"],
)  # fmt: skip
async def test_single_objects_are_those_of_the_reference(ours: Ours, theirs: Reference, kind: str) -> None:
    key = KEYS.get(kind, "id")
    ids = [value[key] for value in await ours.good("GET", f"/{kind}")][-8:]

    for id in [*ids, *(["99999.1", "1259.900"] if kind == "columns" else [4294967295, 11, "not'there"])]:
        status, answer = await ours.send("GET", f"/{kind}/{id}")
        expected_status, expected = await theirs.send("GET", f"/{kind}/{id}")
        if kind == "foreign-tables" and id not in ids and expected_status == 200:
            expected_status, expected = 404, answer  # the reference sends the first foreign table
        assert (status, settled(answer)) == (expected_status, settled(expected)), (answer, expected)


async def test_first_column_of_a_table(ours: Ours, theirs: Reference) -> None:
    tables = await ours.good("GET", "/tables?included_schemas=shop")

    for table in tables:
        assert await ours.send("GET", f"/columns/{table['id']}") == await theirs.send(
            "GET", f"/columns/{table['id']}"
        )


async def test_indexes_that_the_reference_lists_are_the_same(ours: Ours, theirs: Reference) -> None:
    """The reference leaves out indexes whose places of columns are none of the table's, and doubles those of one name."""
    answer = by_key(await ours.good("GET", "/indexes"), "indexes")
    _, listed = await theirs.send("GET", "/indexes")
    expected = by_key(listed, "indexes")
    doubled = {index["id"] for index in listed if sum(other["id"] == index["id"] for other in listed) > 1}

    shared = {id: index for id, index in answer.items() if id in expected and index["id"] not in doubled}
    assert expected.keys() <= answer.keys()
    assert len(shared) > 60
    assert not differences(shared, {id: expected[id] for id in shared})
    assert any("customers_lower" in index["index_definition"] for index in answer.values())
    one = next(iter(shared))
    assert await ours.send("GET", f"/indexes/{one}") == await theirs.send("GET", f"/indexes/{one}")


@pytest.mark.parametrize("narrowed", ["", "?included_schemas=shop", "?include_system_schemas=true"])
async def test_column_privileges_are_those_that_the_reference_lists_for_a_superuser(
    ours: Ours, theirs: Reference, theirs_as_superuser: Reference, narrowed: str
) -> None:
    """The reference reads pg_authid, which role postgres may not; ours lists what concerns role postgres."""
    answer = by_key(await ours.good("GET", f"/column-privileges{narrowed}"), "column-privileges")
    status, refused = await theirs.send("GET", "/column-privileges")
    _, listed = await theirs_as_superuser.send("GET", f"/column-privileges{narrowed}")
    expected = by_key(listed, "column-privileges")

    assert (status, refused) == (500, {"error": "permission denied for table pg_authid"})
    for id, column in answer.items():
        rights = {str(right) for right in column["privileges"]}
        assert rights <= {str(right) for right in expected[id]["privileges"]}
    shop = {id: column for id, column in answer.items() if column["relation_schema"] == "shop"}
    assert shop
    assert not differences(shop, {id: expected[id] for id in shop})


async def test_version_and_root(ours: Ours, theirs: Reference) -> None:
    answer, (_, expected) = (
        await ours.good("GET", "/config/version"),
        await theirs.send("GET", "/config/version"),
    )
    root, (_, expected_root) = await ours.good("GET", "/"), await theirs.send("GET", "/")

    assert settled(answer) == settled(expected)
    assert root.keys() == expected_root.keys()
    assert root["version"] == expected_root["version"]
    assert (await ours.good("GET", "/health")).keys() == {"date"}


def by_key(objects: list[dict[str, Any]], path: str) -> dict[str, Any]:
    """Return the objects of a list by what names them."""
    kind = path.partition("?")[0]
    key = KEYS.get(kind, "id")
    return {
        str(value[key]): settled(value)
        for value in objects
        if kind != "config" or value["name"] not in OF_SESSION
    }


SETTLED = frozenset({"live_rows_estimate", "dead_rows_estimate", "active_connections", "bytes", "size"})
"""Members that change by themselves."""
SETS = frozenset({"args", "events", "privileges", "relationships", "tables"})
"""Arrays that the reference sends in any order."""
OF_SESSION = frozenset(
    {
        "application_name",
        "client_connection_check_interval",
        "idle_in_transaction_session_timeout",
        "search_path",
        "statement_timeout",
    }
)
"""Settings that differ between sessions of the two."""


def settled(value: Any) -> Any:
    """Return an object without what changes by itself, and with sets in one order."""
    if not isinstance(value, dict):
        return value
    kept = {name: part for name, part in value.items() if name not in SETTLED}
    for name in SETS & kept.keys():
        if isinstance(kept[name], list):
            kept[name] = sorted(kept[name], key=str)
    if isinstance(kept.get("columns"), list):
        kept["columns"] = sorted(kept["columns"], key=lambda column: column["ordinal_position"])
    if isinstance(kept.get("relationships"), list):
        kept["relationships"] = sorted(
            kept["relationships"], key=lambda link: sorted(map(str, link.values()))
        )
    return kept


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Return where two sets of objects differ, at most twenty places."""
    found = [f"only ours: {name}" for name in ours.keys() - theirs.keys()]
    found += [f"only theirs: {name}" for name in theirs.keys() - ours.keys()]
    for name in ours.keys() & theirs.keys():
        one, other = ours[name], theirs[name]
        if one == other:
            continue
        fields = [
            field for field in one.keys() | other.keys() if one.get(field, ...) != other.get(field, ...)
        ]
        found += [
            f"{name}.{field}: {one.get(field, ...)!r} is not {other.get(field, ...)!r}" for field in fields
        ]
    return found[:20]
