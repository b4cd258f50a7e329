"""One thing that was looked at, and how it fares."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How it fares."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it fares, what was found, and what to do about it."""

    title: str
    level: Level
    told: str
    cure: str = ""

    def as_dict(self) -> dict[str, str]:
        """Give it as JSON has it."""
        return {"title": self.title, "level": str(self.level), "told": self.told, "cure": self.cure}
