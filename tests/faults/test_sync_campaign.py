"""The short form of the campaign of shapes: one of each fault."""

import pytest

from tests.faults.plan import one_of_each
from tests.faults.sync_campaign import KINDS, run_sync_campaign

_REST_S = 3.0


@pytest.mark.process_group("sync-campaign")
@pytest.mark.timeout(400)
async def test_clients_of_shapes_equal_select_after_faults_under_writes() -> None:
    plan = one_of_each(KINDS, _REST_S)

    result = await run_sync_campaign(plan, plan[-1].at_s + _REST_S)

    print(result)
    assert result.is_kept
    assert result.acknowledged
    assert sum(result.faults.values()) == len(KINDS)
