"""A hook service, and houses whose settings name it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth import Hook
from tests.workers.auth.delivery.hooks.service import SECRETS, HookService, served
from tests.workers.auth.house import House
from workers.auth.delivery.hooks.over_http import Patience
from workers.auth.delivery.hooks.points import Point
from workers.auth.delivery.hooks.reading import read_services
from workers.auth.delivery.hooks.runner import Hooks

QUICK = Patience(total_s=5.0, tries=3, pause_s=0.0)


@pytest.fixture
async def service() -> AsyncIterator[HookService]:
    one = HookService()
    async with served(one.answer) as url:
        one.url = url
        yield one
        if one.hang is not None:
            one.hang.set()


class Hooked:
    """Makes houses whose hooks are set."""

    def __init__(self, house: House, service: HookService) -> None:
        self.house, self.service = house, service

    def over_http(self, *points: Point, patience: Patience = QUICK, **changes: object) -> House:
        """Give a house that asks the service at some points."""
        hook = Hook(enabled=True, uri=self.service.url, secrets=Secret(SECRETS))
        return self._house({point: hook for point in points}, patience, changes)

    def in_database(self, point: Point, name: str, **changes: object) -> House:
        """Give a house that asks a function of the schema `public` at a point."""
        return self._house(
            {point: Hook(enabled=True, uri=f"pg-functions://postgres/public/{name}")}, QUICK, changes
        )

    def _house(self, hooks: dict[Point, Hook], patience: Patience, changes: dict[str, object]) -> House:
        named = {f"hook__{point.value}": hook for point, hook in hooks.items()}
        made = self.house.having(**named, **changes)
        accounts = made.accounts
        services = read_services(
            accounts.settings.hook, accounts.database, accounts.outgoing, patience=patience
        )
        hooks = Hooks(services)
        outbox = replace(accounts.outbox, hooks=hooks)
        return House(replace(accounts, hooks=hooks, outbox=outbox), made.admin, made.clock)


@pytest.fixture
def hooked(house: House, service: HookService) -> Hooked:
    return Hooked(house, service)
