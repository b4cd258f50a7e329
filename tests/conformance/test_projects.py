"""The command over whole projects tells what is clean, and of what is not the place.

Of the ten projects of `tests/projects` one is run here as it is and one with a fault put into it;
`python -m tests.conformance.projects tests/projects/*` runs all.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.conformance.projects.folder import NoProject, find
from tests.conformance.projects.report import Check, Failure, Outcome, outcome, table, told

PROJECTS = Path(__file__).parents[1] / "projects"
pytestmark = [pytest.mark.process_group("projects"), pytest.mark.timeout(600)]


def write(root: Path, files: dict[str, str]) -> Path:
    """Write a project."""
    for path, text in files.items():
        file = root / "supabase" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "tests.conformance.projects", *map(str, words)],
        capture_output=True, text=True, timeout=580, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three projects: with a bad migration, with a bad seed, and a sound one with a bad function put into it."""
    top = tmp_path_factory.mktemp("broken")
    table_of_one = "create table one (id int primary key);\n"
    faulty = {"migrations/2_two.sql": "select 1;\n\nselect nothing;\n"}
    shutil.copytree(PROJECTS / "jobs", top / "bad-function")
    return [
        write(top / "bad-migration", {"migrations/1_one.sql": table_of_one, **faulty}),
        write(
            top / "bad-seed",
            {"migrations/1_one.sql": table_of_one, "seed.sql": "insert into one values (1), (1);\n"},
        ),
        write(top / "bad-function", {"functions/bad/index.ts": "Deno.serve(() => {"}),
    ]


@pytest.fixture(scope="module")
def done(broken: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """Run a sound project and the broken ones, and give what became of each."""
    file = tmp_path_factory.mktemp("report") / "report.json"
    ended = run(PROJECTS / "todo", *broken, "--json", file)
    assert (ended.returncode, ended.stderr) == (1, ""), ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == "Projects: 1/4", ended.stdout
    outcomes = msgspec.json.decode(file.read_bytes(), type=list[Outcome])
    return {one.project: one for one in outcomes}.__getitem__


def check(one: Outcome, name: str) -> Check:
    """Give a check by its name."""
    return next(each for each in one.checks if each.name == name)


def test_a_sound_project_is_clean(done: Callable[[str], Outcome]) -> None:
    one = done("todo")

    assert one.clean, told(one)
    assert all(each.items for each in one.checks if each.name != "start"), told(one)


def test_buckets_hold_the_files_of_their_folders(done: Callable[[str], Outcome]) -> None:
    buckets = {str(each["bucket"]): each["objects"] for each in check(done("todo"), "storage").items}

    assert buckets == {"avatars": 3, "covers": 2, "attachments": 0, "exports": 0}


@pytest.mark.parametrize(
    ("project", "name", "place", "message"),
    [
        (
            "bad-migration",
            "migrations",
            "supabase/migrations/2_two.sql, statement 2, line 3",
            'column "nothing"',
        ),
        ("bad-seed", "seeds", "supabase/seed.sql, statement 1, line 1", "duplicate key"),
        ("bad-function", "functions", "functions/bad", "functions/bad/index.ts:1"),
    ],
)
def test_a_broken_project_is_told_with_its_place(
    project: str, name: str, place: str, message: str, done: Callable[[str], Outcome]
) -> None:
    one = done(project)
    (failure,) = check(one, name).failures

    assert not one.clean
    assert failure.place == place
    assert message in failure.message


def test_what_is_sound_beside_a_fault_is_clean(done: Callable[[str], Outcome]) -> None:
    one = done("bad-function")
    statuses = {each["function"]: each["status"] for each in check(one, "functions").items}

    assert statuses == {"bad": 503, "nightly": 200, "on-order": 202, "process-queue": 200}
    assert [each.name for each in one.checks if not each.clean] == ["functions"], told(one)


def test_a_project_is_found_by_its_folder_or_the_supabase_folder_in_it(tmp_path: Path) -> None:
    root = write(tmp_path / "mine", {"config.toml": ""})

    assert find(root) == ("mine", root)
    assert find(root / "supabase") == ("mine", root / "supabase")
    with pytest.raises(NoProject):
        find(tmp_path)
    assert run(tmp_path).returncode == 2


def test_the_table_says_what_was_not_reached() -> None:
    failed = outcome("one", ".", [Check("seeds", [], [Failure("seed.sql", "no\nmore")])], [], 1.25, "/kept")
    clean = outcome("second", ".", [Check(name, [{}]) for name in ("start", *NAMES)], ["a word"], 2, None)

    assert table([failed, clean]).splitlines()[1:] == [
        "one      -      -           1 bad  -     -        -          -        1.2      FAILED",
        "second   ok     1           1      1     1        1          1        2.0      clean",
        "Projects: 1/2",
    ]
    assert told(failed).splitlines() == [
        "one: FAILED after 1.2 s", "  seeds: seed.sql", "      no", "      more", "  kept in /kept"
    ]  # fmt: skip


NAMES = ("migrations", "seeds", "rest", "graphql", "functions", "storage")
