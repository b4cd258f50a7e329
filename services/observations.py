"""What edges observe beside their areas."""

from typing import ClassVar

from broker.observability.observations import Observation


class EdgeSettingsApplied(Observation, frozen=True):
    """An edge uses the stored settings of this version. `settings`: how many of them concern edges."""

    version: int
    settings: int


class EdgeSettingsFailed(Observation, frozen=True):
    """A defect kept an edge from using changed settings; it goes on with those before, and tries again."""

    level: ClassVar[str] = "error"
    traceback: str
