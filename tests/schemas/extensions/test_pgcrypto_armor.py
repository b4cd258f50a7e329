"""pgcrypto: ASCII armor, and the refusal of PGP."""

import asyncpg
import pytest

from tests.schemas.extensions.conftest import one_row

EMPTY = "-----BEGIN PGP MESSAGE-----\n\n=twTO\n-----END PGP MESSAGE-----\n"
TEST = "-----BEGIN PGP MESSAGE-----\n\ndGVzdA==\n=+G7Q\n-----END PGP MESSAGE-----\n"
TWO_LINES = """\
-----BEGIN PGP MESSAGE-----

MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmCjAxMjM0NTY3
ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg==
=JFw5
-----END PGP MESSAGE-----
"""


@pytest.mark.parametrize(
    ("data", "armored"),
    [(b"", EMPTY), (b"test", TEST), (b"0123456789abcdef" * 3 + b"\n" + b"0123456789abcdef" * 3, TWO_LINES)],
)
async def test_armor_gives_the_known_text_and_dearmor_the_data(
    database: asyncpg.Connection, data: bytes, armored: str
) -> None:
    row = await one_row(database, "select armor($1), dearmor($2)", data, armored)

    assert row == (armored, data)


@pytest.mark.parametrize("size", [56, 57, 58, 114])
async def test_data_around_a_full_line_comes_back(database: asyncpg.Connection, size: int) -> None:
    data = bytes(range(size))

    armored, found = await one_row(database, "select armor($1), dearmor(armor($1))", data)

    assert found == data
    assert "\n\n=" not in armored


async def test_headers_are_written_and_read_in_their_order(database: asyncpg.Connection) -> None:
    armored = await database.fetchval("select armor('x', array['Version', 'Comment'], array['1: 2', ''])")

    rows = await database.fetch("select * from pgp_armor_headers($1)", armored)
    assert armored.startswith("-----BEGIN PGP MESSAGE-----\nVersion: 1: 2\nComment: \n\n")
    assert [tuple(row) for row in rows] == [("Version", "1: 2"), ("Comment", "")]


async def test_an_armor_without_headers_has_none(database: asyncpg.Connection) -> None:
    assert await database.fetch("select * from pgp_armor_headers(armor('x', '{}', '{}'))") == []


async def test_dearmor_takes_the_first_armor_that_begins_a_line(database: asyncpg.Connection) -> None:
    text = (
        "wrong packet:\n  -----BEGIN PGP MESSAGE-----\n\n  d3Jvbmc=\n  =vCYP\n  -----END PGP MESSAGE-----\n\n"
        "right packet:\r\n-----BEGIN PGP MESSAGE-----\r\nComment: Some junk\r\n\r\n cmlnaHQ=\r\n\r\n=nbpj\r\n"
        "-----END PGP MESSAGE-----\r\n" + TEST
    )

    row = await one_row(database, "select dearmor($1), array(select value from pgp_armor_headers($1))", text)

    assert row == (b"right", ["Some junk"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no armor",
        TEST.replace("+G7Q", "ZZZZ"),
        TEST.replace("dGVz", "dGV"),
        TEST.replace("dGVz", "d?Vz"),
        TEST.replace("\n\n", "\n"),
        TEST.replace("-----END PGP MESSAGE-----", ""),
        TEST.replace("MESSAGE-----\n\n", "MESSAGE--\n\n"),
    ],
)
async def test_corrupt_armor_is_refused(database: asyncpg.Connection, text: str) -> None:
    with pytest.raises(asyncpg.ExternalRoutineInvocationError, match=r"^Corrupt ascii-armor$"):
        await database.fetchval("select dearmor($1)", text)


async def test_a_header_line_without_a_colon_is_refused(database: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.ExternalRoutineInvocationError, match=r"^Corrupt ascii-armor$"):
        await database.fetch("select * from pgp_armor_headers($1)", TEST.replace("\n\n", "\nVersion\n\n"))


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        ("array['a', 'b']", "array['a']", "mismatched array dimensions"),
        ("array[['a']]", "array[['a']]", "wrong number of array subscripts"),
        ("array['a']", "'{}'", "wrong number of array subscripts"),
        ("array[null]", "array['a']", "null value not allowed for header key"),
        ("array['a']", "array[null]", "null value not allowed for header value"),
        ("array['ä']", "array['a']", "header key must not contain non-ASCII characters"),
        ("array['a']", "array['ä']", "header value must not contain non-ASCII characters"),
        ("array['a: b']", "array['a']", 'header key must not contain ": "'),
        (r"array[E'a\nb']", "array['a']", "header key must not contain newlines"),
        ("array['a']", r"array[E'a\nb']", "header value must not contain newlines"),
    ],
)
async def test_wrong_headers_are_refused(
    database: asyncpg.Connection, keys: str, values: str, message: str
) -> None:
    with pytest.raises(asyncpg.PostgresError) as refused:
        await database.fetchval(f"select armor('x', {keys}, {values})")

    assert refused.value.message == message


@pytest.mark.parametrize(
    "call",
    [
        "pgp_sym_encrypt('x', 'k')",
        "pgp_sym_encrypt_bytea('x', 'k', 'cipher-algo=aes256')",
        "pgp_sym_decrypt('x'::bytea, 'k')",
        "pgp_sym_decrypt_bytea('x'::bytea, 'k')",
        "pgp_pub_encrypt('x', 'k'::bytea)",
        "pgp_pub_decrypt('x'::bytea, 'k'::bytea, 'p', 'o')",
        "pgp_pub_decrypt_bytea('x'::bytea, 'k'::bytea)",
        "pgp_key_id('x'::bytea)",
    ],
)
async def test_pgp_is_refused_with_advice(database: asyncpg.Connection, call: str) -> None:
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="not supported") as refused:
        await database.fetchval(f"select {call}")

    assert refused.value.hint is not None
    assert "encrypt in the application" in refused.value.hint
