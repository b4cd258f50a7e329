"""Scripts of extensions that run as the superuser on behalf of role postgres: nothing of a caller's runs in them.

A trusted script runs as the superuser in a session of role postgres, which chooses the schema, may own it, and may hold there
operators and functions that fit a call better than those of pg_catalog.
"""

import re
from collections.abc import AsyncIterator, Iterator
from importlib import resources
from pathlib import Path

import asyncpg
import pglast
import pytest
from pglast import ast
from pglast.visitors import Visitor

from services.supervisor.binaries import find_postgres
from services.supervisor.postgres.absent_extensions import absent_files, read_absent
from services.supervisor.postgres.extensions import MADE_TRUSTED
from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database

_FOLDER = Path(str(resources.files("schemas").joinpath("extensions")))
_FILES = {
    **{
        path.name: path.read_text()
        for path in sorted(_FOLDER.iterdir())
        if path.suffix in (".sql", ".control")
    },
    **dict(absent_files(read_absent())),
}
TRUSTED = sorted(
    name.removesuffix(".control")
    for name, text in _FILES.items()
    if name.endswith(".control") and "trusted = true" in text
)
SCRIPTS = [name for name in sorted(_FILES) if name.endswith(".sql") and name.partition("--")[0] in TRUSTED]
_FIRST = "set local search_path = pg_catalog, pg_temp"
_PATH = ["pg_catalog", "pg_temp"]
_DEFINITIONS = (
    "AlterOpFamilyStmt", "CommentStmt", "CompositeTypeStmt", "CreateAmStmt", "CreateCastStmt", "CreateDomainStmt", "CreateFdwStmt",
    "CreateFunctionStmt", "CreateOpClassStmt", "DefineStmt", "DropStmt", "GrantStmt", "ViewStmt", "AlterExtensionContentsStmt",
    "AlterFunctionStmt", "AlterOperatorStmt", "AlterTypeStmt",
)  # fmt: skip


