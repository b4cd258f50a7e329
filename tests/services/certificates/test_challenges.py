"""Questions for challenges: all are answered, by few reads, and never by a read that began before them."""

import asyncio

from schemas.errors import Unavailable
from schemas.settings.certificates import HTTP
from services.certificates.challenges import CHALLENGE_PATH, ChallengeResponder
from services.certificates.model import ChallengeAnswer


def answer(token: str) -> ChallengeAnswer:
    return ChallengeAnswer("api.example.org", HTTP, token, f"{token}.thumbprint")


async def test_many_questions_at_once_share_two_reads() -> None:
    reads = 0
    go_on = asyncio.Event()

    async def read() -> list[ChallengeAnswer]:
        nonlocal reads
        reads += 1
        await go_on.wait()
        return [answer("one")]

    responder = ChallengeResponder(read)
    first = asyncio.ensure_future(responder.text(CHALLENGE_PATH + "one"))
    while not reads:
        await asyncio.sleep(0)
    others = [asyncio.ensure_future(responder.text(CHALLENGE_PATH + "one")) for _ in range(500)]
    await asyncio.sleep(0)
    go_on.set()

    assert {await first, *await asyncio.gather(*others)} == {"one.thumbprint"}
    assert reads == 2


async def test_a_question_behind_a_new_challenge_finds_it() -> None:
    stored: list[ChallengeAnswer] = []

    async def read() -> list[ChallengeAnswer]:
        return list(stored)

    responder = ChallengeResponder(read)
    assert await responder.text(CHALLENGE_PATH + "new") is None
    stored.append(answer("new"))
    assert await responder.text(CHALLENGE_PATH + "new") == "new.thumbprint"
    assert await responder.text(CHALLENGE_PATH + "../new") is None
    assert await responder.context("api.example.org") is None, "it is one of http-01"


async def test_a_question_while_the_broker_is_away_has_no_answer() -> None:
    async def read() -> list[ChallengeAnswer]:
        raise Unavailable("away")

    assert await ChallengeResponder(read).text(CHALLENGE_PATH + "one") is None
