"""The dashboard at the gateway: methods, the slash that names are relative to, the switches."""

import pytest

from schemas.settings.dashboard import Dashboard
from schemas.settings.management import Management
from schemas.settings.tree import Settings
from services.gateway.requests.routes import areas_off
from tests.services.gateway.running_gateway import RunningGateway


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_path_without_its_slash_leads_to_the_page(gateway: RunningGateway, method: str) -> None:
    answer = await gateway.ask(method, "/_", key=None)

    assert (answer.status, answer.header("location")) == (308, "_/")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_nothing_is_written_there(gateway: RunningGateway, method: str) -> None:
    answer = await gateway.ask(method, "/_/", key=None)

    assert (answer.status, answer.header("allow")) == (405, "GET, HEAD, OPTIONS")


def test_it_is_switched_off_by_itself_and_with_the_interface() -> None:
    assert "dashboard" not in areas_off(Settings())
    assert "dashboard" in areas_off(Settings(dashboard=Dashboard(enabled=False)))
    assert {"dashboard", "management"} <= areas_off(Settings(management=Management(enabled=False)))
