"""Privileges in the schemas of the platform, as a table: docs/reference/platform.md, section 3."""

import asyncpg
import pytest

from schemas.platform_names import LOGIN_PREFIXES, PLATFORM_ROLES
from tests.schemas.callers import API_ROLES
from tests.schemas.conftest import PASSWORD
from tests.workers.database.server import Server, connected

_API = " ".join(API_ROLES)
_ALL = "select insert update delete truncate references trigger"

SCHEMAS = [
    # schemas, roles, privileges; * is the grant option
    ("public extensions auth storage realtime graphql_public graphql supabase_functions", _API, "usage"),
    ("public extensions auth storage realtime graphql_public", "postgres", "usage create"),
    ("supabase_functions", "postgres", "usage* create*"),
    ("supabase_functions", "supabase_functions_admin", "usage create"),
    ("supabase_migrations", "postgres", "usage create"),
    ("vault", "postgres service_role", "usage"),
    ("auth storage extensions", "dashboard_user", "usage create"),
]
TABLES = [
    ("vault.secrets", "postgres", "select* insert* update* delete* truncate* references*"),
    ("vault.decrypted_secrets", "postgres", "select* insert* update* delete*"),
    ("vault.secrets vault.decrypted_secrets", "service_role", "select insert update delete"),
    ("auth.users auth.identities auth.sessions auth.refresh_tokens", "postgres", f"{_ALL} select*"),
    ("auth.users auth.audit_log_entries", "dashboard_user", _ALL),
    ("storage.buckets storage.objects", "postgres", " ".join(f"{name}*" for name in _ALL.split())),
    ("storage.buckets storage.objects", _API, "select insert update delete"),
    ("realtime.messages", "postgres", _ALL),
    ("realtime.messages", _API, "select insert update"),
    ("supabase_functions.hooks", "postgres", " ".join(f"{name}*" for name in _ALL.split())),
]
DEFAULTS = [
    # schema, roles that make things, roles that get all privileges on them
    ("public", "postgres supabase_admin", f"postgres {_API}"),
    ("storage", "postgres supabase_admin", f"postgres {_API}"),
    ("graphql", "postgres supabase_admin", f"postgres {_API}"),
    ("graphql_public", "postgres supabase_admin", f"postgres {_API}"),
    ("auth", "supabase_auth_admin", "postgres dashboard_user"),
    ("supabase_functions", "supabase_admin supabase_functions_admin", "postgres"),
]
_DANGEROUS = """
select c.oid::regclass::text as relation, access.grantee::regrole::text as role, access.privilege_type as privilege
from pg_class c join pg_roles owner on owner.oid = c.relowner and owner.rolsuper, aclexplode(c.relacl) as access
left join pg_roles grantee on grantee.oid = access.grantee
where c.oid >= 16384 and access.privilege_type in ('REFERENCES', 'TRIGGER') and not coalesce(grantee.rolsuper, false)
"""


def _rows(table: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return a row for each combination of the words in a row."""
    return [
        (thing, role, privilege)
        for things, roles, privileges in table
        for thing in things.split()
        for role in roles.split()
        for privilege in privileges.split()
    ]


@pytest.mark.parametrize(("kind", "table"), [("schema", SCHEMAS), ("table", TABLES)])
async def test_roles_have_the_privileges_of_the_table(
    admin: asyncpg.Connection, kind: str, table: list[tuple[str, str, str]]
) -> None:
    missing = []
    for thing, role, privilege in _rows(table):
        word = privilege.replace("*", " with grant option")
        if not await admin.fetchval(f"select has_{kind}_privilege($1, $2, $3)", role, thing, word):
            missing.append((thing, role, privilege))

    assert missing == []


async def test_what_is_made_later_is_granted_by_default(admin: asyncpg.Connection) -> None:
    rows = await admin.fetch(
        """
        select defaclnamespace::regnamespace::text as schema, defaclrole::regrole::text as maker,
          access.grantee::regrole::text as role, defaclobjtype::text as kind
        from pg_default_acl, aclexplode(defaclacl) as access where access.grantee <> 0
        """
    )
    granted = {tuple(row) for row in rows}

    assert {(*row, kind) for row in _rows(DEFAULTS) for kind in ("r", "S", "f")} <= granted


async def test_nobody_refers_to_a_table_of_the_superuser_or_gives_it_triggers(
    admin: asyncpg.Connection,
) -> None:
    """Both run code of whoever has the privilege with the rights of the table's owner, or of who writes to it."""
    assert [tuple(row) for row in await admin.fetch(_DANGEROUS)] == []


# Publications that only a superuser may create

_REJECTED = [
    ("create publication p for all tables", "publish_all_tables", "FOR ALL TABLES"),
    (
        ' CREATE  PUBLICATION "a ""b" FOR\nALL TABLES with (publish = \'insert\')',
        "migration",
        "FOR ALL TABLES",
    ),
    ("create publication p for tables in schema public", "Name the tables", "FOR TABLES IN SCHEMA"),
    ("alter publication p add tables in schema public", "Name the tables", "FOR TABLES IN SCHEMA"),
]


@pytest.mark.parametrize(("statement", "hint", "message"), _REJECTED)
async def test_a_publication_that_wants_a_superuser_is_rejected_with_advice(
    project: asyncpg.Connection, statement: str, hint: str, message: str
) -> None:
    if statement.startswith("alter"):
        await project.execute("create publication p")

    with pytest.raises(asyncpg.InsufficientPrivilegeError, match=message) as rejection:
        await project.execute(statement)

    assert hint in str(rejection.value.hint)


async def test_the_advice_is_right(project: asyncpg.Connection) -> None:
    await project.execute("create table public.a (id int primary key)")

    await project.execute("select headwater.publish_all_tables('name', null)")
    await project.execute("create publication named for table public.a")

    names = await project.fetch(
        "select pubname::text from pg_publication where pubowner = 'postgres'::regrole"
    )
    assert {"name", "named"} <= {row[0] for row in names}


@pytest.mark.parametrize(
    "statement",
    [
        "create publication p",
        "create publication p for table public.a",
        "create publication p for table public.a /* for all tables */",
        "comment on schema public is 'create publication p for all tables'; create publication p",
        'create publication "p for all tables"; alter publication "p for all tables" add table public.a',
    ],
)
async def test_other_publications_are_made(project: asyncpg.Connection, statement: str) -> None:
    await project.execute("create table public.a (id int primary key)")

    await project.execute(statement)


async def test_a_superuser_makes_any_publication(migrated_server: Server) -> None:
    async with connected(migrated_server.url()) as admin:
        transaction = admin.transaction()
        await transaction.start()
        await admin.execute("create publication p for all tables")
        await transaction.rollback()


async def test_a_function_gets_the_servers_own_error(migrated_server: Server) -> None:
    async with connected(migrated_server.url("postgres", PASSWORD)) as project:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="FOR ALL TABLES"):
            await project.execute("do $$ begin create publication p for all tables; end $$")


async def test_every_role_of_the_platform_is_known_as_such(admin: asyncpg.Connection) -> None:
    """Dumps, backups and comparisons leave the platform's roles out; `LOGIN_PREFIXES` are those that come and go."""
    roles = await admin.fetch(
        "select rolname::text from pg_catalog.pg_roles where oid >= 16384 and rolname !~ '^pg_'"
    )

    unknown = {row[0] for row in roles} - PLATFORM_ROLES
    assert {name for name in unknown if not name.startswith(LOGIN_PREFIXES)} == set()
