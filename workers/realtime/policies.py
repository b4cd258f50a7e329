"""The policies of a table for one role, as one rule. Pure.

    every restrictive policy AND any permissive one; without a permissive one nobody sees a row

Source: PostgreSQL, "CREATE POLICY" (combining policies); migration auth/0001 for the functions that count as our own.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from msgspec import Struct

from schemas.realtime import Nobody, Rule
from workers.realtime.recognition import Scope, all_of, any_of, recognise

_OWNER = "supabase_auth_admin"
_OURS = re.compile(
    r"create or replace function auth\.(?P<name>\w+)\(\) returns \w+\s+language sql stable as \$\$(?P<body>.*?)\$\$;",
    re.DOTALL,
)


class Policy(Struct, frozen=True):
    """A policy for reading that applies to the role."""

    is_permissive: bool
    using: str | None
    """Its expression; None: it says nothing of reading."""


class AuthFunction(Struct, frozen=True):
    """A function of the schema auth without arguments, as the database has it."""

    name: str
    owner: str
    body: str
    is_plain: bool
    """Written in SQL, stable, with the caller's rights and without settings of its own; the role may call it."""


def rule_of(policies: Iterable[Policy], scope: Scope) -> Rule:
    """Give who sees a row."""
    permissive: list[Rule] = []
    restrictive: list[Rule] = []
    for policy in policies:
        if policy.using is not None:
            (permissive if policy.is_permissive else restrictive).append(recognise(policy.using, scope))
    if not permissive:
        return Nobody()
    return all_of([*restrictive, any_of(permissive)])


def trusted_functions(found: Iterable[AuthFunction]) -> frozenset[str]:
    """Give the names of those that read the claims as the platform's own do, because they are the platform's own."""
    ours = _own_bodies()
    return frozenset(
        each.name
        for each in found
        if each.is_plain and each.owner == _OWNER and ours.get(each.name) == _words(each.body)
    )


@cache
def _own_bodies() -> dict[str, str]:
    file = resources.files("schemas").joinpath("migrations", "auth", "0001_claims.sql")
    found = _OURS.finditer(file.read_text(encoding="utf-8"))
    return {each["name"]: _words(each["body"]) for each in found}


def _words(text: str) -> str:
    return " ".join(text.split())
