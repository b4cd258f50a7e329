"""Networks at which users are known: named so that nobody reads them, few for each user, for a time."""

import uuid

import pytest

from tests.workers.auth.auth_pool import AuthPool
from workers.auth.accounts.codes import networks
from workers.auth.accounts.codes.networks import network_hash, network_of
from workers.auth.model.rows import AuthUser

KEY = b"k" * 32


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1", "fe80::"),
        ("", ""),
        ('x"},{y\\', "xy"),
        ("9" * 100, "9" * 64),
    ],
)
def test_a_network_is_what_one_connection_has(client: str, network: str):
    assert network_of(client) == network


def test_a_name_is_of_one_address_at_one_network_and_shows_neither():
    names = {
        network_hash(key, *parts)
        for key in (KEY, b"o" * 32)
        for parts in (
            ("a", "b@c.d", "192.0.2.7"),
            ("a", "b@c.e", "192.0.2.7"),
            ("a", "b@c.d", "192.0.2.8"),
            ("ab", "@c.d", "192.0.2.7"),
        )
    }

    assert len(names) == 8
    assert all(len(name) == 64 for name in names)
    assert network_hash(KEY, "a", "b", "") == ""


async def test_a_sign_in_makes_its_network_known_and_no_other(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    key = auth_pool.context.code_key

    async with auth_pool.context.transaction() as transaction:
        here = network_hash(key, "authenticated", signed.email, "192.0.2.7")
        there = network_hash(key, "authenticated", signed.email, "192.0.2.8")
        assert await networks.is_known(transaction, here)
        assert not await networks.is_known(transaction, there)


async def test_a_user_is_known_at_a_bounded_number_of_networks(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    user = AuthUser(uuid.UUID(signed.id), aud="authenticated", email=signed.email)

    for n in range(networks.MOST + 5):
        await auth_pool.context.run(*networks.remember(KEY, user, f"198.51.100.{n}"))

    sql = "select array_agg(network_hash) from auth.known_networks where user_id = $1"
    kept = await auth_pool.value(sql, user.id)
    assert len(kept) == networks.MOST
    assert network_hash(KEY, "authenticated", signed.email, "198.51.100.44") in kept


async def test_a_network_is_forgotten_after_its_time(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    name = network_hash(auth_pool.context.code_key, "authenticated", signed.email, "192.0.2.7")
    await auth_pool.admin.execute(
        "update auth.known_networks set seen_at = now() - interval '60 days' where network_hash = $1", name
    )

    async with auth_pool.context.transaction() as transaction:
        assert not await networks.is_known(transaction, name)
