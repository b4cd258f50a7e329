"""Fuzzers: generated and mutated input for every parser and interface that clients reach, with a fixed budget in the gate."""
