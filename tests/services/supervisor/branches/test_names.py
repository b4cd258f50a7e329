"""Names of branches."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from schemas.branches import BranchRecord
from services.cli.main import main
from services.supervisor.branches.choice import chosen_branch, chosen_data
from services.supervisor.branches.names import checked_name, slug
from services.supervisor.branches.record import write_record
from services.supervisor.errors import StartRefused


@pytest.mark.parametrize("name", ["a", "preview", "feature-12", "0"])
def test_names_are_words_with_hyphens(name: str):
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "A", "a_b", "a/b", "..", ".making-a", "main", "master", "git", "a" * 49, "a\n"]
)
def test_other_texts_are_refused(name: str):
    with pytest.raises(StartRefused, match="cannot be the name"):
        checked_name(name)


@pytest.mark.parametrize(
    ("git", "name"),
    [
        ("main", ""),
        ("master", ""),
        ("feature/New_Posts", "feature-new-posts"),
        ("fix--x/", "fix-x"),
        ("x" * 60, "x" * 48),
    ],
)
def test_a_git_branch_has_a_name(git: str, name: str):
    assert slug(git) == name


def test_main_and_no_name_mean_the_platform_itself(tmp_path: Path):
    assert chosen_data(tmp_path, None, "") == tmp_path
    assert chosen_data(tmp_path, None, "main") == tmp_path


def test_a_branch_of_another_git_branch_of_the_same_name_is_refused(tmp_path: Path):
    data = tmp_path / "branches" / "a-b"
    data.mkdir(parents=True)
    write_record(data, BranchRecord("a-b", str(tmp_path), 0.0, True, git="a/b"))
    chosen = chosen_branch(tmp_path, None, "a-b")

    assert chosen is not None
    assert chosen.exists
    assert chosen_data(data, None, "a-b") == data
    other = type(chosen)(chosen.parent, chosen.folder, "a-b")
    with pytest.raises(StartRefused, match="made for the git branch a/b"):
        assert other.exists


def test_no_branch_is_checked_out_outside_of_git(tmp_path: Path):
    with pytest.raises(StartRefused, match="none is checked out"):
        chosen_branch(tmp_path, tmp_path, "git")


def test_a_branch_whose_record_is_damaged_can_be_deleted_as_its_error_says(tmp_path: Path):
    branch = tmp_path / "branches" / "a"
    branch.mkdir(parents=True)
    (branch / "branch.json").write_text('{"name": "a", "par')
    with pytest.raises(StartRefused, match="delete the branch"):
        chosen_data(tmp_path, None, "a")

    done = CliRunner().invoke(main, ["branch", "delete", "a", "--yes", "--data", str(tmp_path)])

    assert done.exit_code == 0, done.output
    assert not branch.exists()
