"""Figures of the dashboard: pages, frames of a scroll, journeys.

    python -m tests.bench.dashboard [--parts pages,axe,frames,journeys] [--only Tables,Home] [--repeat 3] [--seconds 5]

Builds the dashboard, starts a platform with the project of `project.sql` (200,000 events), drives Chromium and prints one table a
part, then the figures that have a limit: `work | today | wanted | met`. Less than ten minutes on a quiet machine; the load
of the machine stands beside. `--only`: names of pages and words of journeys. Returns 1 where a limit is missed.
"""
