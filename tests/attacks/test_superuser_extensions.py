"""Role postgres plants overloads in the schema that a trusted extension's script runs in: the script is the superuser's."""

import pytest

from tests.attacks.probe import Probe, powers, probe, run_sql
from tests.platform import Platform

_CATENATION = """
create function {schema}.cat(text, {other}) returns text language plpgsql as
  $$ begin perform {probe}; return pg_catalog.textcat($1, $2::text); end $$;
create operator {schema}.|| (leftarg = text, rightarg = {other}, function = {schema}.cat);
"""
_FORMAT = """
create function {schema}.format({types}) returns text language plpgsql as
  $$ begin perform {probe}; return pg_catalog.format($1, {rest}); end $$;
"""


def _overloads(one: Probe, schema: str) -> str:
    catenations = [
        _CATENATION.format(schema=schema, other=other, probe=one.call % f"|| (text, {other})")
        for other in ("oid", "int4", "int8", "name", "jsonb", "uuid", "regclass")
    ]
    formats = [
        _FORMAT.format(
            schema=schema,
            types=", ".join(["text"] * count),
            rest=", ".join(f"${number}" for number in range(2, count + 1)),
            probe=one.call % f"format {count}",
        )
        for count in range(2, 10)
    ]
    return "\n".join(catenations + formats)


@pytest.mark.parametrize("place", ["a schema of the tenant's", "schema extensions"])
def test_the_script_of_extension_http_calls_no_function_of_the_schema_it_is_made_in(
    target: Platform, place: str
) -> None:
    before = powers(target)
    with probe(target) as one:
        schema = one.schema if place == "a schema of the tenant's" else "extensions"
        one.plant("drop extension if exists http cascade;")
        try:
            one.plant(_overloads(one, schema))
            run_sql(target.values["DB_URL"], f"create extension http with schema {schema}", check=False)
            assert one.reports() == []
            # What the script bound: the connection string is built with the superuser's rights at each request.
            for call in (
                "http_get('http://127.0.0.1:1/')",
                "http_list_curlopt()",
                'urlencode(\'{"a": "b"}\'::jsonb)',
            ):
                run_sql(target.values["DB_URL"], f"select * from {schema}.{call}", check=False)
            assert one.reports() == []
        finally:
            drops = "".join(
                f"drop function if exists {schema}.cat(text, {other}) cascade;"
                for other in ("oid", "int4", "int8", "name", "jsonb", "uuid", "regclass")
            )
            drops += "".join(
                f"drop function if exists {schema}.format({', '.join(['text'] * count)}) cascade;"
                for count in range(2, 10)
            )
            run_sql(target.values["DB_URL"], "drop extension if exists http cascade;" + drops)
    assert powers(target) == before


_OWN_FUNCTIONS = """
select distinct p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid) <> '', pg_catalog.array_to_string(
  array(select pg_catalog.format_type(t, null) from pg_catalog.unnest(p.proargtypes) as t), ',')
from pg_catalog.pg_depend d join pg_catalog.pg_proc p on p.oid = d.objid and d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
join pg_catalog.pg_extension e on e.oid = d.refobjid and d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass
where e.extname = '{name}' and p.prokind = 'f'
"""
_NEAR = {
    "text": ("name", "character varying", '"char"'), "character varying": ("text", "name"), "integer": ("bigint", "smallint"),
    "jsonb": ("json", "text"), "bytea": ("text",), "boolean": ("text",), "bigint": ("integer",), "uuid": ("text",),
}  # fmt: skip


@pytest.mark.parametrize("extension", ["http", "pgcrypto", "uuid-ossp", "pgjwt"])
def test_no_near_overload_of_its_own_functions_is_bound_by_an_extension(
    target: Platform, extension: str
) -> None:
    """A script that calls its own functions by name, with arguments that another overload fits better, binds that one."""
    url = target.values["DB_URL"]
    with probe(target) as one:
        where = run_sql(
            url,
            f"select extnamespace::pg_catalog.regnamespace from pg_catalog.pg_extension where extname = '{extension}'",
        )
        one.plant(
            f'drop extension if exists "{extension}" cascade; create extension "{extension}" with schema {one.schema} cascade;'
        )
        own = [
            line.split("|")
            for line in run_sql(url, _OWN_FUNCTIONS.format(name=extension)).stdout.splitlines()
        ]
        assert own
        run_sql(url, f'drop extension "{extension}" cascade')
        try:
            overloads = [
                f"create function {one.schema}.{name}({', '.join([*arguments[:place], near, *arguments[place + 1 :]])})"
                f" returns text language plpgsql as $$ begin perform {one.call % name}; return ''; end $$;"
                for name, _, types in own
                for arguments in (types.split(",") if types else [],)
                for place, type_ in enumerate(arguments)
                for near in _NEAR.get(type_, ())
            ]
            counted = f"select pg_catalog.count(*) from pg_catalog.pg_proc where pronamespace = '{one.schema}'::pg_catalog.regnamespace;"
            before, after = run_sql(
                url, "\n".join([counted, *overloads, counted]), check=False, stops=False
            ).stdout.splitlines()
            assert before != after or not any(types for _, _, types in own)
            run_sql(url, f'create extension "{extension}" with schema {one.schema} cascade', check=False)
            if extension == "http":
                run_sql(
                    url,
                    f"set search_path = {one.schema}; select http_set_curlopt('CURLOPT_TIMEOUT_MS', '100'); select http_get('http://127.0.0.1:1/')",
                    check=False,
                )
                run_sql(
                    url,
                    f"set search_path = {one.schema}; select http_post('http://127.0.0.1:1/', '{{}}'::jsonb)",
                    check=False,
                )
            assert one.reports() == []
        finally:
            run_sql(url, f'drop extension if exists "{extension}" cascade')
            if place := where.stdout.strip():
                run_sql(url, f'create extension if not exists "{extension}" with schema {place}')
