"""When keys of foreign issuers are read, how often, and what a failure changes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from schemas.keys.token_keys import Issuer as Trusted
from services.keys import third_party_keys
from services.keys.issuers import ThirdPartyIssuer
from services.keys.key_fetch import KeyClient
from services.keys.third_party_keys import PAUSE_S, ThirdPartyKeys
from tests.broker.server import free_port
from tests.services.keys.issuer import KEYS, Issuer, pair


@dataclass
class ForeignKeys:
    """Foreign keys at work, what they told last, and a clock that the test moves."""

    foreign: ThirdPartyKeys
    told: list[Mapping[str, Trusted]] = field(default_factory=list)
    now: float = 0.0

    def ids(self, issuer: Issuer) -> list[str | None]:
        return [key.id for key in self.told[-1][issuer.url].keys.keys]


@asynccontextmanager
async def held(*issuers: Issuer, audience: str | None = None) -> AsyncIterator[ForeignKeys]:
    publications = KeyClient()
    named = [
        ThirdPartyIssuer(f"n{number}", each.url, each.url + KEYS, audience)
        for number, each in enumerate(issuers)
    ]
    made = ForeignKeys(
        ThirdPartyKeys(
            named,
            publications.keys,
            lambda all_of_them: made.told.append(all_of_them),
            clock=lambda: made.now,
        )
    )
    try:
        yield made
    finally:
        await made.foreign.close()
        await publications.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.005)


async def test_the_start_reads_all_keys(issuer: Issuer) -> None:
    async with held(issuer, audience="app") as one:
        await one.foreign.start()

        assert one.ids(issuer) == ["one"]
        assert one.told[-1][issuer.url].audience == "app"


async def test_the_start_does_not_wait_long_for_an_issuer_that_is_silent(
    issuer: Issuer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.gate = asyncio.Event()
    monkeypatch.setattr(third_party_keys, "WAIT_S", 0.02)
    async with held(issuer) as one:
        await one.foreign.start()
        assert one.ids(issuer) == []

        issuer.gate.set()
        await until(lambda: one.ids(issuer) == ["one"])

    assert "could not be read" in "".join(capsys.readouterr())


async def test_the_start_goes_on_without_an_issuer_that_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    gone = Issuer(f"http://127.0.0.1:{free_port()}")
    async with held(gone) as one:
        await one.foreign.start()

        assert one.ids(gone) == []
    assert "no connection could be made" in "".join(capsys.readouterr())


async def test_without_issuers_nothing_is_asked_and_nothing_told() -> None:
    async with held() as one:
        await one.foreign.start()

        assert one.told == []
        assert not await one.foreign.learn("https://a.example")


async def test_keys_that_are_the_same_are_not_told_again(issuer: Issuer) -> None:
    async with held(issuer) as one:
        await one.foreign.start()
        count = len(one.told)

        assert await one.foreign.refresh(issuer.url)
        assert (issuer.asked[KEYS], len(one.told)) == (2, count)


async def test_a_rotation_at_the_issuer_is_taken_over(issuer: Issuer) -> None:
    async with held(issuer) as one:
        await one.foreign.start()
        issuer.publish(issuer.key.public, pair("two", "RS256").public)
        await one.foreign.refresh(issuer.url)
        assert one.ids(issuer) == ["one", "two"]

        issuer.publish(pair("two", "RS256").public)
        await one.foreign.refresh(issuer.url)
        assert one.ids(issuer) == ["two"]


@pytest.mark.parametrize("broken", [b"", b"{}", {"keys": []}, None])
async def test_a_reading_that_fails_keeps_the_old_keys(issuer: Issuer, broken: object) -> None:
    async with held(issuer) as one:
        await one.foreign.start()
        issuer.documents[KEYS] = broken

        assert not await one.foreign.refresh(issuer.url)
        assert one.ids(issuer) == ["one"]


async def test_an_unknown_key_is_learnt_at_once(issuer: Issuer) -> None:
    async with held(issuer) as one:
        await one.foreign.start()
        issuer.publish(pair("two").public)

        assert await one.foreign.learn(issuer.url)
        assert one.ids(issuer) == ["two"]


async def test_unknown_keys_lead_to_one_reading_in_half_a_minute(issuer: Issuer) -> None:
    async with held(issuer) as one:
        await one.foreign.start()
        for _ in range(50):
            assert not await one.foreign.learn(issuer.url)
        assert issuer.asked[KEYS] == 2

        one.now = PAUSE_S
        issuer.publish(pair("two").public)
        assert await one.foreign.learn(issuer.url)
        assert issuer.asked[KEYS] == 3


async def test_a_failed_reading_counts_as_one(issuer: Issuer) -> None:
    async with held(issuer) as one:
        await one.foreign.start()
        del issuer.documents[KEYS]
        for _ in range(3):
            assert not await one.foreign.learn(issuer.url)

        assert issuer.asked[KEYS] == 2


async def test_all_who_wait_share_one_reading(issuer: Issuer) -> None:
    async with held(issuer) as one:
        await one.foreign.start()
        issuer.publish(pair("two").public)
        issuer.gate = asyncio.Event()
        waiting = [asyncio.ensure_future(one.foreign.learn(issuer.url)) for _ in range(20)]
        await until(lambda: issuer.asked[KEYS] == 2)
        issuer.gate.set()

        assert await asyncio.gather(*waiting) == [True] * 20
        assert issuer.asked[KEYS] == 2


async def test_a_request_that_leaves_does_not_end_the_reading_of_others(issuer: Issuer) -> None:
    async with held(issuer) as one:
        await one.foreign.start()
        issuer.publish(pair("two").public)
        issuer.gate = asyncio.Event()
        leaving, staying = (asyncio.ensure_future(one.foreign.learn(issuer.url)) for _ in range(2))
        await until(lambda: issuer.asked[KEYS] == 2)
        leaving.cancel()
        issuer.gate.set()

        assert await staying


async def test_an_issuer_that_is_not_named_is_never_asked(issuer: Issuer) -> None:
    async with held(issuer) as one:
        await one.foreign.start()

        assert not await one.foreign.learn("https://another.example")
        assert issuer.asked[KEYS] == 1


async def test_one_issuer_that_is_away_does_not_keep_others_from_being_read(issuer: Issuer) -> None:
    gone = Issuer(f"http://127.0.0.1:{free_port()}")
    async with held(gone, issuer) as one:
        await one.foreign.start()

        assert (one.ids(gone), one.ids(issuer)) == ([], ["one"])
