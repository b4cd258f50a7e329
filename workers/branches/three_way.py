"""Merges the schemas of a branch and of its parent, which were equal once (`base`). Pure.

What the branch has changed since then is applied to the parent's schema. Objects are compared by kind and name. There are two conflicts:

- both sides changed an object, and it is not equal now;
- one side changed an object, and the other dropped the table, view or function that it belongs to.
"""

from dataclasses import dataclass

from workers.project.diff.compare import compare
from workers.project.diff.model import SchemaObject, Snapshot

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SchemaMerge:
    """The merged schema, and the conflicts, each as a sentence that names the object. With conflicts it must not be applied."""

    merged: Snapshot
    conflicts: list[str]


def merge_schemas(base: Snapshot, branch: Snapshot, parent: Snapshot) -> SchemaMerge:
    """Return the parent's schema with the changes of the branch."""
    of_branch = {key for key in {**base, **branch} if base.get(key) != branch.get(key)}
    of_parent = {key for key in {**base, **parent} if base.get(key) != parent.get(key)}
    both = sorted(key for key in of_branch & of_parent if branch.get(key) != parent.get(key))
    conflicts = [
        f"{kind} {name}: the branch {_verb((kind, name), base, branch)} it, and the parent {_verb((kind, name), base, parent)} it"
        + ("" if (kind, name) not in branch or (kind, name) not in parent else " differently")
        for kind, name in both
    ]
    merged: Snapshot = {}
    for key in [*parent, *(key for key in branch if key not in parent)]:
        item = branch.get(key) if key in of_branch else parent.get(key)
        if item is not None:
            merged[key] = item
    conflicts += _conflicts_of_owners(merged, base, branch, parent)
    return SchemaMerge(merged, conflicts)


def statements_of(merge: SchemaMerge, parent: Snapshot) -> list[str]:
    """Return the statements that change the parent's schema into the merged one, without semicolons."""
    return compare(parent, merge.merged)


def _conflicts_of_owners(merged: Snapshot, base: Snapshot, branch: Snapshot, parent: Snapshot) -> list[str]:
    """Return a conflict for each object whose table, view or function one side dropped while the other changed the object."""
    owners = {item.name for snapshot in (base, branch, parent) for item in snapshot.values() if _owns(item)}
    present = {item.name for item in merged.values() if _owns(item)}
    conflicts = []
    for item in merged.values():
        if item.parent in owners and item.parent not in present:
            dropped_by, changed_by = (
                ("parent", "branch") if _has_owner(item.parent, branch) else ("branch", "parent")
            )
            conflicts.append(
                f"{item.kind} {item.name}: the {changed_by} changed it, and the {dropped_by} dropped {item.parent}"
            )
    return conflicts


def _owns(item: SchemaObject) -> bool:
    """Return whether other objects may belong to this one."""
    return item.kind in ("table", "view", "materialized view", "function", "function on views")


def _has_owner(name: str, snapshot: Snapshot) -> bool:
    return any(_owns(item) and item.name == name for item in snapshot.values())


def _verb(key: _Key, base: Snapshot, side: Snapshot) -> str:
    if key not in side:
        return "dropped"
    return "changed" if key in base else "added"
