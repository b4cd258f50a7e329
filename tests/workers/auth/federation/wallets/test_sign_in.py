"""POST /token?grant_type=web3. Reference, section 14."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from schemas.settings.auth import Hook
from tests.workers.auth.auth_pool import AuthPool, claims_of, told
from tests.workers.auth.federation.wallets.wallet import SITE, EthereumWallet, SolanaWallet, text

ON = {
    "web3__ethereum__enabled": True,
    "web3__solana__enabled": True,
    "site_url": SITE,
    "additional_redirect_urls": [
        "https://other.example/**",
        "http://dev.example/**",
        "https://half.example/in",
    ],
    "rate_limit__web3": 0.0,
}
GRANT = "/token?grant_type=web3"
WALLETS = {"ethereum": EthereumWallet, "solana": SolanaWallet}
BAD = (400, "invalid_grant")


@pytest.fixture
def open_auth_pool(auth_pool: AuthPool) -> AuthPool:
    return auth_pool.having(**ON)


def body_of(auth_pool: AuthPool, wallet: EthereumWallet | SolanaWallet, **changes: Any) -> dict[str, str]:
    """Return a signed message; changes are of its lines."""
    chain = "ethereum" if isinstance(wallet, EthereumWallet) else "solana"
    changes.setdefault("issued_at", auth_pool.context.now())
    message = text(wallet.address, chain.title(), **changes)
    return {"chain": chain, "message": message, "signature": wallet.sign(message)}


async def refused(auth_pool: AuthPool, body: dict[str, str]) -> tuple[int, str]:
    response = await auth_pool.send("POST", GRANT, body)
    shown = json.loads(response.body)
    assert response.status >= 400, shown
    return response.status, shown.get("error") or shown["error_code"]


@pytest.mark.parametrize("chain", WALLETS)
async def test_a_wallet_gives_a_session(open_auth_pool: AuthPool, chain: str):
    wallet = WALLETS[chain].new()

    signed = open_auth_pool.signed(await open_auth_pool.ok("POST", GRANT, body_of(open_auth_pool, wallet)))
    user = signed.body["user"]
    (identity,) = user["identities"]

    assert [each["method"] for each in claims_of(signed.caller)["amr"]] == ["web3"]
    assert (user["email"], user["phone"], user["is_anonymous"]) == ("", "", False)
    assert user["app_metadata"] == {"provider": "web3", "providers": ["web3"]}
    assert (identity["provider"], identity["id"]) == ("web3", f"web3:{chain}:{wallet.address}")
    assert user["user_metadata"]["custom_claims"] == {
        "address": wallet.address,
        "chain": chain,
        "network": "1" if chain == "ethereum" else "",
        "domain": "app.example",
        "statement": "I accept the terms",
    }


@pytest.mark.parametrize("chain", WALLETS)
async def test_a_wallet_comes_back_to_its_account(open_auth_pool: AuthPool, chain: str):
    wallet, other = WALLETS[chain].new(), WALLETS[chain].new()
    first = await open_auth_pool.ok("POST", GRANT, body_of(open_auth_pool, wallet, Nonce="first000"))

    second = await open_auth_pool.ok("POST", GRANT, body_of(open_auth_pool, wallet, Nonce="second00"))
    third = await open_auth_pool.ok("POST", GRANT, body_of(open_auth_pool, other, Nonce="first000"))

    assert second["user"]["id"] == first["user"]["id"] != third["user"]["id"]
    assert len(second["user"]["identities"]) == 1


async def test_the_case_of_an_address_makes_no_other_account(open_auth_pool: AuthPool):
    wallet = EthereumWallet.new()
    users = set()
    for number, address in enumerate((wallet.address, "0x" + wallet.address[2:].upper())):
        message = text(address, issued_at=open_auth_pool.context.now(), Nonce=f"nonce00{number}")
        body = {"chain": "ethereum", "message": message, "signature": wallet.sign(message)}
        users.add((await open_auth_pool.ok("POST", GRANT, body))["user"]["id"])

    assert len(users) == 1


@pytest.mark.parametrize("chain", WALLETS)
@pytest.mark.parametrize("nonce", ["abcdefgh", ""])
async def test_a_message_works_once(open_auth_pool: AuthPool, chain: str, nonce: str):
    body = body_of(open_auth_pool, WALLETS[chain].new(), Nonce=nonce)
    await open_auth_pool.ok("POST", GRANT, body)

    assert await refused(open_auth_pool, body) == BAD
    open_auth_pool.clock.forward(minutes=9)
    assert await refused(open_auth_pool, body) == BAD
    open_auth_pool.clock.forward(minutes=2)
    assert await refused(open_auth_pool, body) == BAD


async def test_a_nonce_works_once_whatever_else_is_signed(open_auth_pool: AuthPool):
    wallet = EthereumWallet.new()
    await open_auth_pool.ok("POST", GRANT, body_of(open_auth_pool, wallet, statement="one"))

    assert await refused(open_auth_pool, body_of(open_auth_pool, wallet, statement="another")) == BAD
    open_auth_pool.clock.forward(minutes=11)
    await open_auth_pool.ok("POST", GRANT, body_of(open_auth_pool, wallet))


@pytest.mark.parametrize("chain", WALLETS)
async def test_ten_uses_at_once_are_one(open_auth_pool: AuthPool, chain: str):
    body = body_of(open_auth_pool, WALLETS[chain].new())

    answered = await asyncio.gather(*(open_auth_pool.send("POST", GRANT, body) for _ in range(10)))

    assert sorted(each.status for each in answered) == [200] + [400] * 9


async def test_a_message_that_was_refused_is_not_used_up(open_auth_pool: AuthPool):
    closed = open_auth_pool.having(enable_signup=False)
    body = body_of(open_auth_pool, SolanaWallet.new())

    assert (await refused(closed, body))[1] == "signup_disabled"
    await open_auth_pool.ok("POST", GRANT, body)


async def test_who_guesses_a_nonce_cannot_use_it_up(open_auth_pool: AuthPool):
    wallet = EthereumWallet.new()
    body = body_of(open_auth_pool, wallet)

    assert (
        await refused(open_auth_pool, {**body, "signature": EthereumWallet.new().sign(body["message"])})
        == BAD
    )
    await open_auth_pool.ok("POST", GRANT, body)


@pytest.mark.parametrize(
    "changes",
    [
        {"uri": "https://evil.example/", "domain": "evil.example"},
        {"uri": "https://evil.example/"},
        {"domain": "evil.example"},
        {"uri": "https://other.example/"},
        {"domain": "app.example:8443"},
        {"domain": "http://app.example"},
        {"domain": "other.example"},
        {"uri": "http://dev.example/", "domain": "dev.example"},
        {"uri": "http://app.example/"},
        {"uri": "https://half.example/in", "domain": "half.example"},
        {"uri": "https://app.example@evil.example/"},
        {"uri": "https://app.example.evil.example/", "domain": "app.example.evil.example"},
        {"uri": "javascript:alert(1)"},
        {"uri": "nonsense"},
        {"issued_in_s": -601},
        {"issued_in_s": 660},
        {"issued_in_s": -86400},
        {"expires_in_s": 0},
        {"expires_in_s": -1},
        {"begins_in_s": 60},
    ],
)
@pytest.mark.parametrize("chain", WALLETS)
async def test_other_places_and_other_times_are_refused(
    open_auth_pool: AuthPool, chain: str, changes: dict[str, Any]
):
    now, lines = open_auth_pool.context.now(), dict(changes)
    for name, line in (("expires_in_s", "Expiration_Time"), ("begins_in_s", "Not_Before")):
        if name in lines:
            lines[line] = (now + timedelta(seconds=lines.pop(name))).isoformat()
    if "issued_in_s" in lines:
        lines["issued_at"] = now + timedelta(seconds=lines.pop("issued_in_s"))

    assert await refused(open_auth_pool, body_of(open_auth_pool, WALLETS[chain].new(), **lines)) == BAD


@pytest.mark.parametrize(
    "changes",
    [
        {"uri": "https://other.example/sign-in", "domain": "other.example"},
        {"uri": "http://localhost:3000/", "domain": "localhost:3000", "site_url": "http://localhost:3000"},
        {"domain": "https://app.example"},
        {"domain": "APP.example"},
        {"issued_in_s": -590},
        {"issued_in_s": 590},
        {"statement": ""},
    ],
)
@pytest.mark.parametrize("chain", WALLETS)
async def test_the_projects_own_places_and_times_near_now_are_fine(
    open_auth_pool: AuthPool, chain: str, changes: dict[str, Any]
):
    lines = dict(changes)
    auth_pool = open_auth_pool.having(site_url=lines.pop("site_url", SITE))
    if "issued_in_s" in lines:
        lines["issued_at"] = auth_pool.context.now() + timedelta(seconds=lines.pop("issued_in_s"))

    assert (await auth_pool.ok("POST", GRANT, body_of(auth_pool, WALLETS[chain].new(), **lines)))[
        "access_token"
    ]


@pytest.mark.parametrize("chain", WALLETS)
async def test_a_message_that_was_changed_is_refused(open_auth_pool: AuthPool, chain: str):
    body = body_of(open_auth_pool, WALLETS[chain].new())
    other = WALLETS[chain].new()

    for old, new in (("I accept", "I Accept"), ("https://app", "https://App"), ("Version: 1", "Version: 1 ")):
        assert await refused(open_auth_pool, {**body, "message": body["message"].replace(old, new)}) == BAD
    message = text(other.address, chain.title(), issued_at=open_auth_pool.context.now())
    assert await refused(open_auth_pool, {**body, "message": message}) == BAD
    assert await refused(open_auth_pool, {**body, "signature": ""}) == BAD
    assert await refused(open_auth_pool, {**body, "message": ""}) == BAD


async def test_a_message_for_one_chain_is_none_for_another(open_auth_pool: AuthPool):
    ethereum, solana = EthereumWallet.new(), SolanaWallet.new()

    for body, other in (
        (body_of(open_auth_pool, ethereum), "solana"),
        (body_of(open_auth_pool, solana), "ethereum"),
    ):
        assert await refused(open_auth_pool, {**body, "chain": other}) == BAD
    message = text(ethereum.address, "Solana", issued_at=open_auth_pool.context.now())
    body = {"chain": "solana", "message": message, "signature": ethereum.sign(message)}
    assert await refused(open_auth_pool, body) == BAD
    message = text(ethereum.address, "Ethereum", issued_at=open_auth_pool.context.now(), Chain_ID="mainnet")
    body = {"chain": "ethereum", "message": message, "signature": ethereum.sign(message)}
    assert await refused(open_auth_pool, body) == BAD


@pytest.mark.parametrize("chain", ["", "bitcoin", "Ethereum", "web3", "__class__"])
async def test_other_chains_are_not_supported(open_auth_pool: AuthPool, chain: str):
    body = {**body_of(open_auth_pool, EthereumWallet.new()), "chain": chain}

    assert await refused(open_auth_pool, body) == (400, "web3_unsupported_chain")


@pytest.mark.parametrize("chain", WALLETS)
async def test_each_chain_has_a_switch_of_its_own(auth_pool: AuthPool, chain: str):
    other = next(name for name in WALLETS if name != chain)
    half = auth_pool.having(**{**ON, f"web3__{chain}__enabled": False})

    assert await half.refused("POST", GRANT, body_of(half, WALLETS[chain].new())) == (
        422, "web3_provider_disabled", "Web3 provider is disabled",
    )  # fmt: skip
    await half.ok("POST", GRANT, body_of(half, WALLETS[other].new()))


async def test_the_project_may_refuse_a_new_account_but_no_old_one(open_auth_pool: AuthPool):
    await open_auth_pool.admin.execute(
        """create or replace function public.no_wallets(event jsonb) returns jsonb language sql as $f$
           select jsonb_build_object('error', jsonb_build_object('http_code', 403, 'message', 'No wallets')) $f$"""
    )
    wallet, uri = EthereumWallet.new(), "pg-functions://postgres/public/no_wallets"
    closed = open_auth_pool.having(hook__before_user_created=Hook(enabled=True, uri=uri))

    assert (await refused(closed, body_of(closed, wallet)))[0] == 403
    await open_auth_pool.ok("POST", GRANT, body_of(open_auth_pool, wallet))
    await closed.ok("POST", GRANT, body_of(closed, wallet, Nonce="another0"))


async def test_a_banned_owner_does_not_get_in(open_auth_pool: AuthPool):
    wallet = EthereumWallet.new()
    first = await open_auth_pool.ok("POST", GRANT, body_of(open_auth_pool, wallet))
    await open_auth_pool.admin.execute(
        "update auth.users set banned_until = now() + interval '1 day' where id = $1::text::uuid",
        first["user"]["id"],
    )

    again = body_of(open_auth_pool, wallet, Nonce="another0")

    assert await refused(open_auth_pool, again) == (400, "user_banned")


async def test_wallets_have_a_limit_of_their_own(open_auth_pool: AuthPool):
    limited = open_auth_pool.having(rate_limit__web3=1.0, rate_limit__token_refresh=1.0)

    async def one(kind: str) -> Any:
        return await limited.send("POST", f"/token?grant_type={kind}", {}, client="198.51.100.22")

    answered = [await one("web3") for _ in range(31)]

    assert [each.status for each in answered] == [400] * 30 + [429]
    assert told(answered[-1], "retry-after")
    assert (await one("password")).status == 400
