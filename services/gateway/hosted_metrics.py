"""Metrics of the machine and of Postgres under the names of hosted projects, for dashboards that are made for these.

They are read when the Metrics API is scraped, and cost nothing else: files of the kernel in a thread, a few statements by the pool `management`.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import msgspec

from broker.observability.metrics import escaped_label
from broker.processes.data_folder import data_folder
from broker.requests.call import Calls
from broker.subjects import MANAGEMENT
from schemas.caller import ServiceCaller
from schemas.errors import ApiError
from schemas.http import Request
from schemas.server_figures import SERVER_FIGURES_PATH, ServerFigures
from services.gateway.node_figures import Figure, node_figures

_BUDGET_MS = 5000
_COUNTERS = ("pg_stat_statements_total_queries", "pg_stat_statements_total_time_seconds")
"""Those that end with something else than `_total`."""


class HostedMetrics:
    """Reads them. Each sample has the project's ref, as `$project` of the dashboards chooses by it; the last known one while the database is away."""

    def __init__(self, calls: Calls, data: Path | None = None) -> None:
        self._calls, self._data, self._ref = calls, data or data_folder(), ""

    async def text(self) -> str:
        """Return them as Prometheus text. `pg_up` is 0 while the database does not answer, and missing where the pool is switched off."""
        machine = asyncio.to_thread(node_figures, self._data)
        nodes, server = await asyncio.gather(machine, self._server())
        return exposition(nodes, self._ref, "db") + exposition(server, self._ref, "postgresql")

    async def _server(self) -> list[Figure]:
        request = Request(
            id="metrics", method="GET", path=SERVER_FIGURES_PATH, caller=ServiceCaller(), budget_ms=_BUDGET_MS
        )
        try:
            answer = await self._calls.call(MANAGEMENT, request)
        except ApiError:
            return []
        if answer.response.status != 200:
            return [Figure("pg_up", (), 0.0)]
        body = answer.response.body
        if answer.chunks is not None:
            body = b"".join([chunk async for chunk in answer.chunks])
        server = msgspec.json.decode(body, type=ServerFigures)
        self._ref = server.ref
        figures = [Figure(name, (), value) for name, value in server.figures.items()]
        return [Figure("pg_up", (), 1.0), *figures]


def exposition(figures: Iterable[Figure], ref: str, service: str) -> str:
    """Return figures as Prometheus text, by metric (pure)."""
    families: dict[str, list[str]] = {}
    for name, labels, value in figures:
        every = (("supabase_project_ref", ref), ("service_type", service), *labels)
        text = ",".join(f'{label}="{escaped_label(content)}"' for label, content in every)
        families.setdefault(name, []).append(f"{name}{{{text}}} {value!r}")
    lines = [
        line for name, samples in families.items() for line in (f"# TYPE {name} {_kind(name)}", *samples)
    ]
    return "\n".join([*lines, ""]) if lines else ""


def _kind(name: str) -> str:
    if name.startswith("node_vmstat_"):
        return "untyped"
    return "counter" if name.endswith("_total") or name in _COUNTERS else "gauge"
