"""Attack: `create extension ... with schema evil`, where schema evil fits the calls of the script better than pg_catalog.

The script of a trusted extension runs as the superuser. Each overload below makes role `attacked` a superuser if it ever runs as
one, and does nothing otherwise.
"""

import itertools

import pytest

from tests.platform import Platform

_TRUSTED = (
    "http",
    "pg_cron",
    "pg_net",
    "pgcrypto",
    "supabase_vault",
    "uuid-ossp",
    "pg_graphql",
    "pgsodium",
)
_PLACED = ("supabase_vault", "pg_graphql", "pgsodium")
"""Their control files name their schemas."""
_TYPES = ("text", "oid", "name", "varchar", "integer", "bigint", "boolean", "bytea", "pg_catalog.text[]")
_JOINING = ("||", "->>")
_COMPARING = ("=", "<>", "~", "~~*", "<", ">", "<=", ">=")
_FUNCTIONS = {
    "format": (1, 2, 3, 7, 8), "lower": (1,), "upper": (1,), "encode": (2,), "convert_to": (2,), "current_setting": (1, 2),
    "set_config": (3,), "coalesce": (2,), "lpad": (3,), "to_hex": (1,), "replace": (3,), "btrim": (1,),
    "chr": (1,), "split_part": (3,), "translate": (3,),
}  # fmt: skip
_STEPS = {
    "digest": 2,
    "urlencode": 1,
    "http_headwater_quoted": 1,
    "http_headwater_option": 1,
    "http_headwater_link": 2,
}
"""Functions of the extensions themselves, with other types than theirs."""
_PLANTS = """
create or replace function evil.strike() returns void language plpgsql as $f$
begin
  alter role attacked superuser;
exception when others then null;
end $f$;
"""


def _plants() -> str:
    parts = [_PLANTS]
    for number, (left, right) in enumerate(itertools.permutations(_TYPES, 2)):
        for kind, result, signs in (
            ("text", "$1::text || $2::text", _JOINING),
            ("boolean", "false", _COMPARING),
        ):
            parts.append(
                f"create function evil.{kind}{number}({left}, {right}) returns {kind} language plpgsql as"
                f" $f$ begin perform evil.strike(); return {result}; end $f$;"
            )
            parts += [
                f"create operator evil.{sign} (leftarg = {left}, rightarg = {right}, function = evil.{kind}{number});"
                for sign in signs
            ]
    planted = [(name, size, kind) for name, sizes in _FUNCTIONS.items() for size in sizes for kind in _TYPES]
    planted += [
        (name, size, kind) for name, size in _STEPS.items() for kind in ("name", "oid", "boolean", "integer")
    ]
    for name, size, kind in planted:
        arguments = ", ".join([kind] * size)
        parts.append(
            f'create function evil."{name}"({arguments}) returns text language plpgsql as'
            " $f$ begin perform evil.strike(); return null; end $f$;"
        )
    return "".join(parts)


@pytest.fixture(scope="module")
def evil(target: Platform, tmp_path_factory: pytest.TempPathFactory) -> Platform:
    file = tmp_path_factory.mktemp("evil") / "plants.sql"
    file.write_text("create role attacked; create schema evil;" + _plants())
    done = target.command("psql", "-q", "-v", "ON_ERROR_STOP=1", "-1", "-f", str(file))
    assert done.returncode == 0, done.stderr
    return target


def _is_superuser(target: Platform) -> bool:
    told = target.command("psql", "-Atc", "select rolsuper from pg_roles where rolname = 'attacked'")
    return told.stdout.strip() != "f"


@pytest.mark.parametrize("name", _TRUSTED)
def test_a_script_runs_nothing_of_the_schema_that_it_is_given(evil: Platform, name: str):
    place = "" if name in _PLACED else "with schema evil"
    tried = evil.command(
        "psql", "-c", f'drop extension if exists "{name}" cascade; create extension "{name}" {place}'
    )
    if name == "http":
        evil.command(
            "psql", "-c", "set http.timeout_msec = 20", "-c", "select evil.http_get('http://127.0.0.1:1/')"
        )

    assert not _is_superuser(evil)
    assert tried.returncode == 0, tried.stderr
