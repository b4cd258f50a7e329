"""The difference of access as text and JSON, and what of it is an alarm. Pure."""

from collections.abc import Sequence

import msgspec

from workers.project.access.model import AccessDifference, ChangedRow, RightChange, RowAccessChange

ANON = "anon"
_MOST_ALARMS = 20


def alarms_of(rows: Sequence[RowAccessChange], rights: Sequence[RightChange]) -> list[str]:
    """Return why a change should be looked at: clients without a token gain, or users of another tenant do."""
    alarms = []
    for row in rows:
        if row.role == ANON and row.gaining:
            alarms.append(f"{ANON} gains {row.command} on {row.table}")
        elif row.crosses_tenants:
            alarms.append(f"users gain {row.command} on rows of another tenant in {row.table}")
    alarms += [
        f"{ANON} gains {right.right} on {right.object}"
        for right in rights
        if right.role == ANON and right.is_gained
    ]
    unique = list(dict.fromkeys(alarms))
    return unique[:_MOST_ALARMS] + (
        [f"and {len(unique) - _MOST_ALARMS} more"] if len(unique) > _MOST_ALARMS else []
    )


def sample_note(title: str, sampled: int, total: int) -> str:
    """Return what a sample of rows may miss: with n rows of which none changes, less than 3/n of all do (95 of 100 times)."""
    margin = 98 / sampled**0.5
    return (
        f"{title}: {sampled:,} of {total:,} rows were tried, because policies tell too many groups of rows apart. Counts are estimates (95 %: "
        f"{margin:.1f} % of the rows more or less), and a change of less than {300 / sampled:.2f} % of the rows may be missed"
    )


def users_note(tried: int, total: int) -> str:
    """Return what a sample of users may miss."""
    return f"{tried:,} of {total:,} users were tried: a change for less than {300 / max(tried, 1):.1f} % of them may be missed (95 %). Name users with --user"


def as_json(difference: AccessDifference) -> str:
    """Return the difference as JSON."""
    return msgspec.json.format(msgspec.json.encode(difference), indent=2).decode()


def as_text(difference: AccessDifference) -> str:
    """Return the difference as text."""
    return "\n".join(difference.summary)


def summary_of(difference: AccessDifference) -> list[str]:
    """Return the difference in lines."""
    lines = []
    if difference.is_empty:
        lines.append("No caller gains or loses access.")
    table = ""
    for row in sorted(difference.rows, key=lambda row: row.table):
        if row.table != table:
            table = row.table
            lines.append(table)
        lines += _row_lines(row)
    if difference.rights:
        lines.append("Rights")
        lines += [_right_line(right) for right in difference.rights]
    lines += [f"Note: {note}" for note in difference.notes]
    lines += [f"Look at this: {alarm}" for alarm in difference.alarms]
    return lines


def _row_lines(row: RowAccessChange) -> list[str]:
    lines = []
    for verb, callers, count, examples in (
        ("gain", row.gaining, row.gained, row.gained_examples),
        ("lose", row.losing, row.lost, row.lost_examples),
    ):
        if not callers:
            continue
        who = (
            f"{row.role} {verb}s"
            if row.callers == 1
            else f"{callers:,} of {row.callers:,} callers as {row.role} {verb}"
        )
        about = "about " if row.is_estimate else ""
        most = "" if row.callers == 1 else "up to "
        what = (
            "rows that could be stored"
            if row.is_possible or not count
            else f"{most}{about}{count:,} row{'' if count == 1 else 's'}"
        )
        crosses = " of another tenant" if row.crosses_tenants and verb == "gain" else ""
        lines.append(f"  {row.command}: {who} {what}{crosses}: {_examples(examples, row.callers)}")
    return lines


def _examples(examples: Sequence[ChangedRow], callers: int) -> str:
    if callers == 1:
        return "; ".join(example.key for example in examples)
    return "; ".join(f"{example.key} ({example.caller})" for example in examples)


def _right_line(right: RightChange) -> str:
    verb = "gains" if right.is_gained else "loses"
    reason = f" ({right.reason})" if right.reason else ""
    return f"  {right.role} {verb} {right.right} on {right.kind} {right.object}{reason}"
