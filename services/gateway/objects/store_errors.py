"""What a client is answered when the store of objects cannot do its part."""

from broker.blobs.errors import BlobStoreDown, StagingFull
from schemas.errors import Unavailable

_RETRY_AFTER_S = 60


class StagingLimitReached(Unavailable):
    """Uploads under way take as many bytes as they may together; those that end make room."""

    status = 507

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Uploads that are under way take all of the {limit} bytes that they may together; try again later",
            _RETRY_AFTER_S,
        )


def store_unavailable(error: BlobStoreDown) -> Unavailable:
    """Return the error that a client gets to see."""
    if isinstance(error, StagingFull):
        return StagingLimitReached(error.limit)
    return Unavailable(f"the store of objects does not answer: {error}")
