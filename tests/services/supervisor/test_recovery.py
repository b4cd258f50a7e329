"""What a restore refuses before it writes anything. The restore itself is tried in tests/platforms/test_recovery.py."""

import pytest

from services.supervisor.errors import StartRefused
from services.supervisor.recovery import check_version
from tests.services.supervisor.recovery_plans import plan


def test_an_archive_of_another_version_is_refused_with_the_option_that_helps() -> None:
    check_version(plan({}))
    with pytest.raises(
        StartRefused, match=r"Postgres 16, and the embedded server is Postgres 18.*--files-only"
    ):
        check_version(plan({}, 160010))
