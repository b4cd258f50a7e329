"""Grants and policies combined as Postgres combines them, and said in words. Pure.

- A policy counts if it is for the command (or `all`) and for the role.
- A row passes if at least one permissive policy holds, and every restrictive one. Without a permissive policy none passes.
- Null is not true. An expression that raises an error makes the statement fail.
- UPDATE and DELETE name rows by their columns, so the policies for SELECT apply to the existing row too. The new row of an UPDATE, and one
  that an INSERT returns, must pass the policies for SELECT as well.
- A new row is compared with `with check`, or with `using` where a policy has no `with check`.

Source: PostgreSQL, "CREATE POLICY", tables 298 and 299.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from workers.management.areas.policies.evaluate import ExpressionResult
from workers.management.areas.policies.facts import PolicyFacts, RowCommand, TableFacts

Side = Literal["existing row", "new row"]


class PolicyUse(Struct, frozen=True):
    """An expression that a command compares a row with. `for_command`: the command whose policies these are."""

    side: Side
    for_command: RowCommand
    policy: PolicyFacts
    expression: str


class PolicyVerdict(Struct, frozen=True):
    """A policy, and whether it holds for the row under the caller; null with the reason in `error` or `skipped`."""

    name: str
    command: str
    is_permissive: bool
    roles: list[str]
    for_command: RowCommand
    side: Side
    expression: str | None
    holds: bool | None
    error: str | None = None
    skipped: str | None = None


class RowSecurity(Struct, frozen=True):
    """Row security of the table; `applies` to the caller, or `reason` why not."""

    is_enabled: bool
    is_forced: bool
    applies: bool
    reason: str | None


class Outcome(Struct, frozen=True):
    """Whether the policies let a row through, and why, as a part of a sentence. `fails`: an expression raises an error.

    `restrictive` are the restrictive policies that reject the row: no permissive one can let it through. `for_command`: whose policies decided.
    """

    passes: bool
    why: str
    fails: bool = False
    restrictive: tuple[str, ...] = ()
    for_command: RowCommand | None = None


def row_security(facts: TableFacts, role: str) -> RowSecurity:
    """Return whether row security applies to a role, and if not, why."""
    reason = None
    if not facts.applies_policies:
        if facts.is_view:
            reason = "a view has none"
        elif not facts.is_enabled:
            reason = "it is off for this table"
        elif facts.bypasses:
            reason = f"role {role} bypasses it"
        else:
            reason = f"role {role} has the rights of the owner {facts.owner}, and it is not forced"
    return RowSecurity(facts.is_enabled, facts.is_forced, facts.applies_policies, reason)


def uses_of(facts: TableFacts, command: RowCommand, side: Side, *, reads: bool) -> list[PolicyUse]:
    """Return the expressions that a command compares a row with. `reads`: those of SELECT apply too."""
    if not facts.applies_policies:
        return []
    commands: list[RowCommand] = [command]
    if reads and command != "select":
        commands.append("select")
    uses = []
    for for_command in commands:
        for policy in facts.policies:
            checks = side == "new row" and for_command != "select"
            expression = (
                (policy.check if policy.check is not None else policy.using) if checks else policy.using
            )
            is_counted = policy.is_for_role and policy.command in (for_command, "all")
            if is_counted and expression is not None:
                uses.append(PolicyUse(side, for_command, policy, expression))
    return uses


def verdicts(
    facts: TableFacts, uses: Sequence[PolicyUse], results: Sequence[ExpressionResult]
) -> list[PolicyVerdict]:
    """Return the policies that were compared, and those that do not count with the reason."""
    listed = [
        PolicyVerdict(
            name=use.policy.name,
            command=use.policy.command,
            is_permissive=use.policy.is_permissive,
            roles=use.policy.roles,
            for_command=use.for_command,
            side=use.side,
            expression=use.expression,
            holds=result.holds,
            error=result.error,
        )
        for use, result in zip(uses, results, strict=True)
    ]
    return listed


def skipped(
    facts: TableFacts, uses: Sequence[PolicyUse], command: RowCommand, side: Side
) -> list[PolicyVerdict]:
    """Return the policies of a table that do not count for a command, with the reason."""
    used = {use.policy.name for use in uses}
    listed = []
    for policy in facts.policies:
        if policy.name in used:
            continue
        if not facts.applies_policies:
            reason = "row security does not apply to the caller"
        elif policy.command not in (command, "all"):
            reason = f"it is for {policy.command}"
        elif not policy.is_for_role:
            reason = f"it is for {', '.join(policy.roles)}"
        else:
            reason = "it has no expression for this"
        listed.append(
            PolicyVerdict(
                name=policy.name,
                command=policy.command,
                is_permissive=policy.is_permissive,
                roles=policy.roles,
                for_command=command,
                side=side,
                expression=policy.check if side == "new row" and policy.check is not None else policy.using,
                holds=None,
                skipped=reason,
            )
        )
    return listed


def outcome(
    facts: TableFacts, side: Side, command: RowCommand, compared: Sequence[PolicyVerdict], *, reads: bool
) -> Outcome:
    """Return whether a row passes the policies of a command, and of SELECT if it `reads`."""
    if not facts.applies_policies:
        return Outcome(True, f"row security does not restrict {facts.schema}.{facts.table} for this role")
    commands: list[RowCommand] = [command]
    if reads and command != "select":
        commands.append("select")
    last = Outcome(True, "")
    for for_command in commands:
        last = _of_command(
            for_command,
            [item for item in compared if item.for_command == for_command and item.side == side],
            side,
        )
        if not last.passes:
            return last
    return last


def _of_command(command: RowCommand, compared: Sequence[PolicyVerdict], side: Side) -> Outcome:
    permissive = [item for item in compared if item.is_permissive]
    restrictive = [item for item in compared if not item.is_permissive]
    if not permissive:
        why = f"no permissive policy for {command} applies to this role"
        return Outcome(False, why, for_command=command)
    if against := [item for item in restrictive if item.holds is False]:
        verb = "does" if len(against) == 1 else "do"
        why = f"the restrictive {_names(against)} for {command} {verb} not hold for the {side}"
        return Outcome(False, why, restrictive=tuple(item.name for item in against), for_command=command)
    if failing := [item for item in restrictive if item.error is not None] or _reached_error(permissive):
        return Outcome(False, f"policy {failing[0].name!r} raises an error: {failing[0].error}", fails=True)
    holding = [item for item in permissive if item.holds]
    if not holding:
        verb = "does" if len(permissive) == 1 else "do"
        why = f"{_names(permissive)} for {command} {verb} not hold for the {side}"
        return Outcome(False, why, for_command=command)
    return Outcome(True, f"{_names(holding)} for {command} holds for the {side}")


def _reached_error(permissive: Sequence[PolicyVerdict]) -> list[PolicyVerdict]:
    """Return the policy whose error Postgres reaches, if any: it joins permissive policies by OR, the last name first.

    A constant `true` is folded, so nothing else is evaluated then.
    """
    if any(item.expression == "true" for item in permissive):
        return []
    for item in sorted(permissive, key=lambda policy: policy.name.encode(), reverse=True):
        if item.error is not None:
            return [item]
        if item.holds:
            return []
    return []


def _names(items: Sequence[PolicyVerdict]) -> str:
    names = list(dict.fromkeys(repr(item.name) for item in items))
    return f"policy {names[0]}" if len(names) == 1 else f"policies {', '.join(names)}"
