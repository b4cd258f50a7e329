"""One check of the doctor and its result."""

from dataclasses import dataclass
from enum import StrEnum


class FindingLevel(StrEnum):
    """Result of a check."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """What was checked, the result, its description, and how to fix it."""

    title: str
    level: FindingLevel
    text: str
    cure: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the finding as the JSON output has it."""
        return {"title": self.title, "level": str(self.level), "told": self.text, "cure": self.cure}
