"""A catcher that listens, and a session to ask it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from services.mail_catcher.edge import MailCatcher, MailCatcherOptions


@pytest.fixture
async def catcher() -> AsyncIterator[MailCatcher]:
    """A catcher on free ports."""
    one = MailCatcher(MailCatcherOptions(port=0, smtp_port=0, max_emails=20))
    await one.start()
    yield one
    await one.stop()


@pytest.fixture
async def session(catcher: MailCatcher) -> AsyncIterator[aiohttp.ClientSession]:
    """A session whose addresses are the catcher's."""
    async with aiohttp.ClientSession(f"http://127.0.0.1:{catcher.port}") as one:
        yield one
