"""Observations, log lines, metrics, traces and reported faults of every process."""
