"""How the tests are dealt out to the processes of a run: by module, in the order they were collected.

A module's fixtures are then made by one process and not by each, and the processes are told of some 900 modules instead
of 20,000 tests, which cost the one that deals them out a minute. Tests of one `xdist_group` stay together, as before.
"""

import pytest
from xdist.scheduler.loadgroup import LoadGroupScheduling


class ByModule(LoadGroupScheduling):
    """Deals out whole modules, and whole groups of tests where they are marked."""

    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # by number of tests, the longest single tests would come last

    def _split_scope(self, nodeid: str) -> str:
        """Give the group of a test, or else its module."""
        return super()._split_scope(nodeid).partition("::")[0]
