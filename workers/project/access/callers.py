"""The callers that are tried: each role without a user, sampled or named users, and a user who has nothing yet.

Callers between whom policies cannot tell are one class: they are evaluated once.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from workers.project.access.affected import claims_read
from workers.project.access.catalog import CallerRole, Policy, User
from workers.project.access.model import AccessQuestion

USER_ROLE = "authenticated"
NEW_USER = "a new user"


class Caller(Struct, frozen=True):
    """A role and the claims of a token. `tenant` is the value of the claim that names one, if the project has such a claim."""

    role: str
    label: str
    claims: dict[str, Any]
    tenant: str | None = None

    @property
    def settings(self) -> list[tuple[str, str]]:
        """The settings of the caller's transaction, as requests set them; the role comes last."""
        return [
            ("request.jwt.claims", msgspec.json.encode(self.claims).decode()),
            ("request.jwt.claim.sub", str(self.claims.get("sub", ""))),
            ("request.jwt.claim.role", self.role),
            ("request.method", "GET"),
            ("request.path", "/"),
            ("request.headers", "{}"),
            ("request.cookies", "{}"),
            ("role", self.role),
        ]


class CallerClass(Struct, frozen=True):
    """Callers of one role with the same verdicts: one of them, and how many they are."""

    caller: Caller
    members: list[Caller]


def callers_of(
    roles: Mapping[str, CallerRole], users: Sequence[User], question: AccessQuestion
) -> list[Caller]:
    """Return the callers to try: a role that bypasses row security stands for itself alone (pure but for the new user's id)."""
    callers = [Caller(name, name, {"role": name}) for name in roles if name != USER_ROLE or not users]
    if USER_ROLE in roles:
        new = {
            "sub": str(uuid.uuid4()),
            "role": USER_ROLE,
            "aud": USER_ROLE,
            "aal": "aal1",
            "app_metadata": {},
            "user_metadata": {},
        }
        callers.append(Caller(USER_ROLE, NEW_USER, new))
    for user in users:
        role = str(user.claims.get("role", ""))
        if role in roles:
            tenant = claim_of(user.claims, question.tenant_claim)
            callers.append(Caller(role, f"user {user.id}", user.claims, tenant))
    return callers


def claim_of(claims: Mapping[str, Any], path: str) -> str | None:
    """Return the text of a claim by its path, `a.b`, or None (pure)."""
    value: Any = claims
    for part in path.split(".") if path else ():
        value = value.get(part) if isinstance(value, dict) else None
    return None if value is None or not path or isinstance(value, dict | list) else str(value)


def classes_of(
    callers: Sequence[Caller], policies: Sequence[Policy], *, by_tenant: bool
) -> list[CallerClass]:
    """Return callers grouped by the claims that policies read; `by_tenant`: those of two tenants are never one class (pure)."""
    paths = claims_read(policies)
    groups: dict[object, list[Caller]] = {}
    for caller in callers:
        tenant = caller.tenant if by_tenant else None
        if paths is None:
            read = msgspec.json.encode(caller.claims)
        else:
            values = [_value_at(caller.claims, path) for path in sorted(paths)]
            read = msgspec.json.encode(values)
        groups.setdefault((caller.role, tenant, read), []).append(caller)
    return [CallerClass(members[0], members) for members in groups.values()]


def _value_at(claims: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = claims
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value
