"""What needs no platform; the rest is in tests/platforms/test_project.py."""

import os
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import services.cli.db as db
from services.cli.main import main
from services.cli.migration import make_migration


def test_a_new_migration_is_made_from_standard_input(project_folder):
    done = project_folder.run("migration", "new", "add posts!")

    assert done.returncode == 0, done.stderr
    made = list(project_folder.root.glob("supabase/migrations/*_add_posts.sql"))
    assert [len(path.name.partition("_")[0]) for path in made] == [14]


def test_two_migrations_of_one_moment_have_different_versions(tmp_path):
    made = [make_migration(tmp_path, name, "select 1;") for name in ("a", "b", "c")]

    assert len({path.name.partition("_")[0] for path in made}) == 3
    assert made[0].read_text() == "select 1;"


@pytest.mark.parametrize("latest", ["29991231235959_ahead.sql", "29991231235959.sql"])
def test_a_new_migration_is_later_than_all_others_though_the_clock_is_behind(tmp_path, latest):
    make_migration(tmp_path, "a", "").with_name(latest).touch()

    assert make_migration(tmp_path, "b", "").name == "30000101000000_b.sql"


def test_a_difference_keeps_the_line_breaks_of_function_bodies(tmp_path, monkeypatch):
    def work(data, project, task, output):
        os.write(output, b"select 'one\r\ntwo';\n")
        return 0

    monkeypatch.setattr(db, "work", work)
    monkeypatch.setattr(db, "running_platform", lambda *_: (None, SimpleNamespace(project=tmp_path)))

    assert CliRunner().invoke(main, ["db", "diff", "-f", "a"]).exit_code == 0
    [made] = tmp_path.glob("supabase/migrations/*_a.sql")
    assert made.read_bytes() == b"select 'one\r\ntwo';\n"


def test_a_version_that_is_none_is_refused(project_folder):
    done = project_folder.run("migration", "repair", "abc", "--status", "applied")

    assert done.returncode == 2
    assert "'abc' is no version" in done.stderr


def test_commands_on_a_project_need_a_running_platform(project_folder):
    for words in (
        ("migration", "list"),
        ("db", "push"),
        ("db", "reset"),
        ("db", "diff"),
        ("seed",),
        ("gen", "types"),
    ):
        done = project_folder.run(*words)

        assert done.returncode == 1
        assert "No platform is running" in done.stderr
