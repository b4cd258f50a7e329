"""A hook service, and pools whose settings name it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth import Hook
from tests.workers.auth.auth_pool import AuthPool
from tests.workers.auth.delivery.hooks.service import SECRETS, HookService, served
from workers.auth.delivery.hooks.over_http import RetryLimits
from workers.auth.delivery.hooks.points import HookPoint
from workers.auth.delivery.hooks.runner import HookRunner
from workers.auth.delivery.hooks.targets import read_hook_targets

QUICK = RetryLimits(total_s=5.0, tries=3, pause_s=0.0)


@pytest.fixture
async def service() -> AsyncIterator[HookService]:
    one = HookService()
    async with served(one.answer) as url:
        one.url = url
        yield one
        if one.hang is not None:
            one.hang.set()


class Hooked:
    """Makes pools whose hooks are set."""

    def __init__(self, auth_pool: AuthPool, service: HookService) -> None:
        self.auth_pool, self.service = auth_pool, service

    def over_http(self, *points: HookPoint, limits: RetryLimits = QUICK, **changes: object) -> AuthPool:
        """Return a pool auth that asks the service at some points."""
        hook = Hook(enabled=True, uri=self.service.url, secrets=Secret(SECRETS))
        return self._house({point: hook for point in points}, limits, changes)

    def in_database(self, point: HookPoint, name: str, **changes: object) -> AuthPool:
        """Return a pool auth that asks a function of the schema `public` at a point."""
        return self._house(
            {point: Hook(enabled=True, uri=f"pg-functions://postgres/public/{name}")}, QUICK, changes
        )

    def _house(
        self, hooks: dict[HookPoint, Hook], limits: RetryLimits, changes: dict[str, object]
    ) -> AuthPool:
        named = {f"hook__{point.value}": hook for point, hook in hooks.items()}
        made = self.auth_pool.having(**named, **changes)
        context = made.context
        services = read_hook_targets(context.settings.hook, context.database, context.outgoing, limits=limits)
        hooks = HookRunner(services)
        outbox = replace(context.outbox, hooks=hooks)
        return AuthPool(replace(context, hooks=hooks, outbox=outbox), made.admin, made.clock)


@pytest.fixture
def hooked(auth_pool: AuthPool, service: HookService) -> Hooked:
    return Hooked(auth_pool, service)
