"""Every write, done through ours on one copy of a database and through the reference on the other: answers and effects are compared.

New objects have other ids in the two copies, so ids are left out of the comparison.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.workers.management.spellings.schema_metadata.conftest import Ours
from tests.workers.management.spellings.schema_metadata.reference import Reference
from tests.workers.management.spellings.schema_metadata.test_reads_against_reference import SETS, SETTLED

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]
IDS = frozenset(
    {
        "id",
        "table_id",
        "relation_id",
        "column_id",
        "type_id",
        "return_type_id",
        "return_type_relation_id",
        "type_relation_id",
    }
)
LISTS = (
    "schemas", "tables", "columns", "views", "functions", "types", "triggers", "policies", "publications",
    "extensions", "table-privileges",
)  # fmt: skip
Side = Ours | Reference


@dataclass(frozen=True)
class DatabaseObject:
    """An object by its members; in a path or a body its id stands there."""

    kind: str
    members: dict[str, str]
    key: str = "id"

    async def id(self, side: Side) -> Any:
        _, objects = await side.send("GET", f"/{self.kind}")
        found = [value for value in objects if self.members.items() <= value.items()]
        assert len(found) == 1, (type(side).__name__, self)
        return found[0][self.key]


@dataclass(frozen=True)
class Write:
    """One write. `on` is the object of the path."""

    method: str
    kind: str
    body: Any = None
    on: DatabaseObject | None = None
    query: str = ""

    async def send(self, side: Side) -> tuple[int, Any]:
        path = f"/{self.kind}"
        if self.on is not None:
            path += f"/{await self.on.id(side)}"
        return await side.send(self.method, path + self.query, await _resolved(self.body, side))


async def _resolved(body: Any, side: Side) -> Any:
    if isinstance(body, DatabaseObject):
        return await body.id(side)
    if isinstance(body, list):
        return [await _resolved(value, side) for value in body]
    if isinstance(body, dict):
        return {name: await _resolved(value, side) for name, value in body.items()}
    return body


def table(name: str, schema: str = "public") -> DatabaseObject:
    return DatabaseObject("tables", {"name": name, "schema": schema})


def column(name: str, of: str, schema: str = "public") -> DatabaseObject:
    return DatabaseObject("columns", {"name": name, "table": of, "schema": schema})


def named(kind: str, name: str, **members: str) -> DatabaseObject:
    return DatabaseObject(kind, {"name": name, **members})


def post(kind: str, **body: Any) -> Write:
    return Write("POST", kind, body)


def patch(on: DatabaseObject, **body: Any) -> Write:
    return Write("PATCH", on.kind, body, on)


def delete(on: DatabaseObject, query: str = "") -> Write:
    return Write("DELETE", on.kind, None, on, query)


T = {"table_id": table("w")}
SCENARIOS: dict[str, list[Write]] = {
    "schemas": [
        post("schemas", name='new "s"'),
        post("schemas", name="taken", owner="service_role"),
        post("schemas", name="taken"),
        post("schemas", name="x", owner="nobody there"),
        patch(named("schemas", 'new "s"'), name="newer", owner="anon"),
        patch(named("schemas", "newer"), name="newest", owner="postgres"),
        patch(named("schemas", "newest")),
        post("tables", name="inside", schema="newest"),
        delete(named("schemas", "newest")),
        delete(named("schemas", "newest"), "?cascade=true"),
    ],
    "tables": [
        post("tables", name="w", comment="it's \"new\"\nline"),
        post("tables", name="w"),
        post("tables", name='odd "name"', schema="shop"),
        post("tables", name="x", schema="not there"),
        post("columns", **T, name="id", type="int8"),
        post("columns", **T, name="other", type="text"),
        patch(table("w"), rls_enabled=True, rls_forced=True, replica_identity="FULL", comment="changed"),
        patch(table("w"), primary_keys=[{"name": "id"}, {"name": "other"}]),
        patch(table("w"), primary_keys=[{"name": "id"}], rls_forced=False),
        patch(table("w"), replica_identity="INDEX", replica_identity_index="w_pkey"),
        patch(table("w"), replica_identity="NOTHING", primary_keys=[]),
        patch(table("w"), replica_identity="DEFAULT", rls_enabled=False),
        patch(table("w"), schema="shop", name="v w"),
        patch(table("v w", "shop"), name="customers"),
        patch(table("v w", "shop"), name="renamed", schema="shop"),
        patch(table("renamed", "shop"), schema="public", name="w"),
        patch(table("w"), primary_keys=[{"name": "nowhere"}]),
        delete(table("customers", "shop")),
        delete(table("w"), "?cascade=true"),
        delete(table('odd "name"', "shop")),
    ],
    "columns": [
        post("tables", name="w"),
        post("columns", **T, name="a", type="int4", is_identity=True, identity_generation="ALWAYS", is_primary_key=True),
        post("columns", **T, name='b "q"', type="text", default_value="it's \\ \"x\"", is_nullable=False, is_unique=True),
        post("columns", **T, name="c", type="int4", default_value=5, check="c > 0", comment="it's c"),
        post("columns", **T, name="d", type="timestamptz", default_value="now()", default_value_format="expression"),
        post("columns", **T, name="e", type="text[]", default_value="{}"),
        post("columns", **T, name="f", type="shop.color", default_value=None),
        post("columns", **T, name="g", type="jsonb", default_value={"a": [1, "ü"]}),
        post("columns", **T, name="h", type="bool", default_value=True, is_nullable=True),
        post("columns", **T, name="i", type="shop.color[]"),
        post("columns", **T, name="a", type="int4"),
        post("columns", **T, name="z", type="no_such_type"),
        post("columns", **T, name="z", type="int4", is_identity=True, default_value=1),
        post("columns", table_id=1, name="z", type="int4"),
        patch(column("c", "w"), check=None),
        patch(column("c", "w"), name='C "new"', type="text", comment="other", is_nullable=False),
        patch(column('C "new"', "w"), default_value="x", is_unique=True),
        patch(column('C "new"', "w"), drop_default=True, is_unique=False, name="c"),
        patch(column("c", "w"), check="c <> ''"),
        patch(column("c", "w"), check="c <> 'other'"),
        patch(column("c", "w"), check="a > 0"),
        patch(column("c", "w"), check="a > 0 and c <> ''"),
        patch(column("c", "w"), check=None),
        patch(column("c", "w"), default_value="upper('x')", default_value_format="expression", is_nullable=True),
        patch(column("h", "w"), type="int4"),
        patch(column("a", "w"), is_identity=True, identity_generation="BY DEFAULT"),
        patch(column("a", "w"), is_identity=False),
        patch(column("a", "w"), is_identity=True, identity_generation="ALWAYS"),
        patch(column('b "q"', "w"), is_unique=True, comment=""),
        patch(column('b "q"', "w"), type="integer"),
        delete(column("d", "w")),
        delete(column("a", "w"), "?cascade=true"),
        delete(column("email", "customers", "shop")),
        delete(table("w")),
    ],
    "functions": [
        post("functions", name="f one", definition="select 1"),
        post(
            "functions", name="adds", schema="shop", args=["a integer", "b integer"], definition="select a + b; -- it's",
            return_type="integer", language="sql", behavior="IMMUTABLE", security_definer=True,
            config_params={"search_path": "pg_catalog", "statement_timeout": "5000", "work_mem": "4096", "geqo": "on"},
        ),
        post("functions", name="adds", schema="shop", args=["a integer", "b integer"], definition="select 1", return_type="int"),
        post("functions", name="bad", definition="selec", return_type="int"),
        post("functions", name="bad", definition="x", language="nolang"),
        post("functions", name="trig", definition="begin return new; end", return_type="trigger", language="plpgsql"),
        patch(named("functions", "adds"), definition="select a - b"),
        patch(named("functions", "adds"), name="subtracts", schema="public"),
        patch(named("functions", "subtracts"), name="adds", schema="shop", definition="select a * b"),
        patch(named("functions", "adds"), definition="broken ("),
        delete(named("functions", "adds")),
        delete(named("functions", "f one")),
        delete(named("functions", "trig")),
        delete(named("functions", "touch")),
    ],
    "triggers": [
        post("tables", name="w"),
        post("columns", **T, name="a", type="int4"),
        post("columns", **T, name="b", type="text"),
        post(
            "triggers", name='t "one"', table="w", function_schema="shop", function_name="touch", activation="BEFORE",
            events=["INSERT", "UPDATE OF a,b"], orientation="ROW", condition="new.a > 1", function_args=["x", "it's"],
        ),
        post("triggers", name="two", table="w", function_schema="shop", function_name="touch", activation="AFTER", events=["DELETE"]),
        post("triggers", name="two", table="w", function_schema="shop", function_name="touch", activation="AFTER", events=["DELETE"]),
        post("triggers", name="three", table="w", function_name="nowhere", activation="AFTER", events=["DELETE"]),
        patch(named("triggers", "two"), enabled_mode="DISABLED"),
        patch(named("triggers", "two"), enabled_mode="REPLICA", name="zwei"),
        patch(named("triggers", "zwei"), enabled_mode="ALWAYS", name="zwei"),
        patch(named("triggers", "zwei"), enabled_mode="ORIGIN", name='t "one"'),
        patch(named("triggers", "zwei")),
        delete(named("triggers", 't "one"')),
        delete(named("triggers", "zwei"), "?cascade=true"),
        delete(table("w")),
    ],
    "policies": [
        post("tables", name="w"),
        post("columns", **T, name="a", type="int4"),
        post("policies", name='p "one"', table="w"),
        post(
            "policies", name="two", table="w", schema="public", definition="a > 1", check="a > 2", action="RESTRICTIVE",
            command="UPDATE", roles=["anon", "authenticated"],
        ),
        post("policies", name="three", table="w", check="a > 0", command="INSERT", roles=["service_role"]),
        post("policies", name="bad", table="w", definition="nowhere > 1"),
        post("policies", name="bad", table="w", command="SELECT", check="true"),
        post("policies", name="bad", table="nowhere"),
        patch(named("policies", "two"), name="zwei", definition="a > 3", check="a > 4", roles=["public"]),
        patch(named("policies", "zwei"), roles=["anon"]),
        patch(named("policies", "zwei"), name="three"),
        patch(named("policies", "zwei")),
        delete(named("policies", 'p "one"')),
        delete(table("w")),
    ],
    "publications": [
        post("tables", name="w"),
        post("tables", name="w.x"),
        post("publications", name='pub "one"', tables=["public.w", "shop.customers"], publish_insert=True, publish_truncate=True),
        post("publications", name="two", tables=[], publish_update=True),
        post("publications", name="two", tables=[]),
        post("publications", name="everything", publish_insert=True),
        patch(named("publications", 'pub "one"'), tables=["public.w", "public.w.x"]),
        patch(named("publications", 'pub "one"'), publish_insert=False, publish_delete=True, name="one"),
        patch(named("publications", "one"), tables=[]),
        patch(named("publications", "one"), tables=["shop.nowhere"]),
        patch(named("publications", "two"), tables=["shop.orders"], name="zwei", owner="postgres"),
        patch(named("publications", "zwei")),
        delete(named("publications", "one")),
        delete(named("publications", "zwei")),
        delete(named("publications", "every_table")),
        delete(table("w")),
        delete(table("w.x")),
    ],
    "extensions": [
        post("extensions", name="pg_trgm", schema="extensions"),
        post("extensions", name="pg_trgm"),
        post("extensions", name="no such extension"),
        post("extensions", name="hstore", schema="nowhere"),
        Write("PATCH", "extensions", {"schema": "public"}, DatabaseObject("extensions", {"name": "pg_trgm"}, "name")),
        Write("PATCH", "extensions", {"update": True}, DatabaseObject("extensions", {"name": "pg_trgm"}, "name")),
        Write("PATCH", "extensions", {"update": True, "version": "0.0"}, DatabaseObject("extensions", {"name": "pg_trgm"}, "name")),
        Write("DELETE", "extensions", None, DatabaseObject("extensions", {"name": "pg_trgm"}, "name")),
        Write("DELETE", "extensions", None, DatabaseObject("extensions", {"name": "pg_trgm"}, "name"), "?cascade=true"),
    ],
    "table privileges": [
        post("tables", name="w"),
        Write("POST", "table-privileges", [
            {"relation_id": table("w"), "grantee": "anon", "privilege_type": "SELECT"},
            {"relation_id": table("w"), "grantee": "PUBLIC", "privilege_type": "INSERT"},
            {"relation_id": table("w"), "grantee": "service_role", "privilege_type": "ALL", "is_grantable": True},
        ]),
        Write("POST", "table-privileges", [
            {"relation_id": table("w"), "grantee": "nobody there", "privilege_type": "SELECT"}]),
        Write("DELETE", "table-privileges", [
            {"relation_id": table("w"), "grantee": "public", "privilege_type": "INSERT"},
            {"relation_id": table("w"), "grantee": "service_role", "privilege_type": "UPDATE"},
            {"relation_id": table("customers", "shop"), "grantee": "anon", "privilege_type": "ALL"}]),
        delete(table("w")),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
async def test_writes_have_the_answers_and_effects_of_the_reference(
    ours: Ours, theirs: Reference, name: str
) -> None:
    for place, write in enumerate(SCENARIOS[name]):
        status, answer = await write.send(ours)
        expected_status, expected = await write.send(theirs)

        if isinstance(answer, list):
            answer, expected = in_one_order(answer), in_one_order(expected)
        assert (status, without_ids(answer)) == (expected_status, without_ids(expected)), (place, write)
    for kind in LISTS:
        _, objects = await ours.send("GET", f"/{kind}")
        _, expected_objects = await theirs.send("GET", f"/{kind}")
        assert in_one_order(objects) == in_one_order(expected_objects), kind


def in_one_order(objects: list[Any]) -> list[Any]:
    """Return objects without ids, in one order, and their lists too: the reference leaves that of a table's columns to the planner."""
    return sorted((_with_sorted_lists(without_ids(item)) for item in objects), key=str)


def _with_sorted_lists(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return {
        key: sorted(value, key=str)
        if key in ("columns", "relationships", "primary_keys") and isinstance(value, list)
        else value
        for key, value in item.items()
    }


def without_ids(value: Any) -> Any:
    """Return a value without ids and without what changes by itself."""
    if isinstance(value, list):
        return [without_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: without_ids(part) for name, part in value.items() if name not in IDS | SETTLED}
    for name in SETS & kept.keys():
        if isinstance(kept[name], list):
            kept[name] = sorted(
                ({**item} if isinstance(item, dict) else item for item in kept[name]), key=str
            )
    return dict(sorted(kept.items()))
