"""Samples of the metrics of all processes (broker/observability/metrics.py). Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

_SAMPLE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class MetricSample(NamedTuple):
    """One figure of one process: its labels, `process` and `member` among them."""

    labels: dict[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class MetricSamples:
    """The samples by their names, as in `headwater_requests_total`."""

    by_name: dict[str, list[MetricSample]]

    def of(self, name: str, **labels: str) -> list[MetricSample]:
        """Return the samples of a name that have these labels."""
        return [
            sample
            for sample in self.by_name.get(name, ())
            if all(sample.labels.get(label) == value for label, value in labels.items())
        ]

    def total(self, name: str, **labels: str) -> float:
        """Return the sum over all processes; 0 without a sample."""
        return sum(sample.value for sample in self.of(name, **labels))

    def greatest(self, name: str, **labels: str) -> float | None:
        """Return the greatest value over all processes, None without a sample."""
        return max((sample.value for sample in self.of(name, **labels)), default=None)


def read_metrics(text: str, names: Collection[str]) -> MetricSamples:
    """Return the samples of some names in the merged text of all processes. Lines of other names are not parsed."""
    by_name: dict[str, list[MetricSample]] = {}
    for name, labels, value in _SAMPLE.findall(text):
        if name in names:
            sample = MetricSample({key: _plain(part) for key, part in _LABEL.findall(labels)}, float(value))
            by_name.setdefault(name, []).append(sample)
    return MetricSamples(by_name)


def _plain(text: str) -> str:
    """Return the value of a label without its escapes."""
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], text)
