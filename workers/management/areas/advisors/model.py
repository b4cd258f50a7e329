"""What a rule is and what it finds."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field


class AdvisorLevel(StrEnum):
    """How grave a finding is."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"

    def is_at_least(self, least: "AdvisorLevel") -> bool:
        """Return whether a finding of this level is to be listed from a level on."""
        order = list(AdvisorLevel)
        return order.index(self) >= order.index(least)


class FindingCategory(StrEnum):
    """What a finding concerns."""

    SECURITY = "SECURITY"
    PERFORMANCE = "PERFORMANCE"


class AdvisorRule(Struct, frozen=True):
    """A rule: its name (that of the linter `splinter` where both have it), title, level, category, and why it matters."""

    name: str
    title: str
    level: AdvisorLevel
    category: FindingCategory
    explanation: str


class CatalogFinding(Struct, frozen=True):
    """A row of a rule's statement: the object, what is the matter with it, and SQL that mends it."""

    schema: str
    name: str
    type: str
    detail: str
    part: str = ""
    fix: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


class AdvisorFinding(Struct, frozen=True):
    """A fault. `fix` is SQL for a migration, `settings` the arguments of `settings.change`; both null: only you can decide."""

    name: str
    title: str
    level: AdvisorLevel
    category: FindingCategory
    explanation: str
    detail: str
    type: str
    cache_key: str
    """Names the finding for `advisors.dismiss`; the same at every run."""
    schema: str | None = None
    object: str | None = None
    part: str | None = None
    """The policy, column, constraint, command or arguments, if the finding concerns a part of the object."""
    fix: str | None = None
    settings: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    is_dismissed: bool = False
