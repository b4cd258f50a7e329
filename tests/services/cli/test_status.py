import json
import shlex
import subprocess

from services.cli.status import _span


def test_status_of_nothing_is_one_sentence_and_exit_code_1(project_folder):
    shown = project_folder.run("status")

    assert shown.returncode == 1
    assert shown.stdout == ""
    assert len(shown.stderr.splitlines()) == 1
    assert "headwater start" in shown.stderr


def test_status_in_a_folder_without_a_platform_names_those_that_run(shared, tmp_path):
    shown = subprocess.run(
        shared.argv("status"),
        cwd=tmp_path,
        env=shared.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert shown.returncode == 1
    assert f"--data {shared.data}" in shown.stderr.partition("Running: ")[2]


def test_a_platform_is_found_from_the_folders_below_its_own(shared):
    below = shared.root / "examples" / "chat"
    below.mkdir(parents=True)
    (below.parent / ".headwater").mkdir()  # a folder of that name which no platform has is passed over

    shown = subprocess.run(
        shared.argv("status", "-o", "json"), cwd=below, env=shared.environment, capture_output=True, text=True, timeout=60
    )  # fmt: skip

    assert json.loads(shown.stdout) == json.loads(shared.run("status", "-o", "json").stdout)


def test_all_forms_tell_the_same(shared):
    lines = shared.run("status", "-o", "env").stdout.splitlines()
    from_env = dict(shlex.split(line)[0].split("=", 1) for line in lines)
    from_json = json.loads(shared.run("status", "-o", "json").stdout)

    assert from_env == from_json
    assert from_json["DB_URL"].startswith("postgresql://postgres:postgres@127.0.0.1:")
    assert {"ANON_KEY", "SERVICE_ROLE_KEY", "PUBLISHABLE_KEY", "SECRET_KEY", "JWT_SECRET"} <= from_json.keys()
    assert all(value in shared.run("status").stdout for value in from_json.values())


def test_a_shell_reads_the_env_form(shared):
    lines = shared.run("status", "-o", "env").stdout
    heard = subprocess.run(
        ["sh", "-c", 'eval "$1"; printf %s "$JWT_SECRET"', "sh", lines],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert heard == json.loads(shared.run("status", "-o", "json").stdout)["JWT_SECRET"]


def test_the_parts_are_listed_with_how_they_fare(shared):
    shown = shared.run("status").stdout

    assert "postgres  running for" in shown
    assert "nats  running for" in shown


def test_a_platform_is_named_by_data_or_project_or_environment(shared, tmp_path):
    elsewhere = tmp_path / "x"
    elsewhere.mkdir()

    assert shared.run("status", "--data", shared.data).returncode == 0
    assert shared.run("status", "--project", shared.root).returncode == 0
    assert shared.run("status", HEADWATER_DATA=str(shared.data)).returncode == 0
    assert shared.run("status", "--project", elsewhere).returncode == 1


def test_spans_are_told_in_one_unit():
    assert [_span(seconds) for seconds in (3, 119, 120, 7200, 200_000)] == [
        "3 s",
        "119 s",
        "2 min",
        "2 h",
        "2 d",
    ]
