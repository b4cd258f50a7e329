"""Names of branches and their data folders: `branches/NAME` in the data folder of the parent, drafts beside them."""

import re
import subprocess
from pathlib import Path

from schemas.branches import is_branch_name
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.switch import BRANCHES
from services.supervisor.errors import StartRefused

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+", re.ASCII)
PARENT = frozenset({"main", "master"})
"""Branches of git whose database is the parent."""
GIT = "git"
DRILL = "restore-drill"
"""The branch of a restore drill, which deletes it: nobody else makes one of this name."""
_LONGEST = 48


def branches_folder(parent: DataFolder) -> Path:
    """Return the folder of all branches of a platform."""
    return parent.path / BRANCHES


def branch_folder(parent: DataFolder, name: str) -> DataFolder:
    """Return the data folder of a branch. Raises: StartRefused for what is no name of one."""
    return DataFolder(branches_folder(parent) / checked_name(name))


def checked_name(name: str) -> str:
    """Return a name of a branch. Raises: StartRefused."""
    if not is_branch_name(name):
        raise StartRefused(
            f"'{name}' cannot be the name of a branch: lower-case letters, digits and hyphens, {_LONGEST} at most, and none of "
            f"{', '.join(sorted(PARENT))} and {GIT}, which have a meaning of their own."
        )
    return name


def slug(git_branch: str) -> str:
    """Return the name of the branch for a git branch (pure): empty for those whose database is the parent."""
    if git_branch in PARENT:
        return ""
    return _NOT_IN_NAMES.sub("-", git_branch.lower()).strip("-")[:_LONGEST].strip("-")


def checked_out_branch(root: Path) -> str:
    """Return the git branch that is checked out in a folder. Raises: StartRefused without one."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own git
            ["git", "-C", str(root), "symbolic-ref", "--short", "HEAD"],  # noqa: S607 - as the shell finds it
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise StartRefused(
            f"HEADWATER_BRANCH=git asks git for its branch, and git cannot be run: {error.strerror}. Name a branch."
        ) from None
    if done.returncode != 0:
        raise StartRefused(
            f"HEADWATER_BRANCH=git asks for the git branch of {root}, and none is checked out there. Name a branch, or unset the variable."
        )
    return done.stdout.strip()
