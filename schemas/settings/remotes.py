"""`[remotes.NAME]` of config.toml (pure): settings of one place where the project runs, merged over those of the file.

    [remotes.staging]
    project_id = "abcdefghijklmnopqrst"
    [remotes.staging.auth]
    site_url = "https://staging.example.com"

The block that `HEADWATER_REMOTE` names applies, else the one whose `project_id` is `management.project_ref`. A branch also takes the block
of its name, or of its git branch (`HEADWATER_REMOTE_OF_BRANCH`, both with a blank between them). Tables are merged, everything else replaces what the file has; the environment wins over both.
As in the official tool, seeds are off in a block that does not switch them on, and two blocks with one `project_id` are rejected.
"""

from collections.abc import Mapping
from typing import Any

from schemas.settings.cleared import ClearedKeys
from schemas.settings.tree import SettingsError

REMOTE = "HEADWATER_REMOTE"
REMOTE_OF_BRANCH = "HEADWATER_REMOTE_OF_BRANCH"
_PROJECT_REF = "HEADWATER_MANAGEMENT_PROJECT_REF"
_NOT_OF_BRANCHES = ClearedKeys(["db.url", "db.bin", "db.replicas", "broker.url"])
"""A branch has a Postgres and a NATS server of its own, whatever a block says."""


def chosen_remote(tree: Mapping[str, Any], environment: Mapping[str, str], source: str) -> str:
    """Return the name of the block that applies to a platform, empty if none does. Raises: SettingsError."""
    remotes = _remotes(tree, source)
    if not tree:
        return ""  # a program that reads no file: `load_project` refuses the name where a file should be
    if name := environment.get(REMOTE, ""):
        if name not in remotes:
            there = f"it has {', '.join(remotes)}" if remotes else "it has no such block"
            raise SettingsError(
                f"{source} has no [remotes.{name}], which {REMOTE} or --remote names: {there}"
            )
        return name
    management = tree.get("management")
    written = management.get("project_ref", "") if isinstance(management, dict) else ""
    ref = environment.get(_PROJECT_REF) or written
    return next((name for name, block in remotes.items() if ref and block.get("project_id") == ref), "")


def with_remote(tree: dict[str, Any], environment: Mapping[str, str], source: str) -> dict[str, Any]:
    """Return the tables of a file with the block that applies to the platform, and without the blocks. Raises: SettingsError."""
    name = chosen_remote(tree, environment, source)
    rest = {key: value for key, value in tree.items() if key != "remotes"}
    return over(rest, _block(tree, name)) if name else rest


def remote_of_branch(tree: Mapping[str, Any], environment: Mapping[str, str], source: str) -> str:
    """Return the name of the block of a branch, empty if there is none. Raises: SettingsError."""
    remotes = _remotes(tree, source)
    return next((name for name in environment.get(REMOTE_OF_BRANCH, "").split() if name in remotes), "")


def block_of_branch(tree: Mapping[str, Any], environment: Mapping[str, str], source: str) -> dict[str, Any]:
    """Return the tables of the block of a branch, empty if there is none. Raises: SettingsError."""
    name = remote_of_branch(tree, environment, source)
    return _NOT_OF_BRANCHES.without(_block(tree, name)) if name else {}


def over(tree: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tree merged with a block: tables are merged, everything else is replaced."""
    merged = dict(tree)
    for key, value in block.items():
        present = merged.get(key)
        merged[key] = over(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return merged


def _block(tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the settings of a block; seeds are off unless it says otherwise."""
    block = {key: value for key, value in tree["remotes"][name].items() if key != "project_id"}
    return over({"db": {"seed": {"enabled": False}}}, block)


def _remotes(tree: Mapping[str, Any], source: str) -> dict[str, dict[str, Any]]:
    remotes = tree.get("remotes", {})
    if not isinstance(remotes, dict) or not all(isinstance(block, dict) for block in remotes.values()):
        raise SettingsError(f"{source}: remotes must have tables, such as [remotes.staging]")
    names: dict[str, str] = {}
    for name, block in remotes.items():
        id = block.get("project_id", "")
        if not isinstance(id, str):
            raise SettingsError(f"{source}: remotes.{name}.project_id must be a text")
        if id and (other := names.setdefault(id, name)) != name:
            raise SettingsError(f"{source}: [remotes.{name}] and [remotes.{other}] have the same project_id")
    return remotes
