import pytest


@pytest.fixture(scope="module")
def project_folder(shared):
    return shared


def test_statements_run_as_role_postgres(project_folder):
    shown = project_folder.run("psql", "-At", "-c", "select current_user, current_database()")

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == "postgres|postgres\n"


def test_options_of_psql_pass_in_any_place(project_folder):
    data = ("--data", project_folder.data)

    assert project_folder.run("psql", *data, "--csv", "-c", "select 1 as n").stdout == "n\n1\n"
    assert project_folder.run("psql", "-v", "x=7", "-Atc", "select 2", *data).stdout == "2\n"


def test_a_file_is_run(project_folder, tmp_path):
    file = tmp_path / "x.sql"
    file.write_text("\\pset format unaligned\n\\pset tuples_only on\nselect :n + 1;\n")

    assert project_folder.run("psql", "-q", "-v", "n=1", "-f", file).stdout.splitlines()[-1] == "2"


def test_an_error_of_psql_is_its_exit_code(project_folder):
    shown = project_folder.run("psql", "-v", "ON_ERROR_STOP=1", "-c", "select nonsense")

    assert shown.returncode != 0
    assert "nonsense" in shown.stderr


def test_without_a_platform_it_is_one_sentence(project_folder, tmp_path):
    shown = project_folder.run("psql", "--data", tmp_path, "-c", "select 1")

    assert shown.returncode == 1
    assert len(shown.stderr.splitlines()) == 1


def test_role_postgres_creates_the_extensions_that_projects_use(project_folder):
    names = ["pgcrypto", "uuid-ossp", "vector", "moddatetime", "pg_trgm", "unaccent"]
    for name in names:
        made = project_folder.run(
            "psql", "-c", f'create extension if not exists "{name}" with schema extensions'
        )
        assert made.returncode == 0, made.stderr
    listed = project_folder.run("psql", "-Atc", "select extname from pg_extension").stdout.split()

    assert set(names) <= set(listed)
