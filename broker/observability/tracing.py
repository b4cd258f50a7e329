"""Trace requests across processes: the switch. `spans.py` is the interface of spans, `telemetry.py` implements it.

    edge (server) --> call of a pool (client) --> worker (server) --> SQL (client), requests to others (client)

When tracing is off, which is the default, a traced place costs one look at `STATE.tracing`, and the packages of
OpenTelemetry are not imported. When it is on, a span contains names, numbers and the texts of statements. It contains
no header, parameter, URL query or exception message, because these may contain secrets.
"""

from broker.observability.spans import Tracing
from schemas.settings.tree import Observability, SettingsError


class _State:
    """The tracing of this process; None when it is off."""

    __slots__ = ("tracing",)

    def __init__(self) -> None:
        self.tracing: Tracing | None = None


STATE = _State()


def start_tracing(options: Observability, process: str, project: str) -> None:
    """Start tracing, if the settings name a collector. Raises: SettingsError if the packages are missing.

    The import is inside the function because the packages of OpenTelemetry must not be loaded by a process that does
    not trace.
    """
    if not options.otlp_endpoint:
        return
    try:
        from broker.observability.telemetry import telemetry
    except ModuleNotFoundError:
        raise SettingsError(
            "observability.otlp_endpoint is set, and the packages for traces are not here: "
            "install headwater[telemetry], or leave the endpoint empty"
        ) from None
    STATE.tracing = telemetry(options, process, project)


def stop_tracing() -> None:
    """Stop tracing and send the remaining spans. It waits for the collector, a few seconds at most."""
    tracing, STATE.tracing = STATE.tracing, None
    if tracing is not None:
        tracing.close()
