"""Section 8. Limits."""

import pytest

from tests.platforms.seed.callers import SeedPlatform

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


def test_accounts_are_protected_against_brute_force(seed_platform: SeedPlatform) -> None:
    credentials = {"email": "ada@example.com", "password": "guessed"}

    answers = [
        seed_platform.anon.ask("POST", "/auth/v1/token?grant_type=password", credentials) for _ in range(60)
    ]

    assert {each.status_code for each in answers} == {400, 429}
    refused = [
        each for each in answers if each.status_code == 429
    ]  # on a slow machine a later one may be let through
    assert all(each.headers["retry-after"] for each in refused)
