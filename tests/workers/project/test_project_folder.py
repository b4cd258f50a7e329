import os

import pytest

from workers.project.errors import ProjectRejected, SplitRejected
from workers.project.migration_file import write_migration
from workers.project.project_folder import read_declared, read_migrations, read_roles, read_seeds
from workers.project.snippet_files import read_snippet, write_snippet


def test_migrations_come_in_the_order_of_their_names_and_others_are_told(folder):
    for name in (
        "20240102000000_b.sql",
        "20240101000000_a.sql",
        "notes.sql",
        "readme.md",
        "sub/20240103000000_c.sql",
    ):
        folder.write(f"migrations/{name}", "select 1")

    found, notices = read_migrations(folder.path)

    assert [(each.version, each.name) for each in found] == [("20240101000000", "a"), ("20240102000000", "b")]
    assert notices == [
        "supabase/migrations/notes.sql is skipped: the name of a migration is <digits>_<name>.sql"
    ]


def test_an_old_first_init_is_skipped(folder):
    folder.write("migrations/20211208000000_init.sql", "")
    folder.write("migrations/20240101000000_init.sql", "")

    found, notices = read_migrations(folder.path)

    assert [each.version for each in found] == ["20240101000000"]
    assert "20211208000000_init.sql is older" in notices[0]


def test_two_files_of_one_version_are_refused(folder):
    folder.write("migrations/1_a.sql", "")
    folder.write("migrations/1_b.sql", "")

    with pytest.raises(ProjectRejected, match=r"1_a.sql and 1_b.sql have the same version 1"):
        read_migrations(folder.path)


def test_a_folder_that_is_not_there_holds_nothing(folder):
    assert read_migrations(folder.path) == ([], [])
    assert read_seeds(folder.path, ["./seed.sql"]) == ([], [])
    assert read_roles(folder.path) is None
    assert read_declared(folder.path, []) == ([], [])


def test_seeds_follow_their_patterns_each_once(folder):
    for name in ("seed.sql", "seeds/b.sql", "seeds/a.sql"):
        folder.write(name, "select 1")

    found, notices = read_seeds(folder.path, ["./seeds/*.sql", "./seed.sql", "./seeds/a.sql", "./none/*.sql"])

    assert [each.name for each in found] == [
        "supabase/seeds/a.sql",
        "supabase/seeds/b.sql",
        "supabase/seed.sql",
    ]
    assert notices == ["db.seed.sql_paths: no file matches ./none/*.sql"]


def test_seeds_beside_the_folder_and_by_whole_path_are_found(folder):
    folder.write("../data/one.sql", "select 1")
    folder.write("two.sql", "select 2")

    found, _ = read_seeds(folder.path, ["../data/*.sql", str(folder.path / "two.sql")])

    assert [each.text for each in found] == ["select 1", "select 2"]


def test_the_declared_schema_is_all_of_its_folder_or_what_the_settings_name(folder):
    for name in ("schemas/b.sql", "schemas/a/c.sql"):
        folder.write(name, "select 1")

    assert [each.name for each in read_declared(folder.path, [])[0]] == [
        "supabase/schemas/a/c.sql", "supabase/schemas/b.sql",
    ]  # fmt: skip
    assert [each.name for each in read_declared(folder.path, ["./schemas/b.sql"])[0]] == [
        "supabase/schemas/b.sql"
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"select 1;\n\xff", "line 2: this is not UTF-8"),
        ("a\nb".encode("utf-16-le"), "line 1: there is a zero byte"),
    ],
)
def test_a_file_that_is_no_text_is_refused_with_its_line(folder, content, message):
    folder.write("roles.sql", content)

    with pytest.raises(ProjectRejected, match=f"supabase/roles.sql, {message}"):
        read_roles(folder.path)


def test_a_byte_order_mark_does_not_matter(folder):
    folder.write("roles.sql", b"\xef\xbb\xbfselect 1")

    assert read_roles(folder.path).text == "select 1"


def test_a_file_that_cannot_be_split_shows_where(folder):
    folder.write("roles.sql", "select 1;\nselect 'a")

    with pytest.raises(SplitRejected) as refused:
        read_roles(folder.path).statements()

    assert str(refused.value).splitlines()[:4] == [
        "supabase/roles.sql, line 2, column 8: this text does not end: its closing ' is missing",
        "",
        "  select 'a",
        "         ^",
    ]


def test_a_pattern_that_is_none_is_refused_by_its_key(folder):
    with pytest.raises(ProjectRejected, match=r"db\.seed\.sql_paths: \./seeds/a\*\*\.sql is no pattern"):
        read_seeds(folder.path, ["./seeds/a**.sql"])


def test_files_of_a_killed_process_of_the_same_id_are_not_in_the_way(folder):
    (folder.path / "snippets").mkdir(parents=True)
    (folder.path / "migrations").mkdir(exist_ok=True)
    for place, name in (("snippets", "a.sql"), ("migrations", "1_a.sql")):
        (folder.path / place / f".{name}.{os.getpid()}").touch()

    write_snippet(folder.path, "a", "select 1", replaces=True)
    write_migration(folder.path, "1_a.sql", "select 1")

    assert read_snippet(folder.path, "a") == "select 1"
