"""[dashboard]: the dashboard of administrators at `/_/` of the gateway (docs/dashboard.md)."""

from msgspec import Struct


class Dashboard(Struct, frozen=True):
    """[dashboard]: the pages for administrators. They use `/management/v1`, so they need `management.enabled`."""

    enabled: bool = True
    """Serve the dashboard at `/_/` of the gateway."""
