"""What `Sessions` promises, held against the pool: settings, ends of transactions, errors, and no trace between callers."""

import asyncio
import json

import pytest

from tests.workers.database.connections import backend, opened, session_database, value, work
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec

SHOW = "select current_user, current_setting('request.jwt.claims', true), current_setting('app.tenant', true)"


@pytest.fixture(scope="module")
async def database(server):
    async with session_database(server.url) as made:
        yield made


@pytest.fixture
async def pool(database):
    async with opened(database.login, 1) as made:
        yield made


async def refusal(pool, given, decide=None) -> DatabaseError:
    with pytest.raises(DatabaseError) as caught:
        await pool.run(given, decide)
    return caught.value


async def test_settings_act_in_their_order_and_the_role_is_taken(pool):
    settings = (("app.tenant", "one"), ("app.tenant", "two"), ("app.other", 'd\'accord; \\ "x" ü'))

    rows = await pool.run(work(SHOW, "select current_setting('app.other')", sub=7, settings=settings))

    assert rows == [
        [(b"session_member", b'{"sub":"7"}', b"two")],
        [('d\'accord; \\ "x" ü'.encode(),)],
    ]


async def test_settings_are_gone_after_success(pool):
    await pool.run(work("select 1", settings=(("app.tenant", "one"), ("statement_timeout", "99s"))))

    rows = await pool.run(TransactionSpec([], [Statement(SHOW), Statement("show statement_timeout")]))

    assert rows == [[(b"session_login", b"", b"")], [(b"0",)]]


async def test_settings_are_gone_after_an_error(pool):
    error = await refusal(pool, work("select 1/0", settings=(("app.tenant", "one"),)))

    assert error.code == "22012"
    assert await pool.run(TransactionSpec([], [Statement(SHOW)])) == [[(b"session_login", b"", b"")]]


async def test_more_settings_than_a_function_takes_arguments_are_applied(pool):
    many = tuple((f"app.number_{n}", str(n)) for n in range(250))

    found = await value(pool, "select current_setting('app.number_249')", settings=many)

    assert found == b"249"


async def test_a_setting_that_does_not_hold_is_an_error_of_no_statement(pool):
    error = await refusal(pool, work("select 1", settings=(("statement_timeout", "soon"),)))

    assert (error.code, error.statement_index) == ("22023", None)


async def test_a_role_that_is_not_there_is_told(pool):
    error = await refusal(pool, work("select 1", role="session_nobody"))

    assert error.code == "22023"
    assert "does not exist" in error.message


async def test_parameters_take_the_type_their_place_wants(pool):
    rows = await pool.run(
        work(
            Statement("select name from items where id = $1", (b"5",)),
            Statement("select $1::jsonb -> 'a', $2::int[], $3::text", (b'{"a":1}', b"{1,2}", None)),
            Statement(
                "select a, b from json_to_recordset($1) as _(a int, b text)", (b'[{"a":1,"b":"x"},{"a":2}]',)
            ),
        )
    )

    assert rows == [[(b"item 5",)], [(b"1", b"{1,2}", None)], [(b"1", b"x"), (b"2", None)]]


async def test_columns_wanted_in_binary_come_so_beside_text(pool):
    statement = Statement(
        "select 258, decode('00ff5c', 'hex'), 'täxt', $1::json", (b'{"a": 1}',), frozenset({1, 3})
    )

    for _ in range(2):
        rows = await pool.run(work(statement, "select 1"))

        assert rows == [[(b"258", b"\x00\xff\x5c", "täxt".encode(), b'{"a": 1}')], [(b"1",)]]


async def test_a_statement_without_columns_may_be_asked_in_binary(pool):
    statement = Statement("update items set name = name where id = 1", (), frozenset({0}))

    assert await pool.run(work(statement)) == [[]]


async def test_an_error_of_a_statement_in_binary_names_it(pool):
    error = await refusal(pool, work("select 1", Statement("select nothing", (), frozenset({0}))))

    assert (error.code, error.statement_index) == ("42703", 1)


async def test_empty_statements_give_no_rows(pool):
    assert await pool.run(work("", "select 1")) == [[], [(b"1",)]]


