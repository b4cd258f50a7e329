"""What the pool management observes."""

from typing import ClassVar

from broker.observability.observations import Observation


class ManagementOperationFailed(Observation, frozen=True):
    """An operation of an administrator was stopped or failed for a reason of ours."""

    level: ClassVar[str] = "warning"
    operation: str
    request_id: str
    reason: str


class AuditSwept(Observation, frozen=True):
    """Audit rows older than `management.audit_retention` were deleted."""

    rows: int