def statements(text: str) -> list[tuple[str, ast.Node]]:
    """Parse a script as the server reads it: without its psql lines, and with its placeholders filled."""
    text = re.sub(r"^\\.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"@extschema(:\w+)?@", "extschema", text).replace("MODULE_PATHNAME", "module")
    data = text.encode()
    return [
        (data[raw.stmt_location :][: raw.stmt_len or None].decode(), raw.stmt)
        for raw in pglast.parse_sql(text)
    ]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_looks_names_up_in_pg_catalog_alone_from_its_first_statement(name: str):
    text, first = statements(_FILES[name])[0]

    assert isinstance(first, ast.VariableSetStmt)
    assert re.sub(r"--.*", "", text).strip() == _FIRST


class _Unqualified(Visitor):
    """Collect names without a schema: of what is made, and of relations and types that are used."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.relations: set[str] = set()
        self.types: set[str] = set()
        self.with_names: set[str] = set()

    def visit_CommonTableExpr(self, _: object, node: ast.CommonTableExpr) -> None:
        self.with_names.add(node.ctename)

    def visit_RangeVar(self, _: object, node: ast.RangeVar) -> None:
        if not node.schemaname:
            self.relations.add(node.relname)

    def visit_TypeName(self, _: object, node: ast.TypeName) -> None:
        if node.names and len(node.names) == 1:
            self.types.add(node.names[0].sval)

    def visit_CreateFunctionStmt(self, _: object, node: ast.CreateFunctionStmt) -> None:
        self._made(node.funcname)

    def visit_CreateDomainStmt(self, _: object, node: ast.CreateDomainStmt) -> None:
        self._made(node.domainname)

    def visit_CreateEnumStmt(self, _: object, node: ast.CreateEnumStmt) -> None:
        self._made(node.typeName)

    def visit_CreateTrigStmt(self, _: object, node: ast.CreateTrigStmt) -> None:
        self._made(node.funcname)

    def _made(self, parts: tuple[ast.String, ...]) -> None:
        if len(parts) < 2:
            self.made.append(parts[0].sval)


@pytest.fixture(scope="module")
async def project(bootstrapped: Server) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres, which owns its database."""
    async with fresh_database(bootstrapped) as name:
        async with connected(bootstrapped.url(database=name)) as admin:
            await admin.execute(f"alter database {name} owner to postgres")
        async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
            yield one


async def test_what_scripts_name_without_a_schema_is_of_pg_catalog(project: asyncpg.Connection):
    """Anything else could be found in a schema of temporary things, which is on every path."""
    catalog = {
        row[0]
        for row in await project.fetch(
            "select relname::text from pg_class where relnamespace = 'pg_catalog'::regnamespace"
            " union all select typname::text from pg_type where typnamespace = 'pg_catalog'::regnamespace"
        )
    }

    for name in SCRIPTS:
        found = _Unqualified()
        for _, statement in statements(_FILES[name]):
            found(statement)
        assert found.made == [], name
        assert found.relations - found.with_names - catalog - {"record"} == set(), name
        assert found.types - catalog - {"trigger"} == set(), name


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_function_is_bound_when_it_is_made_or_fixes_its_path(name: str):
    for text, statement in statements(_FILES[name]):
        if not isinstance(statement, ast.CreateFunctionStmt):
            continue
        options = {option.defname: option.arg for option in statement.options or ()}
        fixed = "set" in options and [part.val.sval for part in options["set"].args] == _PATH
        if options["language"].sval == "sql" and "as" not in options:
            assert fixed or "security" not in options, text  # the body stands parsed in the catalog
        elif options["language"].sval in ("sql", "plpgsql"):
            assert fixed, text


def _plain_literals(text: str) -> Iterator[str]:
    for found in re.finditer(
        r"--[^\n]*|^\\[^\n]*|\$(\w*)\$.*?\$\1\$|(?i:\be)'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'",
        text,
        re.DOTALL | re.MULTILINE,
    ):
        if found[0].startswith("'"):
            yield found[0]


@pytest.mark.parametrize("name", SCRIPTS)
def test_texts_mean_the_same_whatever_the_session_says_of_backslashes(name: str):
    """The server splits a script under the caller's `standard_conforming_strings`."""
    assert [text for text in _plain_literals(_FILES[name]) if "\\" in text] == []


def test_the_updates_of_http_make_its_functions_again_and_no_others():
    def functions(name: str) -> list[str]:
        return [
            re.sub(r"\s+", " ", re.sub(r"--.*", "", text))
            .strip()
            .replace("create or replace function", "create function")
            for text, statement in statements(_FILES[name])
            if isinstance(statement, ast.CreateFunctionStmt)
        ]

    assert functions("http--1.6--1.6.1.sql") == functions("http--1.6.sql")
    [sending] = functions("http--1.6.1--1.6.2.sql")
    assert sending in functions("http--1.6.sql")
    [raising] = functions("http--1.6.2--1.6.3.sql")
    assert raising in functions("http--1.6.sql")


def test_the_servers_own_scripts_only_define():
    """A statement that runs something (a query, DO, an insertion) could run what the caller's schema holds."""
    folder = find_postgres().parent / "share" / "extension"
    running = [
        (path.name, type(statement).__name__)
        for name in sorted(MADE_TRUSTED)
        for path in folder.glob(f"{name}--*.sql")
        for _, statement in statements(path.read_text())
        if type(statement).__name__ not in _DEFINITIONS
    ]

    # The one is of a version that no server can install: no script begins with 1.0.
    assert running == [("intagg--1.0--1.1.sql", "DoStmt")]
    assert not (folder / "intagg--1.0.sql").exists()


async def test_what_a_script_takes_from_everybody_stays_taken(project: asyncpg.Connection):
    """`dblink_connect_u` runs as the superuser; default privileges of schema public would give it to all roles of the API."""
    await project.execute("create extension dblink with schema public")

    rows = await project.fetch(
        "select rolname::text from pg_roles, pg_proc where proname = 'dblink_connect_u' and not rolsuper"
        " and has_function_privilege(pg_roles.oid, pg_proc.oid, 'execute')"
    )

    assert rows == []


@pytest.mark.parametrize("extension", ["dblink", "postgres_fdw"])
async def test_readers_open_no_sessions_through_an_extension(project: asyncpg.Connection, extension: str):
    """A reader's session would become that of any role whose password it knows: the published one of development."""
    await project.execute(f"create extension if not exists {extension} with schema extensions")

    rows = await project.fetch(
        "select role, bool_or(has_function_privilege(role, made.oid, 'execute')) as may from pg_depend as part"
        " join pg_proc as made on made.oid = part.objid"
        " cross join unnest('{supabase_read_only_user,postgres,authenticated}'::text[]) as role"
        " where part.deptype = 'e' and part.classid = 'pg_proc'::regclass and part.refclassid = 'pg_extension'::regclass"
        " and part.refobjid = (select oid from pg_extension where extname = $1) group by role",
        extension,
    )

    assert dict(rows) == {"supabase_read_only_user": False, "postgres": True, "authenticated": True}


def test_functions_of_the_servers_own_that_run_with_its_owners_rights_are_known():
    folder = find_postgres().parent / "share" / "extension"
    texts = {path.name: path.read_text() for name in MADE_TRUSTED for path in folder.glob(f"{name}--*.sql")}

    assert [
        name for name, text in texts.items() if re.search(r"security\s+definer", text, re.IGNORECASE)
    ] == [
        "dblink--1.2.sql"  # dblink_connect_u, which the test above watches
    ]
