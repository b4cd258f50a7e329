"""Privileges of a role, compared with those that Postgres reports."""

from tests.workers.database.introspection_fixtures import connected, fresh_database, login_role
from tests.workers.graphql.library import (
    EDITOR,
    GRANTS,
    LIBRARY,
    LOGIN,
    MEMBER,
    READER,
    UNPRIVILEGED,
    library_snapshot,
)
from workers.database.connection_pool.pool import ConnectionPool
from workers.graphql.reflect.privileges import DELETE, INSERT, SELECT, UPDATE, RolePrivileges
from workers.graphql.reflect.read import read
from workers.graphql.reflect.rows import ReflectedRoles

_MORE = """
do $$ begin create role "gql odd=""name"; exception when duplicate_object then null; end $$;
do $$ begin create role gql_all_reader; exception when duplicate_object then null; end $$;
do $$ begin create role gql_all_writer; exception when duplicate_object then null; end $$;
do $$ begin create role gql_aloof noinherit; exception when duplicate_object then null; end $$;
grant pg_read_all_data to gql_all_reader;
grant pg_write_all_data to gql_all_writer;
grant gql_editor to gql_aloof with inherit false;
grant usage on schema library to "gql odd=""name";
grant select, insert (day) on library.loan to "gql odd=""name" with grant option;
revoke all on library.sheet from current_user;
grant usage on type library.secret_mark to gql_member;
"""
_ROLES = (
    READER, EDITOR, MEMBER, UNPRIVILEGED, LOGIN, 'gql odd="name', "gql_all_reader", "gql_all_writer", "gql_aloof", "tester",
)  # fmt: skip
_KINDS = {"SELECT": SELECT, "INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE}


async def test_rights_are_those_that_postgres_tells(server):
    roles = login_role(LOGIN, READER, EDITOR, MEMBER, UNPRIVILEGED)
    async with fresh_database(server.url, roles, LIBRARY, GRANTS, _MORE) as url, connected(url) as connection:
        pool = await ConnectionPool.open(url, 1)
        snapshot = await read(pool, ["library", "archive"])
        await pool.close()
        for role in _ROLES:
            rights = RolePrivileges(snapshot.roles, role)
            for space in snapshot.schemas:
                assert rights.may_enter(space.acl) == await connection.fetchval(
                    "select has_schema_privilege($1, $2::int8::oid, 'USAGE')", role, space.oid
                ), (role, space.name)
            for row in snapshot.relations:
                told = await connection.fetchrow(
                    "select "
                    + ",".join(f"has_table_privilege($1, $2::int8::oid, '{kind}')" for kind in _KINDS),
                    role,
                    row.oid,
                )
                letters = rights.on_relation(row.acl)
                assert [letter in letters for letter in _KINDS.values()] == list(told), (role, row.name)
                for column in snapshot.columns[row.oid]:
                    granted = letters | rights.granted(column.acl)
                    told = await connection.fetchval(
                        "select has_column_privilege($1, $2::int8::oid, $3::int2, 'SELECT')",
                        role,
                        row.oid,
                        column.number,
                    )
                    assert (SELECT in granted) == told, (role, row.name, column.name)
            for each in snapshot.types.values():
                if each.schema == "library" and each.kind == "e":
                    assert rights.may_use(each.acl) == await connection.fetchval(
                        "select has_type_privilege($1, $2::int8::oid, 'USAGE')", role, each.oid
                    ), (role, each.name)
            for function in snapshot.functions:
                if function.name in ("kept_back", "numbers"):
                    assert rights.may_call(function.acl) == await connection.fetchval(
                        "select has_function_privilege($1, $2, 'EXECUTE')", role, f"library.{function.name}()"
                    ), (role, function.name)


def test_memberships_are_followed_in_circles_and_chains():
    rights = RolePrivileges(ReflectedRoles([], [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]), "a")

    assert rights.granted("c=r*/x\nd=w/x") == {"r", "*"}
    assert rights.granted("=a/x") == {"a"}
    assert rights.granted(None) == frozenset()


def test_a_superuser_may_do_all():
    rights = RolePrivileges(ReflectedRoles(["root"], []), "root")

    assert rights.may_enter("")
    assert rights.may_call("")
    assert {SELECT, INSERT} <= rights.on_relation("")


async def test_a_role_the_server_does_not_know_holds_what_everyone_holds(server):
    snapshot = await library_snapshot(server.url)

    assert not any(
        RolePrivileges(snapshot.roles, "gql_nobody").may_enter(space.acl) for space in snapshot.schemas
    )
