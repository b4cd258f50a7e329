"""The same work on Headwater and on its peers, in turns, in one run on one machine: `python -m tests.bench.peers`."""
