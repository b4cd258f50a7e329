"""Which conditions a row must meet for a command, as Postgres combines policies. Pure.

A bit for each command; a caller's verdict on a row is their sum. Rules: workers/management/areas/policies/verdict.py, which explains single rows.
An expression is evaluated once for rows that are equal in the columns that it reads, so what is combined here are lists of truth values: integers
with a byte, 0 or 1, for each row.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from workers.project.access.catalog import AccessRelation, Policy
from workers.project.access.model import Command

BITS: dict[Command, int] = {"select": 1, "update": 2, "delete": 4, "insert": 8, "update to": 16}
NEW_ROW_BITS = BITS["insert"] | BITS["update to"]


class Expression(Struct, frozen=True):
    """An expression of a policy, and the columns of the table that it reads."""

    text: str
    columns: tuple[str, ...]


class Condition(Struct, frozen=True):
    """One of the permissive expressions must hold, and every restrictive one."""

    permissive: tuple[Expression, ...]
    restrictive: tuple[Expression, ...]


def granted_bits(relation: AccessRelation, role: str) -> int:
    """Return the commands that a role was granted."""
    rights = relation.rights.get(role)
    if rights is None:
        return 0
    reads = BITS["select"] if rights.select else 0
    writes = BITS["insert"] if rights.insert else 0
    if rights.update:
        writes |= BITS["update"] | BITS["update to"]
    if rights.delete:
        writes |= BITS["delete"]
    return reads | writes


def conditions(relation: AccessRelation, role: str) -> dict[int, list[Condition]]:
    """Return the conditions of each granted bit, which must all be met: none where row security does not apply to the role."""
    rights, granted = relation.rights.get(role), granted_bits(relation, role)
    if rights is None or not rights.applies:
        return {bit: [] for bit in BITS.values() if bit & granted}
    policies = [policy for policy in relation.policies if role in policy.roles]
    reads = _condition(policies, "select", is_new=False)
    by_bit = {
        BITS["select"]: [reads],
        BITS["update"]: [_condition(policies, "update", is_new=False), reads],
        BITS["delete"]: [_condition(policies, "delete", is_new=False), reads],
        BITS["insert"]: [_condition(policies, "insert", is_new=True)],
        BITS["update to"]: [_condition(policies, "update", is_new=True), reads],
    }
    return {bit: needed for bit, needed in by_bit.items() if bit & granted}


def expressions_of(by_bit: Mapping[int, Sequence[Condition]]) -> list[Expression]:
    """Return the expressions of conditions, each once."""
    return list(
        dict.fromkeys(
            expression
            for needed in by_bit.values()
            for condition in needed
            for expression in (*condition.permissive, *condition.restrictive)
        )
    )


def combined(by_bit: Mapping[int, Sequence[Condition]], truth: Mapping[Expression, int], count: int) -> bytes:
    """Return the bits of each of `count` rows from the truth of each expression."""
    everything = int.from_bytes(b"\1" * count, "little")
    total = 0
    for bit, needed in by_bit.items():
        holds = everything
        for condition in needed:
            permitted = 0
            for expression in condition.permissive:
                permitted |= truth[expression]
            holds &= permitted
            for expression in condition.restrictive:
                holds &= truth[expression]
        total += holds * bit  # a byte stays below 32
    return total.to_bytes(count, "little")


def _condition(policies: Sequence[Policy], command: str, *, is_new: bool) -> Condition:
    permissive: list[Expression] = []
    restrictive: list[Expression] = []
    for policy in policies:
        if policy.command not in (command, "all"):
            continue
        text = policy.check if is_new and policy.check is not None else policy.using
        if text is not None:
            expression = Expression(text, tuple(sorted(policy.columns)))
            (permissive if policy.is_permissive else restrictive).append(expression)
    return Condition(tuple(permissive), tuple(restrictive))
