"""The difference of two states: verdicts on rows, and rights. Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from workers.project.access.callers import Caller, CallerClass
from workers.project.access.catalog import AccessCatalog
from workers.project.access.conditions import BITS, NEW_ROW_BITS, granted_bits
from workers.project.access.model import ChangedRow, Command, RightChange, RowAccessChange
from workers.project.access.row_classes import RowPair

_MOST_EXAMPLES = 3


class ComparedRow(Struct, frozen=True):
    """Rows of one class: where their bits are before and after, how many they are (0: a possible row), how they are shown, whose they are."""

    before: int
    after: int
    count: int
    keys: tuple[str, ...]
    tenant: str | None = None


class _Tally:
    """What callers of one role gain and lose by one command."""

    def __init__(self) -> None:
        self.callers = self.gaining = self.losing = self.gained = self.lost = 0
        self.gained_examples: list[ChangedRow] = []
        self.lost_examples: list[ChangedRow] = []
        self.crosses = False
        self.is_stored = False

    def add(
        self, item: CallerClass, gained: Sequence[ComparedRow], lost: Sequence[ComparedRow], *, crosses: bool
    ) -> None:
        """Count a class of callers."""
        members = len(item.members)
        self.callers += members
        self.crosses |= crosses
        if gained:
            self.gaining += members
            self.gained = max(self.gained, sum(row.count for row in gained))
            _show(self.gained_examples, item.caller, gained)
        if lost:
            self.losing += members
            self.lost = max(self.lost, sum(row.count for row in lost))
            _show(self.lost_examples, item.caller, lost)
        self.is_stored |= any(row.count for row in (*gained, *lost))


def _show(examples: list[ChangedRow], caller: Caller, rows: Sequence[ComparedRow]) -> None:
    for row in sorted(rows, key=lambda row: -row.count):
        for key in row.keys:
            if len(examples) < _MOST_EXAMPLES:
                examples.append(ChangedRow(key, caller.label))


def row_changes(
    table: str,
    classes: Sequence[CallerClass],
    before: Sequence[bytes],
    after: Sequence[bytes],
    rows: Sequence[ComparedRow],
    *,
    scale: float = 1.0,
    commands: Mapping[Command, int] = BITS,
) -> list[RowAccessChange]:
    """Return what callers gain and lose. `scale`: stored rows for each row of a sample; 1 where all were compared."""
    tallies: dict[tuple[str, Command], _Tally] = {}
    readers = _readers_before(classes, before, rows)
    for item, was, now in zip(classes, before, after, strict=True):
        changed = [row for row in rows if was[row.before] != now[row.after]]
        for command, bit in commands.items():
            concerned = [row for row in changed if (was[row.before] ^ now[row.after]) & bit]
            # what could be stored is shown for writes, and where nothing stored tells
            shown = [row for row in concerned if row.count] if not bit & NEW_ROW_BITS else concerned
            shown = shown or concerned
            gained = [row for row in shown if now[row.after] & bit]
            lost = [row for row in shown if was[row.before] & bit]
            tally = tallies.setdefault((item.caller.role, command), _Tally())
            crosses = any(_is_of_another(item.caller, row, readers.get(row.before)) for row in gained)
            tally.add(item, gained, lost, crosses=crosses)
    return [
        RowAccessChange(
            table, command, role, round(tally.gained * scale), round(tally.lost * scale),
            tally.callers, tally.gaining, tally.losing, tally.gained_examples, tally.lost_examples,
            tally.crosses, not tally.is_stored, scale != 1.0 and tally.is_stored,
        )
        for (role, command), tally in tallies.items()
        if tally.gaining or tally.losing
    ]  # fmt: skip


def _readers_before(
    classes: Sequence[CallerClass], before: Sequence[bytes], rows: Sequence[ComparedRow]
) -> dict[int, set[str]]:
    """Return the tenants whose users read each class of stored rows before."""
    readers: dict[int, set[str]] = {}
    for item, was in zip(classes, before, strict=True):
        tenant = item.caller.tenant
        if tenant is not None:
            for row in rows:
                if row.count and was[row.before] & BITS["select"]:
                    readers.setdefault(row.before, set()).add(tenant)
    return readers


def _is_of_another(caller: Caller, row: ComparedRow, readers: set[str] | None) -> bool:
    if caller.tenant is None:
        return False
    if row.tenant is not None:
        return row.tenant != caller.tenant
    return bool(readers) and caller.tenant not in (readers or ())


def compared_rows(
    pairs: Sequence[RowPair], tenants: Sequence[str | None], key: Sequence[str]
) -> list[ComparedRow]:
    """Return stored rows of pairs, with the tenant of each class of after."""
    name = ", ".join(key) or "row"
    return [
        ComparedRow(pair.before, pair.after, pair.count, tuple(f"{name}={text}" for text in pair.keys), tenants[pair.after])
        for pair in pairs
    ]  # fmt: skip


def right_changes(before: AccessCatalog, after: AccessCatalog) -> list[RightChange]:
    """Return what roles gain and lose by grants: functions, columns, and whole tables that are new or gone."""
    return [*_functions(before, after), *_relations(before, after)]


def _functions(before: AccessCatalog, after: AccessCatalog) -> list[RightChange]:
    changes = []
    for title in sorted({*before.functions, *after.functions}):
        was, now = before.functions.get(title), after.functions.get(title)
        if not (now or was).is_called:  # type: ignore[union-attr]  # one of both is there
            continue
        could, can = set(was.roles) if was else set(), set(now.roles) if now else set()
        reason = "" if was and now else "it is new" if now else "it is gone"
        changes += [
            RightChange("function", title, "execute", role, True, reason) for role in sorted(can - could)
        ]
        changes += [
            RightChange("function", title, "execute", role, False, reason) for role in sorted(could - can)
        ]
        if (
            was
            and now
            and (was.is_definer, was.owner) != (now.is_definer, now.owner)
            and (was.is_definer or now.is_definer)
        ):
            is_gained = now.is_definer
            text = (
                "it runs with the rights of its owner now"
                if is_gained
                else "it runs with the rights of the caller now"
            )
            changes += [
                RightChange("function", title, "execute as its owner", role, is_gained, text)
                for role in sorted(can & could)
            ]
    return changes


def _relations(before: AccessCatalog, after: AccessCatalog) -> list[RightChange]:
    changes = []
    for title in sorted({*before.relations, *after.relations}):
        was, now = before.relations.get(title), after.relations.get(title)
        for role in sorted({*before.roles, *after.roles}):
            if was and now:
                could = set(was.rights[role].columns) if role in was.rights else set()
                can = set(now.rights[role].columns) if role in now.rights else set()
                shared = {column.name for column in was.columns} & {column.name for column in now.columns}
                changes += _columns(title, role, can - could, shared, is_gained=True)
                changes += _columns(title, role, could - can, shared, is_gained=False)
            elif now:
                if commands := _open_commands(after, title, role):
                    changes.append(RightChange("table", title, commands, role, True, "it is new"))
            elif commands := _open_commands(before, title, role):
                changes.append(RightChange("table", title, commands, role, False, "it is gone"))
    return changes


def _columns(
    title: str, role: str, rights: set[str], shared: set[str], *, is_gained: bool
) -> list[RightChange]:
    """Return rights on columns that both states have: a new column comes with the rights of its table."""
    split = [right.rpartition(" ") for right in sorted(rights)]
    return [
        RightChange("column", f"{title}.{name}", command, role, is_gained)
        for name, _, command in split
        if name in shared
    ]


def _open_commands(catalog: AccessCatalog, title: str, role: str) -> str:
    """Return the commands by which a role reaches a relation: where row security applies, those that a policy of the role is for."""
    relation = catalog.relations[title]
    granted = granted_bits(relation, role)
    rights = relation.rights.get(role)
    commands = [command for command in ("select", "insert", "update", "delete") if granted & BITS[command]]
    if rights is not None and rights.applies:
        commands = [
            command for command in commands
            if any(policy.command in (command, "all") and policy.is_permissive and role in policy.roles for policy in relation.policies)
        ]  # fmt: skip
    return ", ".join(commands)
