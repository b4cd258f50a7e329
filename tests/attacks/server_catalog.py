"""What a server knows of its functions, operators and columns, for guesses of the types in a call."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

USUAL = frozenset({"text", "name", "oid", "int4", "int8", "bool", "jsonb", '"char"', "text[]"})
"""The types of what cannot be guessed."""

Types = frozenset[str]


@dataclass(slots=True)
class Catalog:
    """What the server knows: result types of functions by name, operators, types of columns by name."""

    functions: Mapping[str, Types]
    operators: Mapping[str, tuple[tuple[str, str, str], ...]]
    """Name -> (left, right, result)."""
    columns: Mapping[str, Types]


_CATALOG = r"""
set search_path = pg_catalog;
select json_build_object(
  'functions', (select json_object_agg(name, types) from (
    select proname as name, json_agg(distinct format_type(prorettype, null)) as types from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace group by proname) as f),
  'operators', (select json_object_agg(name, types) from (
    select oprname as name,
      json_agg(json_build_array(format_type(oprleft, null), format_type(oprright, null), format_type(oprresult, null))) as types
    from pg_operator where oprresult not in (select oid from pg_type where typtype = 'p') group by oprname) as o),
  'columns', (select json_object_agg(name, types) from (
    select attname as name, json_agg(distinct format_type(atttypid, null)) as types
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where a.attnum > -7 and c.relkind in ('r', 'v', 'p') and n.nspname not in ('information_schema', 'pg_toast') group by attname) as c)
)
"""


def catalog_statement() -> str:
    """Return the statement whose answer `read_catalog` takes."""
    return _CATALOG


def read_catalog(text: str) -> Catalog:
    """Parse the answer of the catalog's statement. Pseudo-types stand for the usual ones."""
    raw = json.loads(text)
    pseudo = {
        "anyelement", "anynonarray", "anyarray", "anycompatible", "anycompatiblearray", "record", "anyenum",
        "internal", "void", "trigger", "event_trigger", "anyrange", "anymultirange", "anycompatiblenonarray",
    }  # fmt: skip

    def types(one: list[str]) -> Types:
        plain = {_short(name) for name in one if name not in pseudo}
        return frozenset(plain) if plain and len(plain) == len(set(one)) else frozenset(plain) | USUAL

    return Catalog(
        functions={name: types(value) for name, value in raw["functions"].items()},
        operators={
            name: tuple((_short(left), _short(right), _short(result)) for left, right, result in rows)
            for name, rows in raw["operators"].items()
        },
        columns={name: types(value) for name, value in raw["columns"].items()},
    )


_LONG = {
    "integer": "int4", "bigint": "int8", "smallint": "int2", "boolean": "bool", "character varying": "varchar",
    "timestamp with time zone": "timestamptz", "timestamp without time zone": "timestamp", "double precision": "float8",
    "real": "float4", "time with time zone": "timetz", "time without time zone": "time", "character": "bpchar",
    "bit varying": "varbit",
}  # fmt: skip


def _short(name: str) -> str:
    base = name.removesuffix("[]")
    return _LONG.get(base, base) + ("[]" if name.endswith("[]") else "")
