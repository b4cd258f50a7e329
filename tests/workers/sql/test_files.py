import pytest

from workers.sql.files import read_statements

_GOOD = """-- What the file is for.

-- name: first
-- Why.
select 1

-- name: second
select '--'
  -- inner
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "package_of_statements"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "good.sql").write_text(_GOOD)
    (folder / "twice.sql").write_text("-- name: a\nselect 1\n-- name: a\nselect 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    return folder.name


def test_statements_are_read_by_name_without_their_comments(package):
    assert read_statements(package, "good.sql") == {"first": "select 1", "second": "select '--'"}


def test_a_name_that_stands_twice_is_refused(package):
    with pytest.raises(ValueError, match="twice"):
        read_statements(package, "twice.sql")


def test_statements_of_the_schema_cache_are_all_there():
    assert set(read_statements("workers.database.schema_cache", "introspect.sql")) == {
        "settings",
        "server",
        "relations",
        "columns",
        "enums",
        "constraints",
        "views",
        "functions",
        "computed",
        "representations",
        "media_handlers",
        "roles",
    }