async def test_an_error_has_its_fields_and_its_statement(pool):
    error = await refusal(pool, work("select 1", "insert into items values (1, 'twice')"))

    assert (error.code, error.statement_index, error.constraint) == ("23505", 1, "items_pkey")
    assert (error.schema, error.table, error.severity) == ("public", "items", "ERROR")
    assert error.details == "Key (id)=(1) already exists."


async def test_all_statements_are_undone_when_one_fails(pool, database):
    await refusal(pool, work("update items set name = 'changed' where id = 2", "select 1/0"))

    assert await database.value("select name from items where id = 2") == "item 2"


@pytest.mark.parametrize("isolation", [None, "serializable"])
async def test_reads_cannot_write(pool, isolation):
    error = await refusal(pool, work("delete from items", read_only=True, isolation=isolation))

    assert error.code == "25006"


@pytest.mark.parametrize("isolation", ["read committed", "REPEATABLE READ", "serializable"])
async def test_the_isolation_asked_for_is_had_and_the_work_kept(pool, database, isolation):
    await pool.run(work("update items set name = 'kept' where id = 3", isolation=isolation))
    found = await value(pool, "show transaction_isolation", isolation=isolation)

    assert found == isolation.lower().encode()
    assert await database.value("select name from items where id = 3") == "kept"


async def test_an_isolation_that_is_none_is_refused_before_anything_is_sent(pool):
    with pytest.raises(ValueError, match="no isolation level"):
        await pool.run(work("select 1", isolation="serializable; drop table items"))

    assert await value(pool, "select 1") == b"1"


@pytest.mark.parametrize("isolation", [None, "repeatable read"])
async def test_deferred_constraints_fail_the_commit(pool, database, isolation):
    error = await refusal(pool, work("insert into children values (1, 404)", isolation=isolation))

    assert (error.code, error.statement_index) == ("23503", None)
    assert await database.value("select count(*) from children") == 0
    assert await value(pool, "select 1") == b"1"


async def test_a_rollback_gives_the_rows_and_keeps_nothing(pool, database):
    rows = await pool.run(
        work("insert into items values (900, 'tried') returning id", end=TransactionEnd.ROLLBACK)
    )

    assert rows == [[(b"900",)]]
    assert await database.value("select count(*) from items where id = 900") == 0


async def test_a_rollback_checks_deferred_constraints(pool):
    error = await refusal(pool, work("insert into children values (1, 404)", end=TransactionEnd.ROLLBACK))

    assert error.code == "23503"
    assert await value(pool, "select 1") == b"1"


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_decision_keeps_the_work_or_not(pool, database, is_kept):
    seen = []

    rows = await pool.run(
        work("insert into items values (901, 'decided') returning id", end=TransactionEnd.DECIDE),
        lambda results: seen.append(results) or is_kept,
    )

    assert rows == [[(b"901",)]]
    assert seen == [rows]
    assert await database.value("select count(*) from items where id = 901") == is_kept
    await database.execute("delete from items where id = 901")


async def test_what_a_decision_raises_passes_after_a_rollback(pool, database):
    def decide(results):
        raise LookupError("too many rows")

    with pytest.raises(LookupError, match="too many rows"):
        await pool.run(work("delete from items", end=TransactionEnd.DECIDE), decide)

    assert await database.value("select count(*) from items") == 100
    assert await value(pool, "select 1") == b"1"


@pytest.mark.parametrize("is_kept", [True, False])
async def test_deferred_constraints_fail_a_decided_work(pool, database, is_kept):
    error = await refusal(
        pool, work("insert into children values (1, 404)", end=TransactionEnd.DECIDE), lambda _: is_kept
    )

    assert error.code == "23503"
    assert await database.value("select count(*) from children") == 0
    assert await value(pool, "select 1") == b"1"


async def test_nothing_is_decided_when_a_statement_failed(pool):
    asked = []

    error = await refusal(
        pool, work("select 1/0", end=TransactionEnd.DECIDE), lambda _: asked.append(1) or True
    )

    assert (error.code, asked) == ("22012", [])
    assert await value(pool, "select 1") == b"1"


async def test_a_decision_belongs_to_its_end(pool):
    with pytest.raises(ValueError, match="decision"):
        await pool.run(work("select 1"), lambda _: True)
    with pytest.raises(ValueError, match="decision"):
        await pool.run(work("select 1", end=TransactionEnd.DECIDE))


