"""A change made through the management interface becomes a file of the project folder, on a running platform."""

import json
import urllib.request
from pathlib import Path
from typing import Any

from tests.platforms.test_project import RunningPlatform, started_project

_CHANGE = {
    "change": "create_table", "table": "posts",
    "columns": [{"name": "id", "type": "bigint", "identity": "always"}, {"name": "title", "type": "text"}], "primary_key": ["id"],
}  # fmt: skip


def _operate(project: RunningPlatform, token: str, name: str, arguments: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{project.port}/management/v1/operations/{name}",
        json.dumps(arguments).encode(),
        {"authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())


def _token(project: RunningPlatform) -> str:
    return str(project.run("admin", "token", "t", "--rights", "developer", "--write").stdout.strip())


def test_a_change_is_a_file_that_a_reset_applies_again() -> None:
    with started_project() as project:
        project.write("migrations/20240101000000_first.sql", "create table public.first (id int);")
        assert project.start().returncode == 0
        token = _token(project)

        applied = _operate(project, token, "schema.apply", {"name": "add posts", "changes": [_CHANGE]})

        path = Path(project.root, applied["migration"]["file"]["path"])
        assert path.read_text() == applied["migration"]["text"]
        assert "pushed" not in project.run("migration", "up").stdout
        rows = json.loads(project.run("migration", "list", "-o", "json").stdout)
        assert [(row["local"], row["remote"]) for row in rows][-1] == (applied["migration"]["version"],) * 2
        path.unlink()
        refused = project.run("migration", "up")
        assert (refused.returncode, "headwater migration fetch" in refused.stderr) == (2, True)
        fetched = project.run("migration", "fetch")
        assert f"Wrote {applied['migration']['file']['path']}" in fetched.stderr
        assert path.read_text() == applied["migration"]["text"]
        assert "has every migration" in project.run("migration", "fetch").stderr
        reset = project.run("db", "reset")
        assert reset.returncode == 0, reset.stderr
        assert project.psql("select count(title) from public.posts") == "0"
        listed = _operate(project, _token(project), "migrations.list", {})
        assert [row["state"] for row in listed["migrations"]] == ["applied", "applied"]
