"""What an agent may do: the rights of its token, narrowed by the address that it uses. Pure.

`/mcp?read_only=true` offers tools that read; `/mcp?features=database,docs` those of some areas. Neither adds anything to the token. An
agent cannot prove a password, so operations that show secrets or destroy are not there for it.
"""

from dataclasses import dataclass
from urllib.parse import parse_qs

import msgspec

from workers.management.interface.errors import invalid_arguments
from workers.management.interface.identity.model import Actor
from workers.management.interface.rights import Right

FEATURES = ("database", "debugging", "development", "functions", "storage", "docs")
"""Areas of tools, by the names that official clients put into the address."""
_TRUTH = {"true": True, "1": True, "": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class AgentAccess:
    """Who calls, and which tools are there. Without `may_write` the actor is a reader, whatever the token's rights."""

    actor: Actor
    may_write: bool
    features: frozenset[str]


def agent_access(actor: Actor, query: str) -> AgentAccess:
    """Return what an agent may do with its token at this address. Raises: ManagementError (400)."""
    parameters = parse_qs(query, keep_blank_values=True)
    is_narrowed = any(_flag(value) for value in parameters.get("read_only", []))
    may_write = actor.may_write and actor.rights.includes(Right.DEVELOPER) and not is_narrowed
    narrowed = msgspec.structs.replace(
        actor,
        name=f"{actor.name} by mcp",
        is_confirmed=False,
        may_write=may_write,
        rights=actor.rights if may_write else Right.READER,
    )
    return AgentAccess(narrowed, may_write, _features(parameters.get("features", [])))


def _flag(value: str) -> bool:
    if value.lower() not in _TRUTH:
        raise invalid_arguments("`read_only` must be true or false")
    return _TRUTH[value.lower()]


def _features(values: list[str]) -> frozenset[str]:
    if not values:
        return frozenset(FEATURES)
    names = {name.strip() for value in values for name in value.split(",") if name.strip()}
    if unknown := sorted(names - set(FEATURES)):
        raise invalid_arguments(
            f"There are no features {', '.join(unknown)[:80]}; there are {', '.join(FEATURES)}"
        )
    return frozenset(names)