@pytest.mark.parametrize("end", ["begin", "commit", "rollback"])
async def test_a_statement_may_not_begin_or_end_the_transaction(pool, end):
    if end == "begin":
        error = await refusal(pool, work("begin"))
    else:
        error = await refusal(pool, work(end, end=TransactionEnd.DECIDE), lambda _: True)

    assert error.code == "2D000"
    assert await value(pool, "select current_user") == b"session_member"


@pytest.mark.parametrize("statement", ["copy items to stdout", "copy items from stdin"])
async def test_copy_is_refused_and_the_pool_goes_on(pool, statement):
    error = await refusal(pool, work(statement, role="session_service"))

    assert error.code == "0A000"
    assert await value(pool, "select 1") == b"1"


async def test_text_with_a_nul_is_refused_before_it_is_sent(pool):
    for given in (
        work(Statement("select $1::text", (b"a\0b",))),
        work("select 1", settings=(("app.tenant", "a\0b"),)),
        work("select 'a\0b'"),
        work(Statement("select $1::text", ("half \ud800".encode("utf-8", "surrogatepass"),))),
    ):
        assert (await refusal(pool, given)).code == "22021"

    assert await value(pool, "select 1") == b"1"


async def test_new_statements_of_a_refused_work_are_prepared_by_the_next_one(pool):
    text = "select $1::text || ' of a refused work'"
    await refusal(pool, work(Statement(text, (b"\0",))))

    assert await value(pool, text, b"text") == b"text of a refused work"


async def test_notices_do_not_disturb_the_answer(pool):
    assert await pool.run(
        work("do $$ begin raise notice 'hear'; raise warning 'hear'; end $$", "select 1")
    ) == [
        [],
        [(b"1",)],
    ]


async def test_sixty_calls_by_nine_users_on_one_statement_see_only_their_rows(database):
    async with opened(database.login, 4) as pool:
        text = "select json_agg(owner order by id) from notes"

        answers = await asyncio.gather(*(value(pool, text, sub=n % 9) for n in range(60)))

    assert [json.loads(found) for found in answers] == [[n % 9] * 10 for n in range(60)]


async def test_one_statement_under_three_roles_obeys_each(pool, database):
    await database.execute("alter role session_service bypassrls")
    text = "select count(*) from notes"

    seen = [
        await value(pool, text, role=f"session_{name}", sub=1)
        for name in ("member", "service", "guest", "member")
    ]

    assert seen == [b"10", b"90", b"10", b"10"]


async def test_policies_that_change_act_at_once_on_known_statements(pool, database):
    text = "select count(*) from notes"
    before = await value(pool, text, sub=1)
    await database.execute("create policy odd on notes using (owner % 2 = 1)")
    between = await value(pool, text, sub=1)
    await database.execute("drop policy odd on notes")

    assert (before, between, await value(pool, text, sub=1)) == (b"10", b"40", b"10")


# What one caller leaves behind


async def test_a_pinned_role_does_not_reach_the_next_caller(pool):
    assert await value(pool, "select pin_role()", role="session_guest") == b"session_service"

    assert await value(pool, "select current_user", role="session_guest") == b"session_guest"
    assert await pool.run(TransactionSpec([], [Statement("select current_user")])) == [[(b"session_login",)]]


async def test_session_settings_do_not_reach_the_next_caller(pool):
    before = await backend(pool)
    await pool.run(work("select leave_settings()"))

    rows = await pool.run(
        TransactionSpec(
            [],
            [
                Statement(SHOW),
                Statement("select 'ü', current_setting('search_path'), current_setting('statement_timeout')"),
            ],
        )
    )

    assert rows == [[(b"session_login", b"", b"")], [("ü".encode(), b'"$user", public', b"0")]]
    assert await backend(pool) == before


async def test_session_locks_do_not_outlive_the_next_work(pool, database):
    await pool.run(work("select leave_settings()"))
    await value(pool, "select 1")

    assert (
        await database.value("select count(*) from pg_locks where locktype = 'advisory' and objid = 4711")
        == 0
    )


