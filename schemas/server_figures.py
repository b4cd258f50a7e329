"""Figures of the database server under the names that hosted projects give them: what the pool `management` returns to the gateway's metrics."""

from msgspec import Struct

SERVER_FIGURES_PATH = "/pg/metrics"
"""Path of the request to the pool. Holders of the secret key, who may read the metrics, reach it under the same path."""


class ServerFigures(Struct, frozen=True):
    """`ref`: the project's. `figures`: value by the name of the metric; one that this server does not have is left out."""

    ref: str
    figures: dict[str, float]
