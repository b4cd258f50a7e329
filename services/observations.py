"""What edges observe beside their areas."""

from broker.observability.observations import Observation


class EdgeSettingsApplied(Observation, frozen=True):
    """An edge uses the stored settings of this version. `settings`: how many of them concern edges."""

    version: int
    settings: int