@pytest.mark.parametrize(("isolation", "read_only"), [("serializable", "off"), ("read committed", "on")])
async def test_defaults_of_the_transaction_do_not_reach_the_next_caller(pool, database, isolation, read_only):
    await pool.run(work(Statement("select leave_defaults($1, $2)", (isolation.encode(), read_only.encode()))))

    rows = await pool.run(
        work(
            "update items set name = 'written' where id = 9",
            "select current_setting('transaction_isolation')",
        )
    )

    assert rows[1] == [(b"read committed",)]
    assert await database.value("select name from items where id = 9") == "written"


async def test_temporary_objects_do_not_reach_the_next_caller(pool):
    before = await backend(pool)
    for secret in (b"first", b"second"):
        await pool.run(work(Statement("select leave_temporary($1)", (secret,))))

        error = await refusal(pool, work("select secret from scratch"))

        assert error.code == "42P01"
    assert (
        await value(pool, "select to_regclass('pg_temp.scratch')", read_only=True, isolation="serializable")
        is None
    )
    assert await backend(pool) == before


async def test_a_connection_that_listens_is_not_used_again(pool, database):
    before = await backend(pool)
    await pool.run(work("select leave_listening()"))
    await pool.run(work("notify session_news, 'hear'"))

    assert await backend(pool) != before


async def test_settings_of_the_login_role_stay(database):
    await database.execute("alter role session_login set app.tenant = 'of the role'")
    try:
        async with opened(database.login, 1) as pool:
            await pool.run(work("select leave_settings()"))

            assert await value(pool, "select current_setting('app.tenant')") == b"of the role"
    finally:
        await database.execute("alter role session_login reset app.tenant")


# Prepared statements that are not what they were


async def test_a_bare_star_survives_ddl(pool, database):
    await database.execute(
        "create table moving (a int); insert into moving values (1); grant all on moving to session_member"
    )
    text = "select * from moving"
    before = await pool.run(work(text))
    await database.execute("alter table moving add b text default 'new'")

    assert before == [[(b"1",)]]
    assert await pool.run(work(text)) == [[(b"1", b"new")]]
    assert await pool.run(work(text)) == [[(b"1", b"new")]]
    await database.execute("drop table moving")


async def test_a_bare_star_in_binary_survives_ddl(pool, database):
    await database.execute(
        "create table moving (a int); insert into moving values (1); grant all on moving to session_member"
    )
    statement = Statement("select * from moving", (), frozenset({0}))
    before = await pool.run(work(statement))
    await database.execute("alter table moving add b text default 'new'")

    assert before == [[(b"\0\0\0\1",)]]
    assert await pool.run(work(statement, isolation="serializable")) == [[(b"\0\0\0\1", b"new")]]
    await database.execute("drop table moving")


async def test_a_wrapped_star_survives_ddl_without_a_second_try(pool, database):
    await database.execute(
        "create table moving (a int); insert into moving values (1); grant all on moving to session_member"
    )
    text = "select json_agg(t) from (select * from moving) t"
    before = await value(pool, text)
    await database.execute("alter table moving add b int default 2")

    assert (before, await value(pool, text)) == (b'[{"a":1}]', b'[{"a":1,"b":2}]')
    await database.execute("drop table moving")


@pytest.mark.parametrize("end", [TransactionEnd.COMMIT, TransactionEnd.ROLLBACK])
async def test_statements_that_sql_deallocated_are_prepared_again(pool, end):
    await pool.run(work("select forget_statements()", "select 1"))

    assert await pool.run(work("select 1", end=end)) == [[(b"1",)]]


async def test_an_error_inside_a_function_is_not_taken_for_a_stale_statement(pool):
    error = await refusal(pool, work("do $$ begin execute 'execute nothing_prepared'; end $$"))

    assert error.code == "26000"


async def test_everything_works_without_prepared_statements(database):
    async with opened(database.login, 1, prepared=False) as pool:
        statement = Statement("select $1::int + 1, decode('00', 'hex')", (b"1",), frozenset({1}))
        for end in (TransactionEnd.COMMIT, TransactionEnd.ROLLBACK, TransactionEnd.COMMIT):
            assert await pool.run(work(statement, "select 1", end=end)) == [[(b"2", b"\0")], [(b"1",)]]
        error = await refusal(pool, work("select 1", "select 1/0"))

        names = await value(pool, "select count(*) from pg_prepared_statements")

    assert (error.code, error.statement_index) == ("22012", 1)
    assert names == b"0"
