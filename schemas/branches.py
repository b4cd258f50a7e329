"""Branches: the steps that the supervisor asks the workers for, and what they answer (JSON).

A task may hold secrets, so it goes to the process by its standard input.
"""

import re
from typing import Any, Literal

from msgspec import Struct, field

from schemas.keys.secret_record import SecretRecord

_BRANCH_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?", re.ASCII)
_NAMES_WITH_A_MEANING = frozenset({"main", "master", "git"})
"""No names of branches: the first two are the platform itself, the last one the branch that git has checked out."""


def is_branch_name(text: str) -> bool:
    """Return whether a text can be the name of a branch (pure)."""
    return _BRANCH_NAME.fullmatch(text) is not None and text not in _NAMES_WITH_A_MEANING


class CopyTask(SecretRecord, Struct, frozen=True, tag="copy"):
    """Copy the files of a database."""

    source: str
    """The data folder of Postgres."""
    target: str
    """An empty folder."""
    url: str = ""
    """A superuser's, of a database that runs meanwhile; empty of a stopped one."""
    segments: list[str] = []
    """Segments of the log that a stopped database needs; empty: all."""


class Masking(Struct, frozen=True):
    """What is masked in a branch: rules (`[branches.mask]`), the text of branches/mask.sql, and with either accounts too."""

    rules: dict[str, str] = {}
    sql: str | None = None
    keeps_accounts: bool = False


class PrepareTask(SecretRecord, Struct, frozen=True, tag="prepare"):
    """Take what belongs to the parent alone out of a copied database, which runs, and seal with the branch's keys what stays."""

    url: str
    """A superuser's, of the copy."""
    password: str
    """New password of the superuser."""
    jwt_secret: str
    sealing_key: str
    """The branch's; `parent_sealing_key` opens what the copy contains. Empty where the settings name none."""
    parent_sealing_key: str
    cleared: list[str]
    """Patterns of stored settings that the branch does not take over (`schemas/settings/cleared.py`)."""
    masking: Masking = Masking()


class CompareTask(SecretRecord, Struct, frozen=True, tag="compare"):
    """Compare the schemas of a branch and its parent with the schema that both began with."""

    parent_url: str
    branch_url: str
    base: str
    """File with the schema of the moment of creation."""


class AccessBetweenTask(SecretRecord, Struct, frozen=True, tag="access"):
    """Show who has more and who has less access in a branch than in its parent."""

    parent_url: str
    branch_url: str
    users: list[str] = []
    sample: int = 1000
    channels: list[str] = []
    timeout_s: float = 120.0
    form: Literal["pretty", "json"] = "pretty"


class MergeTask(SecretRecord, Struct, frozen=True, tag="merge"):
    """Bring what the branch changed to the parent: its migrations, and the rest as a new one of this name."""

    parent_url: str
    branch_url: str
    shadow_url: str
    base: str
    folder: str
    """The project folder, which gets the files."""
    name: str


class CountTask(Struct, frozen=True, tag="count"):
    """Count the rows of tables that are not too large, as role postgres."""

    url: str
    """A superuser's."""


class CheckTask(Struct, frozen=True, tag="check"):
    """Check the structure of a database that is thrown away afterwards, and count its rows."""

    url: str
    """A superuser's."""


BranchTask = CopyTask | PrepareTask | CompareTask | AccessBetweenTask | MergeTask | CountTask | CheckTask


class CountedRows(Struct, frozen=True):
    """Rows by table at one position of the log; tables that have more than a limit are left out."""

    lsn: str
    rows: dict[str, int]


class CheckedDatabase(Struct, frozen=True):
    """What a check of a database found."""

    indexes: int
    """B-tree indexes that were checked."""
    faults: list[str]
    counted: CountedRows


class CopiedFiles(Struct, frozen=True):
    """What was copied. `cloned` bytes share their blocks with the source until one of both is written."""

    files: int
    size: int
    cloned: int
    seconds: float
    stop_lsn: str = ""
    """Position in the log of the live parent that the copy ends with; empty of a stopped one."""


class PreparedCopy(Struct, frozen=True):
    """A copied database that is a branch's; `warnings` name what may still point to other systems."""

    schema: Any
    """The schema that the branch begins with, as `workers/branches/base_schema.py` reads it."""
    warnings: list[str]
    masked: list[str] = []
    """What was masked, in words."""


class SchemaComparison(Struct, frozen=True):
    """What a merge would do: the migrations that only the branch has, the statements, and the conflicts by name."""

    migrations: list[str]
    statements: list[str]
    conflicts: list[str]


class AccessReport(Struct, frozen=True):
    """The difference of access, as it is printed. `is_alarm`: clients without a token, or users of another tenant, have more."""

    text: str
    is_alarm: bool


class MergedBranch(Struct, frozen=True):
    """What a merge did."""

    fetched: list[str]
    """Migrations whose files came from the branch's history."""
    applied: list[str]
    """Migrations that the parent got, in order."""
    written: str = ""
    """The new migration file, if anything was left to write."""
    schema: Any = None
    """The schema that the next merge begins with; None if there was nothing to merge."""


class BranchSecrets(SecretRecord, Struct, frozen=True):
    """The keys and passwords of a branch, under the names of the settings."""

    jwt_secret: str = ""
    publishable_key: str = ""
    secret_key: str = ""
    db_password: str = ""


class BranchRecord(Struct, frozen=True):
    """`branch.json` in the data folder of a branch: that it is one, of whom, and with which keys."""

    name: str
    parent: str
    """The parent's data folder, as it was named when the branch was made."""
    created_at: float
    """Seconds since 1970."""
    from_live: bool
    """The parent ran while it was copied."""
    secrets: BranchSecrets = BranchSecrets()
    git: str = ""
    """The git branch that it was made for; empty for one that was named by hand."""
    warnings: list[str] = field(default_factory=list)
    at: str = ""
    """The past moment whose database it has, in words; empty for one of the moment of its creation."""
    is_drill: bool = False
    """It is the copy of a restore drill, which deletes it."""
    masked: list[str] = field(default_factory=list)
    """What was masked in it, in words."""
    stop_after_s: float = 0.0
    """Seconds without use after which it stops; 0: never."""
    remove_at: float = 0.0
    """When it is removed, in seconds since 1970; 0: never."""


class ListedBranch(Struct, frozen=True):
    """A branch as it is now. `own_bytes` are those on the disk that no other name of a file shares; clones count as if they shared nothing."""

    name: str
    data: str
    created_at: float
    """In seconds since 1970, as all times here."""
    from_live: bool
    git: str
    is_running: bool
    api_url: str
    own_bytes: int
    shared_bytes: int
    """Bytes of objects that the branch shares with the parent or another branch."""
    at: str = ""
    """The past moment whose database it was made of, in words."""
    stop_after_s: float = 0.0
    """Seconds without use after which it stops; 0: never."""
    remove_at: float = 0.0
    """When it is removed; 0: never."""
    used_at: float = 0.0
    """When it had its last request, or an open socket, as far as half a minute; 0: it was not started yet."""
    masked: list[str] = field(default_factory=list)
    """What was masked in it, in words."""
    warnings: list[str] = field(default_factory=list)
    """What may still point to other systems."""
