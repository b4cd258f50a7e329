"""Plans of restores for tests."""

from schemas.recovery import RecoveryPlan


def plan(settings: dict[str, str], version: int = 180006) -> RecoveryPlan:
    """Return a plan with these settings of Postgres."""
    return RecoveryPlan(
        archive="headwater_archive_0123456789ab",
        moment="latest",
        target="everything",
        settings=settings,
        until=1.0,
        base="base",
        base_at=0.0,
        base_bytes=1,
        pieces=1,
        wal_bytes=1,
        disk_bytes=1,
        server_version=version,
        first=0.0,
        last=1.0,
        objects=0,
    )
