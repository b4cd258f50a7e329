"""Combines the policies of a table for one role into one rule. Pure.

    every restrictive policy AND any permissive one; without a permissive policy no row is visible

Source: PostgreSQL, "CREATE POLICY" (combining policies); migration auth/0001 for the functions that count as the platform's.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from msgspec import Struct

from schemas.realtime import NoRow, Rule
from workers.realtime.recognition import PolicyScope, all_of, any_of, recognise

_OWNER = "supabase_auth_admin"
_OURS = re.compile(
    r"create or replace function auth\.(?P<name>\w+)\(\) returns \w+\s+language sql stable as \$\$(?P<body>.*?)\$\$;",
    re.DOTALL,
)


class RowPolicy(Struct, frozen=True):
    """A policy for reading that applies to the role."""

    is_permissive: bool
    using: str | None
    """Its expression; None: it does not apply to reading."""


class AuthFunction(Struct, frozen=True):
    """A function of the schema auth without arguments, as the database has it."""

    name: str
    owner: str
    body: str
    is_plain: bool
    """Written in SQL, stable, with the caller's rights and without settings; the role may call it."""


def rule_of(policies: Iterable[RowPolicy], scope: PolicyScope) -> Rule:
    """Return the rule that decides which rows are visible."""
    permissive: list[Rule] = []
    restrictive: list[Rule] = []
    for policy in policies:
        if policy.using is not None:
            (permissive if policy.is_permissive else restrictive).append(recognise(policy.using, scope))
    if not permissive:
        return NoRow()
    return all_of([*restrictive, any_of(permissive)])


def trusted_functions(functions: Iterable[AuthFunction]) -> frozenset[str]:
    """Return the names of functions whose body is still the platform's, so that they read the claims as expected."""
    bodies = _platform_bodies()
    return frozenset(
        function.name
        for function in functions
        if function.is_plain
        and function.owner == _OWNER
        and bodies.get(function.name) == _words(function.body)
    )


@cache
def _platform_bodies() -> dict[str, str]:
    file = resources.files("schemas").joinpath("migrations", "auth", "0001_claims.sql")
    matches = _OURS.finditer(file.read_text(encoding="utf-8"))
    return {match["name"]: _words(match["body"]) for match in matches}


def _words(text: str) -> str:
    return " ".join(text.split())
