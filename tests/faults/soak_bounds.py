"""What a soak may take at most (pure): bounds of each figure, and the judgement of samples by them.

A bound has two halves. `most`: no sample may be above it. `growth`: the most of the last quarter may be above the most of the
second quarter by a tenth and by `growth` at most: what grows with time or with the number of operations exceeds it sooner or later. The first quarter
is the warming up: caches fill, processes load what they need, and nothing has reached its age yet.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MIB = 1024 * 1024
_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of all figures whose name matches `pattern`."""

    pattern: str
    most: float
    growth: float
    why: str
    unit: str = ""


BOUNDS = (
    Bound(r"memory (edges|pools)", 160 * MIB, 12 * MIB, "an idle process 15 to 35 MiB; caches of plans, keys and sockets are bounded", "MiB"),
    Bound(r"memory postgres", 256 * MIB, 24 * MIB, "backends: 2 to 4 MiB each, and their catalog caches", "MiB"),
    Bound(r"memory nats", 128 * MIB, 16 * MIB, "streams are files; buffers of connections", "MiB"),
    Bound(r"memory .*", 160 * MIB, 8 * MIB, "every other process", "MiB"),
    Bound(r"descriptors postgres", 3000, 600, "files of each backend: 30 to 100 backends, 25 files each"),
    Bound(r"descriptors .*", 400, 40, "connections, sockets, files that are being sent"),
    Bound(r"disk nats", 640 * MIB, 64 * MIB, "realtime.retention_size, log_store.queue_size, storage.events_max_size", "MiB"),
    Bound(r"disk logs", 400 * MIB, 40 * MIB, "four files of 10 MiB for each process", "MiB"),
    Bound(r"disk log-store", 96 * MIB, 16 * MIB, "log.store.max_size, here 64 MiB, and the block that is being written", "MiB"),
    Bound(r"disk storage", 256 * MIB, 96 * MIB, "the objects that are there, and those that were removed a while ago: as many as the rate makes, which varies by three on a busy machine", "MiB"),
    Bound(r"disk pg_wal", 640 * MIB, 128 * MIB, "max_wal_size (256 MiB) and what a slot keeps", "MiB"),
    Bound(r"slot lag", 128 * MIB, 16 * MIB, "the reader of the log follows within seconds", "MiB"),
    Bound(r"rows headwater\.administrator_audit", 1_000, 400, "management.audit_retention, here 1 minute; swept once an hour"),
    Bound(r"rows storage\.events_outbox", 2_000, 200, "published within a second"),
    Bound(r"rows headwater\.idempotent_answers", 8_000, 4_000, "api.idempotency.keep, here 1 minute; swept every 5 to 15 minutes"),
    Bound(r"rows auth\.sessions", 400, 60, "each client signs out"),
    Bound(r"rows auth\.refresh_tokens", 3_000, 300, "of sessions that were ended, with them"),
    Bound(r"rows auth\.one_time_tokens", 200, 40, "one of each kind for each user"),
    Bound(r"rows cron\.job_run_details", 4_500, 3_800, "scheduler.keep_runs, here 1 minute, a run a second; swept once an hour"),
    Bound(r"rows supabase_functions\.hooks", 30_000, 25_000, "scheduler.keep_runs, here 1 minute, some five a second; swept once an hour"),
    Bound(r"rows auth\.audit_log_entries", 8_000, 2_000, "auth.audit_log.retention, here 1 minute; swept every 30 to 90 s"),
    Bound(r"rows net\..*", 130_000, 130_000, "pg_net drops answers after six hours, some five a second"),
    Bound(r"rows storage\.tombstones", 20_000, 2_000, "removed objects, until their files are deleted"),
    Bound(r"rows .*", 20_000, 500, "other tables of the platform"),
    Bound(r"dead .*", 30_000, 8_000, "autovacuum: a fifth of the rows, and what came since its last round"),
    Bound(r"size .*", 64 * MIB, 4 * MIB, "tables of the platform with their indexes", "MiB"),
)  # fmt: skip
"""The first one that matches a figure's name counts."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one figure. `early`: the most of the second quarter, `late`: of the last one."""

    name: str
    early: float
    late: float
    most: float
    bound: Bound

    @property
    def is_kept(self) -> bool:
        """Whether it stayed within its bound."""
        return self.most <= self.bound.most and self.late <= self.early * (1 + _SHARE) + self.bound.growth


def bound_of(name: str) -> Bound:
    """Return the bound of a figure. Raises: StopIteration for a figure without one."""
    return next(bound for bound in BOUNDS if re.fullmatch(bound.pattern, name))


def judged(samples: Sequence[Mapping[str, float]]) -> list[Verdict]:
    """Compare the samples of a soak, in the order in which they were taken, with the bounds.

    A figure that a sample lacks (a process that was not there) counts as 0 in it.
    """
    names = sorted({name for sample in samples for name in sample})
    quarter = max(1, len(samples) // 4)
    return [
        Verdict(
            name,
            max(sample.get(name, 0.0) for sample in samples[quarter : 2 * quarter] or samples),
            max(sample.get(name, 0.0) for sample in samples[-quarter:]),
            max(sample.get(name, 0.0) for sample in samples),
            bound_of(name),
        )
        for name in names
    ]


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Return the table of a soak. Figures that are small throughout are left out."""
    lines = ["| figure | second quarter | last quarter | most | bound | kept |", "|---|---|---|---|---|---|"]
    for each in verdicts:
        if each.is_kept and each.most <= each.bound.growth / 4:
            continue
        shown = [_shown(value, each.bound) for value in (each.early, each.late, each.most, each.bound.most)]
        lines.append(f"| {each.name} | {' | '.join(shown)} | {'yes' if each.is_kept else '**NO**'} |")
    return "\n".join(lines)


def _shown(value: float, bound: Bound) -> str:
    return f"{value / MIB:.1f} MiB" if bound.unit == "MiB" else f"{value:.0f}"
