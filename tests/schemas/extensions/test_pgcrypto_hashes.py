"""pgcrypto: digest, hmac and random bytes, against published vectors and the standard library."""

import hashlib
import hmac
import random

import asyncpg
import pytest

from tests.schemas.extensions.conftest import one_row

ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")

DIGESTS = [
    # RFC 1321, A.5
    ("md5", "", "d41d8cd98f00b204e9800998ecf8427e"),
    ("md5", "a", "0cc175b9c0f1b6a831c399e269772661"),
    ("md5", "abc", "900150983cd24fb0d6963f7d28e17f72"),
    ("md5", "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ("md5", "abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
    ("md5", "1234567890" * 8, "57edf4a22be3c955ac49da2e2107b67a"),
    # FIPS 180, examples
    ("sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("sha1", "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    (
        "sha1",
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
    ),
    ("sha1", "a" * 1_000_000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    ("sha224", "abc", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
    ("sha256", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        "sha384",
        "abc",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    ),
    (
        "sha512",
        "abc",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
]

KEYED = [
    # RFC 2202
    ("md5", b"\x0b" * 16, b"Hi There", "9294727a3638bb1c13f48ef8158bfc9d"),
    ("md5", b"Jefe", b"what do ya want for nothing?", "750c783e6ab0b503eaa86e310a5db738"),
    ("md5", b"\xaa" * 16, b"\xdd" * 50, "56be34521d144c88dbb8c733f0e8b3f6"),
    (
        "md5",
        b"\xaa" * 80,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd",
    ),
    ("sha1", b"\x0b" * 20, b"Hi There", "b617318655057264e28bc0b6fb378c8ef146be00"),
    ("sha1", b"Jefe", b"what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
    ("sha1", b"\xaa" * 20, b"\xdd" * 50, "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
    (
        "sha1",
        b"\xaa" * 80,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "aa4ae5e15272d00e95705637ce8a3b55ed402112",
    ),
    # RFC 4231
    ("sha256", b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (
        "sha256",
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
    (
        "sha512",
        b"Jefe",
        b"what do ya want for nothing?",
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
        "caeab1a34d4a6b4b636e070a38bce737",
    ),
]


@pytest.mark.parametrize(("algorithm", "text", "expected"), DIGESTS)
async def test_digest_gives_the_published_value(
    database: asyncpg.Connection, algorithm: str, text: str, expected: str
) -> None:
    of_text = await database.fetchval("select digest($1::text, $2)", text, algorithm)
    of_bytes = await database.fetchval("select digest($1::bytea, $2)", text.encode(), algorithm)

    assert of_text.hex() == of_bytes.hex() == expected


@pytest.mark.parametrize(("algorithm", "key", "data", "expected"), KEYED)
async def test_hmac_gives_the_published_value(
    database: asyncpg.Connection, algorithm: str, key: bytes, data: bytes, expected: str
) -> None:
    found = await database.fetchval("select hmac($1::bytea, $2::bytea, $3)", data, key, algorithm)

    assert found.hex() == expected


async def test_digest_and_hmac_agree_with_the_standard_library_around_block_limits(
    database: asyncpg.Connection,
) -> None:
    source = random.Random(20)
    for size in (1, 54, 55, 56, 57, 63, 64, 65, 110, 111, 112, 113, 119, 120, 127, 128, 129, 300):
        data, key = source.randbytes(size), source.randbytes(size)
        for algorithm in ALGORITHMS:
            row = await one_row(
                database, "select digest($1::bytea, $3), hmac($1::bytea, $2::bytea, $3)", data, key, algorithm
            )

            assert row == (hashlib.new(algorithm, data).digest(), hmac.digest(key, data, algorithm))


async def test_text_is_hashed_in_the_encoding_of_the_database(database: asyncpg.Connection) -> None:
    row = await one_row(database, "select digest('zażółć', 'sha256'), hmac('zażółć', 'ключ', 'sha1')")

    text, key = "zażółć".encode(), "ключ".encode()
    assert row == (hashlib.sha256(text).digest(), hmac.digest(key, text, "sha1"))


async def test_algorithm_names_may_be_in_capitals(database: asyncpg.Connection) -> None:
    same = await database.fetchval(
        "select digest('x', 'SHA256') = digest('x', 'sha256') and hmac('x', 'k', 'Sha512') = hmac('x', 'k', 'sha512')"
    )

    assert same


@pytest.mark.parametrize("call", ["digest('x', 'CRC8')", "hmac('x', 'k', 'CRC8')"])
async def test_unknown_algorithm_is_refused_in_the_words_of_the_original(
    database: asyncpg.Connection, call: str
) -> None:
    with pytest.raises(asyncpg.InvalidParameterValueError) as refused:
        await database.fetchval(f"select {call}")

    assert refused.value.message == 'Cannot use "crc8": No such hash algorithm'


async def test_null_gives_null(database: asyncpg.Connection) -> None:
    row = await one_row(
        database, "select digest(null::text, 'md5'), hmac('x', null, 'md5'), crypt(null, 'ab')"
    )

    assert row == (None, None, None)


@pytest.mark.parametrize("size", [1, 13, 14, 15, 16, 28, 32, 1023, 1024])
async def test_random_bytes_have_the_asked_length_and_differ(database: asyncpg.Connection, size: int) -> None:
    drawn = {await database.fetchval("select gen_random_bytes($1)", size) for _ in range(3)}

    assert {len(each) for each in drawn} == {size}
    assert len(drawn) > 1 or size == 1


async def test_every_bit_of_random_bytes_takes_both_values(database: asyncpg.Connection) -> None:
    rows = await database.fetch("select gen_random_bytes(32) as drawn from generate_series(1, 200)")

    ever, always = 0, 2**256 - 1
    for row in rows:
        ever |= int.from_bytes(row["drawn"], "big")
        always &= int.from_bytes(row["drawn"], "big")
    assert (ever, always) == (2**256 - 1, 0)


@pytest.mark.parametrize("size", [-1, 0, 1025])
async def test_random_bytes_out_of_range_are_refused(database: asyncpg.Connection, size: int) -> None:
    with pytest.raises(asyncpg.ExternalRoutineInvocationError, match=r"^Length not in range$"):
        await database.fetchval("select gen_random_bytes($1)", size)


async def test_random_uuids_are_of_version_4(database: asyncpg.Connection) -> None:
    found = await database.fetchval("select extensions.gen_random_uuid()")

    assert found.version == 4
