"""[observability]: traces. Off unless an endpoint is set."""

from msgspec import Struct

from schemas.keys.secret import Secret
from schemas.settings.types import Ratio


class Observability(Struct, frozen=True):
    """[observability]: collector and sampling of traces."""

    otlp_endpoint: str = ""
    """Base address of a collector that accepts OTLP over HTTP, such as `http://collector:4318`. Empty: no traces. Also read from `OTEL_EXPORTER_OTLP_ENDPOINT`."""
    otlp_headers: Secret | None = None
    """Headers for the collector: `name=value,name=value`. Also read from `OTEL_EXPORTER_OTLP_HEADERS`."""
    sampling: Ratio = 1.0
    """Fraction of the requests that are traced, 0 to 1. A client that sends `traceparent` has decided already."""
