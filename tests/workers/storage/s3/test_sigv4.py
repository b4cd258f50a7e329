"""SigV4 held against the examples that Amazon publishes ("Authenticating Requests", Amazon S3 API reference)."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.storage.s3 import sigv4
from workers.storage.s3.errors import S3Error
from workers.storage.s3.sigv4 import Claimed

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
) -> Claimed:
    """Verify a request."""
    claimed = sigv4.read_claim(sent, query)
    sigv4.refuse_unsigned(claimed, sent)
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

    sigv4.refuse_bad_time(claimed, NOON + 899)
    sigv4.refuse_bad_time(claimed, NOON - 899)
    with pytest.raises(S3Error) as refused:
        sigv4.refuse_bad_time(claimed, NOON + late_s)

    assert refused.value.code == code


def test_a_presigned_url_holds_as_long_as_it_says() -> None:
    claimed = sigv4.read_claim({"host": HOST}, PRESIGNED)

    sigv4.refuse_bad_time(claimed, NOON + 86400)
    with pytest.raises(S3Error) as late:
        sigv4.refuse_bad_time(claimed, NOON + 86401)
    with pytest.raises(S3Error) as early:
        sigv4.refuse_bad_time(claimed, NOON - 901)

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
        sigv4.refuse_other_region(claimed, "eu-central-1")
        return
    with pytest.raises(S3Error) as refused:
        sigv4.refuse_other_region(claimed, "eu-central-1")

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


@given(
    st.text(max_size=300),
    st.text(max_size=300),
    st.lists(st.tuples(st.text(max_size=9), st.text(max_size=30))),
)
def test_any_input_gives_a_claim_or_a_refusal(
    authorization: str, date: str, query: list[tuple[str, str]]
) -> None:
    sent = {
        "authorization": "AWS4-HMAC-SHA256 " + authorization,
        "x-amz-date": date,
        "x-amz-content-sha256": "x",
    }

    for pairs in (query, [("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), *query]):
        try:
            sigv4.refuse_bad_time(sigv4.read_claim(sent, pairs), NOON)
        except S3Error as error:
            assert error.status in (400, 403)  # noqa: PT017 - either way is right
