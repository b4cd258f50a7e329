"""Which data folder a command works on: that of the platform, or of the branch that `--branch` or HEADWATER_BRANCH names."""

from dataclasses import dataclass
from pathlib import Path

from services.supervisor.branches.listing import find_branch
from services.supervisor.branches.names import GIT, PARENT, branch_folder, checked_out_branch, slug
from services.supervisor.branches.record import read_record
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import find_data_above, find_root


@dataclass(frozen=True, slots=True)
class ChosenBranch:
    """A branch that a command names: its folder, which may not be there yet, and the git branch that it follows, if it does."""

    parent: DataFolder
    folder: DataFolder
    git: str = ""

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self.folder.path.name

    @property
    def exists(self) -> bool:
        """Whether the branch is there. Raises: StartRefused if it was made for another git branch."""
        record = read_record(self.folder.path)
        if record is not None and self.git and record.git not in ("", self.git):
            raise StartRefused(
                f"The branch {self.name} was made for the git branch {record.git}, and {self.git} would have the same name. Name another "
                "with --branch."
            )
        return record is not None


def chosen_data(data: Path | None, project: Path | None, branch: str) -> Path | None:
    """Return the data folder to work on; `data` itself without a branch. Raises: StartRefused for a branch that does not exist."""
    chosen = chosen_branch(data, project, branch)
    if chosen is None:
        return data
    if not chosen.exists:
        find_branch(chosen.parent, chosen.folder)
    return chosen.folder.path


def chosen_branch(data: Path | None, project: Path | None, branch: str) -> ChosenBranch | None:
    """Return the branch that a command means; None for the parent. Raises: StartRefused for what cannot be a name."""
    name, git = branch, ""
    if branch == GIT:
        git = checked_out_branch(find_root(project))
        name = slug(git)
        git = git if name else ""
    if not name or name in PARENT:
        return None
    parent = DataFolder(find_data_above(data, project))
    record = read_record(parent.path)
    if record is not None and record.name == name:  # `--data` names the folder of this branch
        parent = DataFolder(parent.path.parent.parent)
    return ChosenBranch(parent, branch_folder(parent, name), git)
