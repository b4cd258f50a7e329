"""Tokens in SQL: known answers, what is refused, and how the extension moves."""

import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator

import asyncpg
import jwt
import pytest

from tests.schemas.extensions.conftest import PASSWORD, one_row
from tests.workers.database.server import Server, connected, fresh_database

# The example of jwt.io before 2018, whose payload has no spaces.
CLAIMS = '{"sub":"1234567890","name":"John Doe","admin":true}'
TOKEN = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiYWRtaW4iOnRydWV9"
    ".TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ"
)


@pytest.fixture(scope="module")
async def project(bootstrapped: Server) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres to a database with the extension, made as projects make it."""
    async with fresh_database(bootstrapped) as name:
        async with connected(bootstrapped.url(database=name)) as admin:
            await admin.execute(f"alter database {name} owner to postgres")
        async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
            await one.execute('create extension if not exists "pgjwt" with schema "extensions"')
            yield one


async def test_a_token_is_that_of_the_known_answer(project: asyncpg.Connection):
    assert await project.fetchval("select extensions.sign($1, 'secret')", CLAIMS) == TOKEN


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize("length", [1, 63, 64, 65, 128, 129, 300])
async def test_tokens_are_those_of_another_library(project: asyncpg.Connection, algorithm: str, length: int):
    secret = "é" * (length // 2) + "k" * (length % 2)

    token = await project.fetchval('select extensions.sign(\'{"a": "ü"}\', $1, $2)', secret, algorithm)
    signed, _, signature = token.rpartition(".")
    expected = hmac.digest(secret.encode(), signed.encode(), "sha" + algorithm[2:])

    assert jwt.utils.base64url_decode(signature) == expected
    assert jwt.get_unverified_header(token) == {"alg": algorithm, "typ": "JWT"}
    assert await one_row(
        project,
        "select header->>'alg', payload->>'a', valid from extensions.verify($1, $2, $3)",
        token,
        secret,
        algorithm,
    ) == (algorithm, "ü", True)


async def test_the_vectors_of_rfc_4231_hold(project: asyncpg.Connection):
    # Cases 2 and 6: a short key, and one longer than a block.
    for key, text in (("Jefe", "what do ya want for nothing?"), ("\x0b" * 200, "x")):
        for name in ("sha256", "sha384", "sha512"):
            found = await project.fetchval(
                "select extensions.url_decode(extensions.algorithm_sign($1, $2, $3))",
                text,
                key,
                f"HS{name[3:]}",
            )
            assert found == hmac.digest(key.encode(), text.encode(), name)
    assert (
        await project.fetchval(
            "select encode(extensions.url_decode(extensions.algorithm_sign('what do ya want for nothing?', 'Jefe', 'HS256')), 'hex')"
        )
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


async def test_base64_of_urls_has_no_padding(project: asyncpg.Connection):
    for data in (b"", b"f", b"fo", b"foo", b"\xfb\xff\xfe", hashlib.sha512(b"x").digest() * 3):
        text = await project.fetchval("select extensions.url_encode($1)", data)

        assert not set(text) & set("+/=\n")
        assert await project.fetchval("select extensions.url_decode($1)", text) == data


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, True),
        ({"exp": 3600}, True),
        ({"exp": -1}, False),
        ({"nbf": -1}, True),
        ({"nbf": 3600}, False),
        ({"nbf": 3600, "exp": -3600}, False),
    ],
)
async def test_times_decide_about_a_token(project: asyncpg.Connection, change: dict[str, int], valid: bool):
    claims = {name: int(time.time()) + seconds for name, seconds in change.items()}
    token = jwt.encode(claims, "a secret of the tests, long enough", "HS256")

    found = await project.fetchval(
        "select valid from extensions.verify($1, 'a secret of the tests, long enough')", token
    )

    assert found is valid


async def test_a_time_that_is_no_number_sets_no_limit(project: asyncpg.Connection):
    assert await project.fetchval(
        """select valid from extensions.verify(extensions.sign('{"exp": "soon"}', 's'), 's')"""
    )
    assert await project.fetchval("select extensions.try_cast_double('1.5')") == 1.5
    assert await project.fetchval("select extensions.try_cast_double('soon')") is None


@pytest.mark.parametrize(
    "token",
    [TOKEN[:-1] + "A", TOKEN.rpartition(".")[0], TOKEN.rpartition(".")[0] + ".", TOKEN + ".x"],
)
async def test_a_changed_token_is_read_but_not_valid(project: asyncpg.Connection, token: str):
    payload, valid = await one_row(
        project, "select payload::text, valid from extensions.verify($1, 'secret')", token
    )

    assert (json.loads(payload)["name"], valid) == ("John Doe", False)


async def test_another_secret_or_algorithm_does_not_verify(project: asyncpg.Connection):
    assert not await project.fetchval("select valid from extensions.verify($1, 'other')", TOKEN)
    assert not await project.fetchval("select valid from extensions.verify($1, 'secret', 'HS512')", TOKEN)


async def test_an_unknown_algorithm_is_an_error(project: asyncpg.Connection):
    for call in (
        "sign('{}', 's', 'RS256')",
        "verify('e30.e30.', 's', 'none')",
        "algorithm_sign('a', 's', null)",
    ):
        with pytest.raises(
            asyncpg.InvalidParameterValueError, match="is not supported: use HS256, HS384 or HS512"
        ):
            await project.execute(f"select extensions.{call}")


async def test_its_owner_comments_moves_and_drops_it(project: asyncpg.Connection):
    async with project.transaction():
        await project.execute(
            "comment on extension pgjwt is null; create schema elsewhere; alter extension pgjwt set schema elsewhere"
        )
        moved = await project.fetchval("select elsewhere.sign($1, 'secret')", CLAIMS)
        await project.execute("drop extension pgjwt; drop schema elsewhere")
        await project.execute("create extension pgjwt with schema extensions")

    assert moved == TOKEN


async def test_a_hostile_search_path_changes_nothing(project: asyncpg.Connection):
    async with project.transaction():
        await project.execute(
            "create schema hostile; set local search_path = hostile, pg_catalog;"
            "create function hostile.sha256(bytea) returns bytea language sql return '\\x00'::bytea"
        )
        found = await project.fetchval("select extensions.sign($1, 'secret')", CLAIMS)
        await project.execute("drop schema hostile cascade")

    assert found == TOKEN
