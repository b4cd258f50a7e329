import pytest

from schemas.settings.tree import Settings
from workers.project import history
from workers.project.errors import ProjectRejected, ScriptFailed
from workers.project.project_connection import open_project_connection
from workers.project.push import push, read_project_files, start_project


def told():
    lines = []
    return lines, lines.append


async def start(project, folder, **options):
    said, say = told()
    warned, warn = told()
    await start_project(
        project,
        read_project_files(folder.path, Settings()),
        say,
        warn,
        with_seeds=options.get("with_seeds", True),
    )
    return said, warned


async def one(project, sql):
    return await project.connection.fetchval(sql)


async def test_a_start_applies_roles_migrations_and_seeds_once(project, folder):
    folder.write("roles.sql", "do $$ begin raise notice 'roles'; end $$")
    folder.write("migrations/1_a.sql", "create table a (id int);")
    folder.write("migrations/2_b.sql", "alter table a add b text;\ninsert into a values (1, 'x');")
    folder.write("seed.sql", "insert into a values (2, 'y');")

    first, warned = await start(project, folder)
    second, _ = await start(project, folder)

    assert first == [
        "Roles of supabase/roles.sql are there",
        "Applied supabase/migrations/1_a.sql",
        "Applied supabase/migrations/2_b.sql",
        "Seeded supabase/seed.sql",
    ]
    assert (second, warned) == ([], [])
    assert await one(project, "select array_agg(b order by id) from a") == ["x", "y"]
    assert await one(
        project, "select statements from supabase_migrations.schema_migrations where version = '2'"
    ) == [
        "alter table a add b text",
        "insert into a values (1, 'x')",
    ]
    assert await one(project, "select path from supabase_migrations.seed_files") == "supabase/seed.sql"


async def test_what_is_new_is_applied_by_the_next_start(project, folder):
    folder.write("migrations/1_a.sql", "create table a (id int);")
    await start(project, folder)
    folder.write("migrations/2_b.sql", "create table b (id int);")

    said, _ = await start(project, folder)

    assert said == ["Applied supabase/migrations/2_b.sql"]


async def test_a_file_that_fails_leaves_those_before_it(project, folder):
    folder.write("migrations/1_a.sql", "create table a (id int);")
    folder.write("migrations/2_b.sql", "create table b (id int); select nothing;")
    folder.write("migrations/3_c.sql", "create table c (id int);")

    with pytest.raises(ScriptFailed, match=r"supabase/migrations/2_b.sql, statement 2, line 1"):
        await start(project, folder)

    assert await history.applied_versions(project.connection) == ["1"]
    assert await one(project, "select to_regclass('b') is null and to_regclass('c') is null")


async def test_a_seed_that_fails_is_not_recorded_and_leaves_no_rows(project, folder):
    folder.write("migrations/1_a.sql", "create table a (id int);")
    folder.write("seed.sql", "insert into a values (1); insert into a values ('x');")

    with pytest.raises(ScriptFailed, match=r"supabase/seed.sql, statement 2"):
        await start(project, folder)

    assert await one(project, "select count(*) from a") == 0
    assert await history.seed_hashes(project.connection) == {}


async def test_seeds_are_left_alone_on_an_outside_database(project, folder):
    folder.write("seed.sql", "select nothing;")

    assert await start(project, folder, with_seeds=False) == ([], [])


async def test_a_history_that_disagrees_is_told_at_the_start_and_nothing_runs(project, folder):
    folder.write("migrations/2_b.sql", "create table b (id int);")
    await start(project, folder)
    folder.write("migrations/1_a.sql", "create table a (id int);")
    folder.write("migrations/3_c.sql", "create table c (id int);")

    said, warned = await start(project, folder)

    assert said == []
    assert "headwater db push --include-all" in warned[0]
    assert await history.applied_versions(project.connection) == ["2"]


async def test_push_refuses_late_migrations_until_all_are_wanted(project, folder):
    say = told()[1]
    folder.write("migrations/2_b.sql", "create table b (id int);")
    await start(project, folder)
    folder.write("migrations/1_a.sql", "create table a (id int);")
    local = read_project_files(folder.path, Settings())

    with pytest.raises(ProjectRejected, match=r"1_a.sql"):
        await push(project, local, say, include_all=False, seeds=False, roles=False)
    done = await push(project, local, say, include_all=True, seeds=False, roles=False)

    assert done == 1
    assert await history.applied_versions(project.connection) == ["1", "2"]


async def test_notices_of_statements_are_passed_on(links, folder):
    heard = []
    folder.write("migrations/1_a.sql", "do $$ begin raise notice 'made by %', current_user; end $$;")
    async with open_project_connection(links.project, heard.append) as project:
        await start(project, folder)

    assert heard == ["made by postgres"]
