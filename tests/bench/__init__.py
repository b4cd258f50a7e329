"""Benchmarks: they print figures and fail on nothing but wrong answers."""
