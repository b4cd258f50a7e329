"""Metrics of the pool of shapes."""

from collections.abc import Callable

from broker.observability.observe import gauge
from workers.sync.registry import ShapeRegistry

_KINDS = ("start", "now", "log", "live", "subset")


class SyncMetrics:
    """Counts requests by what they ask for, and shows the shapes of a registry."""

    def __init__(self) -> None:
        self._requests = dict.fromkeys(_KINDS, 0)

    def count(self, kind: str) -> None:
        """Count a request."""
        self._requests[kind] += 1

    def register(self, registry: ShapeRegistry) -> Callable[[], None]:
        """Register the metrics; return a function that removes them."""
        removers = [
            gauge("headwater_sync_shapes", "Shapes of tables.", lambda: len(registry.by_handle)),
            gauge(
                "headwater_sync_shapes_behind",
                "Shapes to which changes have still to be applied.",
                lambda: sum(shape.is_behind for shape in registry.by_handle.values()),
            ),
            gauge("headwater_sync_bytes", "Bytes of all shapes on disk.", lambda: registry.total_size),
            *(self._requests_of(kind) for kind in _KINDS),
        ]

        def remove() -> None:
            for remover in removers:
                remover()

        return remove

    def _requests_of(self, kind: str) -> Callable[[], None]:
        help = "Requests for shapes, by what they ask for."
        return gauge("headwater_sync_requests", help, lambda: self._requests[kind], kind=kind)
