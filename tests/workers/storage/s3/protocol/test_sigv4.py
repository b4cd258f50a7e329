"""SigV4 held against the examples that Amazon publishes ("Authenticating Requests", Amazon S3 API reference)."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import edited
from workers.storage.s3.protocol import sigv4
from workers.storage.s3.protocol.errors import S3Error
from workers.storage.s3.protocol.sigv4 import SignatureClaim

ACCESS = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
EMPTY = hashlib.sha256(b"").hexdigest()
HOST = "examplebucket.s3.amazonaws.com"
NOON = datetime(2013, 5, 24, tzinfo=UTC).timestamp()


def headers(signature: str, signed: str, payload: str = EMPTY, **more: str) -> dict[str, str]:
    """Give the headers of an example."""
    credential = f"{ACCESS}/20130524/us-east-1/s3/aws4_request"
    return {
        "host": HOST,
        "x-amz-date": "20130524T000000Z",
        "x-amz-content-sha256": payload,
        "authorization": f"AWS4-HMAC-SHA256 Credential={credential},SignedHeaders={signed},Signature={signature}",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }


PLAIN = "host;x-amz-content-sha256;x-amz-date"
EXAMPLES = [
    (
        "GET",
        "/test.txt",
        [],
        headers(
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            "host;range;x-amz-content-sha256;x-amz-date",
            range="bytes=0-9",
        ),
    ),
    (
        "PUT",
        "/test$file.text",
        [],
        headers(
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            hashlib.sha256(b"Welcome to Amazon S3.").hexdigest(),
            date="Fri, 24 May 2013 00:00:00 GMT",
            x_amz_storage_class="REDUCED_REDUNDANCY",
        ),
    ),
    (
        "GET",
        "/",
        [("lifecycle", "")],
        headers("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543", PLAIN),
    ),
    (
        "GET",
        "/",
        [("max-keys", "2"), ("prefix", "J")],
        headers("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7", PLAIN),
    ),
]
PRESIGNED = [
    ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
    ("X-Amz-Credential", f"{ACCESS}/20130524/us-east-1/s3/aws4_request"),
    ("X-Amz-Date", "20130524T000000Z"),
    ("X-Amz-Expires", "86400"),
    ("X-Amz-SignedHeaders", "host"),
    ("X-Amz-Signature", "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"),
]


def checked(
    method: str, path: str, query: list[tuple[str, str]], sent: dict[str, str], secret: str = SECRET
) -> SignatureClaim:
    """Verify a request."""
    claimed = sigv4.read_claim(sent, query)
    sigv4.check_signed_headers(claimed, sent)
    spelled = sigv4.canonical_request(method, path, query, sent, claimed.signed, claimed.payload)
    sigv4.verify(claimed, secret, spelled)
    return claimed


@pytest.mark.parametrize(("method", "path", "query", "sent"), EXAMPLES)
def test_the_published_examples_hold(
    method: str, path: str, query: list[tuple[str, str]], sent: dict[str, str]
) -> None:
    claimed = checked(method, path, query, sent)

    assert (claimed.access_key, claimed.region, claimed.expires_s) == (ACCESS, "us-east-1", None)


def test_the_published_presigned_url_holds() -> None:
    claimed = checked("GET", "/test.txt", PRESIGNED, {"host": HOST})

    assert (claimed.expires_s, claimed.payload, claimed.signed) == (86400, "UNSIGNED-PAYLOAD", ("host",))


def test_the_published_signing_key_is_made() -> None:
    key = sigv4.signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")

    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"


@pytest.mark.parametrize(
    "change",
    [
        lambda method, path, query, sent: ("PUT", path, query, sent),
        lambda method, path, query, sent: (method, "/test.txu", query, sent),
        lambda method, path, query, sent: (method, path, [("acl", "")], sent),
        lambda method, path, query, sent: (method, path, query, {**sent, "range": "bytes=0-90"}),
        lambda method, path, query, sent: (method, path, query, {**sent, "host": "elsewhere"}),
        lambda method, path, query, sent: (method, path, query, {**sent, "x-amz-date": "20130524T000001Z"}),
        lambda method, path, query, sent: (method, path, query, {**sent, "x-amz-content-sha256": "0" * 64}),
    ],
)
def test_whatever_is_changed_is_refused(
    change: Callable[..., tuple[str, str, list[tuple[str, str]], dict[str, str]]],
) -> None:
    with pytest.raises(S3Error) as refused:
        checked(*change(*EXAMPLES[0]))

    assert refused.value.code == "SignatureDoesNotMatch"


def test_another_secret_is_refused() -> None:
    with pytest.raises(S3Error, match="does not match"):
        checked(*EXAMPLES[0], secret="another")


@pytest.mark.parametrize(
    "name", ["x-amz-copy-source", "x-amz-meta-owner", "x-amz-security-token", "x-amz-acl"]
)
def test_headers_of_s3_that_are_not_signed_are_refused(name: str) -> None:
    method, path, query, sent = EXAMPLES[0]

    with pytest.raises(S3Error, match="not signed") as refused:
        checked(method, path, query, {**sent, name: "added on the way"})

    assert refused.value.code == "AccessDenied"


def test_a_signature_without_the_host_is_refused() -> None:
    query = [(name, "x-amz-date" if name == "X-Amz-SignedHeaders" else value) for name, value in PRESIGNED]

    with pytest.raises(S3Error, match="host"):
        checked("GET", "/test.txt", query, {"host": HOST})


@pytest.mark.parametrize(("late_s", "code"), [(901, "RequestTimeTooSkewed"), (-901, "RequestTimeTooSkewed")])
def test_a_header_holds_for_15_minutes_on_either_side(late_s: int, code: str) -> None:
    claimed = sigv4.read_claim(EXAMPLES[0][3], [])

    sigv4.check_time(claimed, NOON + 899)
    sigv4.check_time(claimed, NOON - 899)
    with pytest.raises(S3Error) as refused:
        sigv4.check_time(claimed, NOON + late_s)

    assert refused.value.code == code


def test_a_presigned_url_holds_as_long_as_it_says() -> None:
    claimed = sigv4.read_claim({"host": HOST}, PRESIGNED)

    sigv4.check_time(claimed, NOON + 86400)
    with pytest.raises(S3Error) as late:
        sigv4.check_time(claimed, NOON + 86401)
    with pytest.raises(S3Error) as early:
        sigv4.check_time(claimed, NOON - 901)

    assert (late.value.code, early.value.code) == ("ExpiredToken", "RequestTimeTooSkewed")


@pytest.mark.parametrize("lasts", ["0", "604801", "-5", "1e3", "", "99999999999999999999"])
def test_a_presigned_url_holds_at_most_a_week(lasts: str) -> None:
    query = [(name, lasts if name == "X-Amz-Expires" else value) for name, value in PRESIGNED]

    with pytest.raises(S3Error) as refused:
        sigv4.read_claim({"host": HOST}, query)

    assert refused.value.code == "AuthorizationQueryParametersError"


@pytest.mark.parametrize(
    ("region", "is_taken"),
    [("us-east-1", True), ("auto", True), ("", True), ("eu-central-1", True), ("ap-south-1", False)],
)
def test_regions_are_ours_or_the_usual_one(region: str, is_taken: bool) -> None:
    claimed = replace(sigv4.read_claim(EXAMPLES[0][3], []), region=region)

    if is_taken:
        sigv4.check_region(claimed, "eu-central-1")
        return
    with pytest.raises(S3Error) as refused:
        sigv4.check_region(claimed, "eu-central-1")

    assert refused.value.details == {"Region": "eu-central-1"}


@pytest.mark.parametrize(
    "text",
    [
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=a/b/c, SignedHeaders=host, Signature=x",
        f"AWS4-HMAC-SHA256 Credential=a/20130524/r/ec2/aws4_request,SignedHeaders=host,Signature={'0' * 64}",
        f"AWS4-HMAC-SHA256 Credential=a/2013/r/s3/aws4_request,SignedHeaders=host,Signature={'0' * 64}",
        f"AWS4-HMAC-SHA256 Credential=a/20130525/r/s3/aws4_request,SignedHeaders=host,Signature={'0' * 64}",
        "AWS4-ECDSA-P256-SHA256 Credential=x",
        "Bearer eyJ",
        "AWS AKIA:sig",
        "",
    ],
)
def test_other_authorizations_are_refused(text: str) -> None:
    sent = {**EXAMPLES[0][3], "authorization": text}

    with pytest.raises(S3Error) as refused:
        sigv4.read_claim(sent, [])

    assert refused.value.code in ("AccessDenied", "AuthorizationHeaderMalformed")


def test_a_path_is_spelled_one_way_whatever_a_client_escapes() -> None:
    assert (
        sigv4.canonical_path("/b/a%20b(c)%2f~")
        == sigv4.canonical_path("/b/a b%28c%29/%7E")
        == "/b/a%20b%28c%29/~"
    )
    assert sigv4.canonical_path("/b//x/../y") == "/b//x/../y"


REFUSALS = (
    "The authorization header is malformed.",
    "The credential must be <key>/<date>/<region>/s3/aws4_request.",
    "The date of the credential is not that of the request.",
    "Missing required header for this request",
    "AWS authentication requires a valid Date or x-amz-date header",
    "Query-string authentication requires all of its parameters",
    "X-Amz-Expires must be between 1 and 604800 seconds",
    "X-Amz-Date or X-Amz-Signature is malformed",
    "There were headers present in the request which were not signed",
)
"""Every check of the module but those of times, regions and signatures, whose words stand in `errors.py`."""
Query = list[tuple[str, str]]
Sent = tuple[str, str, Query, dict[str, str]]
VALID: list[Sent] = [*EXAMPLES, ("GET", "/test.txt", PRESIGNED, {"host": HOST})]
WORDS = [b"AWS4-HMAC-SHA256", b"Credential=", b"SignedHeaders=", b"Signature=", b"/s3/aws4_request", b";", b",", b"/", b"20130524", b"us-east-1",
         b"host", b"x-amz-date", b"x-amz-acl", b"UNSIGNED-PAYLOAD", b"T000000Z", b"0" * 64]  # fmt: skip


def changed(sent: Sent, random: Random) -> Sent:
    """Change one part of a request: its method, its path, a parameter or a header; its value, its name, or whether it is there."""
    method, path, query, headers = sent
    pairs = list(headers.items())
    match random.randrange(6):
        case 0:
            return random.choice(["PUT", "DELETE", "get", ""]), path, query, headers
        case 1:
            return method, edited_text(random, path), query, headers
        case 2 | 3 if query:
            return method, path, changed_pairs(query, random), headers
        case _:
            return method, path, query, dict(changed_pairs(pairs, random))


def changed_pairs(pairs: Query, random: Random) -> Query:
    """Change one pair, leave it out, write it twice, or add one."""
    at = random.randrange(len(pairs))
    name, value = pairs[at]
    new = random.choice(
        [
            [],
            [(name, value)] * 2,
            [(name, value), ("x-amz-acl", "public-read")],
            [(edited_text(random, name), value)],
        ]
    )
    return [
        *pairs[:at],
        *(new if random.randrange(4) == 0 else [(name, edited_text(random, value))]),
        *pairs[at + 1 :],
    ]


def edited_text(random: Random, text: str) -> str:
    return edited(random, text.encode(), WORDS).decode(errors="replace")


def meaning(sent: Sent) -> tuple[object, ...]:
    """Give all of a request that its signature stands for, spelled by the standard library alone."""
    method, path, query, headers = sent
    claimed = replace(sigv4.read_claim(headers, query), access_key="")  # it chooses the secret
    signed = tuple((name, " ".join(headers.get(name, "").split(" ")).strip()) for name in claimed.signed)
    return (
        method,
        unquote_to_bytes(path) or b"/",
        sorted(pair for pair in query if pair[0] != "X-Amz-Signature"),
        signed,
        claimed,
    )


def signed_again(sent: Sent) -> Sent:
    """Sign a changed request, as somebody does who has a key and means it. Raises: S3Error if nothing could be signed."""
    method, path, query, headers = sent
    claimed = sigv4.read_claim(headers, query)
    spelled = sigv4.canonical_request(method, path, query, headers, claimed.signed, claimed.payload)
    key = sigv4.signing_key(SECRET, claimed.day, claimed.region)
    signature = sigv4.signature(key, sigv4.string_to_sign(claimed.date, claimed.scope, spelled))
    pairs = [(name, signature if name == "X-Amz-Signature" else value) for name, value in query]
    return (
        method,
        path,
        pairs,
        {name: value.replace(claimed.signature, signature) for name, value in headers.items()},
    )


@given(st.sampled_from([*VALID, *VALID[-1:] * 4]), st.randoms(use_true_random=False))
@settings(max_examples=1000, deadline=None)
def test_a_changed_request_that_is_signed_again_is_judged_by_what_it_says(
    valid: Sent, random: Random
) -> None:
    try:
        method, path, query, headers = signed_again(changed(valid, random))
        claimed = sigv4.read_claim(headers, query)
        sigv4.check_time(claimed, NOON)
        sigv4.check_region(claimed, "us-east-1")
        checked(method, path, query, headers)
    except S3Error as error:
        assert error.status in (400, 403)  # noqa: PT017 - either way is right
        return

    assert claimed.expires_s is None or 1 <= claimed.expires_s <= sigv4.LONGEST_S
    assert "host" in claimed.signed


@pytest.mark.parametrize(
    "lasts",
    ["00006048000", "0000000001" + "9" * 400, "0000000001" + "9" * 5000, "0", "604801", "+1", "1 ", "１"],
)
def test_a_url_that_lasts_longer_than_a_week_is_refused_however_it_is_spelled(lasts: str) -> None:
    query = [(name, lasts if name == "X-Amz-Expires" else value) for name, value in PRESIGNED]

    with pytest.raises(S3Error) as refused:
        sigv4.read_claim({"host": HOST}, query)

    assert refused.value.code == "AuthorizationQueryParametersError"


def test_one_changed_part_of_a_valid_request_is_refused_or_means_the_same() -> None:
    reached: Counter[str] = Counter()

    @given(
        st.sampled_from(VALID),
        st.randoms(use_true_random=False),
        st.sampled_from([NOON, NOON + 1000, NOON - 1000, NOON + 90_000]),
    )
    @settings(max_examples=5000, derandomize=True, database=None, deadline=None)
    def change(valid: Sent, random: Random, now: float) -> None:
        sent = changed(valid, random) if random.randrange(20) else valid
        method, path, query, headers = sent
        try:
            claimed = sigv4.read_claim(headers, query)
            reached["read"] += 1
            sigv4.check_time(claimed, now)
            reached["in time"] += 1
            sigv4.check_region(claimed, "us-east-1")
            checked(method, path, query, headers)
        except S3Error as error:
            reached[error.message.partition(":")[0]] += 1
            assert error.status in (400, 403)  # noqa: PT017 - either way is right
            return

        reached["taken"] += 1
        assert meaning(sent) == meaning(valid)

    change()

    assert {message for message in REFUSALS if not reached[message]} == set()
    assert reached["read"] > 500
    assert reached["taken"] > 20
