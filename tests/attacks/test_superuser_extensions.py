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
