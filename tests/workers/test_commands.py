"""The names of `python -m workers`: a pool and a command of one name would be one of them only."""

from workers.__main__ import ALONE, COMMANDS, POOLS


def test_no_command_has_the_name_of_a_pool() -> None:
    assert COMMANDS.keys().isdisjoint({**POOLS, **ALONE})
