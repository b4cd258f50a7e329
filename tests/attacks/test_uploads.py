"""Objects that a browser would run on the API's origin: smuggled past a bucket's list, or served as documents."""

import base64
import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # ships no types

from tests.attacks.client import Received, send
from tests.platform import Platform
from tests.s3_clients import s3_client, s3_clients_closed  # noqa: F401  # closes them

SMUGGLED = "image/png,text/html"
PAGE = b"<script>document.title = 'run'</script>"
DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
PATH = "/storage/v1/object"
SCREENED = (
    "image/svg+xml",
    "text/xml",
    "application/octet-stream",
    "multipart/related",
    "text/javascript",
    "image/png",
)


@pytest.fixture(scope="module")
def pictures(target: Platform) -> str:
    """A public bucket that allows images only."""
    return made_bucket(target, allowed_mime_types=["image/*"])


@pytest.fixture(scope="module")
def files(target: Platform) -> str:
    """A public bucket that allows everything."""
    return made_bucket(target)


@pytest.fixture(scope="module")
def s3(target: Platform) -> Any:
    return s3_client(
        target.values["STORAGE_S3_URL"],
        target.values["S3_PROTOCOL_REGION"],
        target.values["S3_PROTOCOL_ACCESS_KEY_ID"],
        target.values["S3_PROTOCOL_ACCESS_KEY_SECRET"],
    )


def made_bucket(target: Platform, **more: object) -> str:
    name = f"attack-{uuid.uuid4().hex[:12]}"
    assert service(target, "POST", "/storage/v1/bucket", {"name": name, "public": True, **more}).status == 200
    return name


def service(
    target: Platform, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> Received:
    own = {"authorization": f"Bearer {target.values['SERVICE_ROLE_KEY']}"}
    return send(target, method, path, body, {**own, **(headers or {})}, key="SERVICE_ROLE_KEY")


def raw(target: Platform, bucket: str, key: str) -> Received:
    return service(target, "POST", f"{PATH}/{bucket}/{key}", PAGE, {"content-type": SMUGGLED})


def form(target: Platform, bucket: str, key: str, field: str = "") -> Received:
    """Upload by a form whose part says the type, or whose field does."""
    head = f'--b\r\ncontent-disposition: form-data; name="contentType"\r\n\r\n{field}\r\n' if field else ""
    part = f'--b\r\ncontent-disposition: form-data; name=""; filename="a"\r\ncontent-type: {SMUGGLED}\r\n\r\n'
    body = (head + part).encode() + PAGE + b"\r\n--b--\r\n"
    return service(
        target, "POST", f"{PATH}/{bucket}/{key}", body, {"content-type": "multipart/form-data; boundary=b"}
    )


def form_field(target: Platform, bucket: str, key: str) -> Received:
    return form(target, bucket, key, SMUGGLED)


def signed(target: Platform, bucket: str, key: str) -> Received:
    made = service(target, "POST", f"{PATH}/upload/sign/{bucket}/{key}", {})
    return send(target, "PUT", "/storage/v1" + made.json["url"], PAGE, {"content-type": SMUGGLED})


def resumable(target: Platform, bucket: str, key: str) -> Received:
    told = {"bucketName": bucket, "objectName": key, "contentType": SMUGGLED}
    metadata = ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in told.items())
    headers = {
        "tus-resumable": "1.0.0", "upload-length": str(len(PAGE)), "upload-metadata": metadata,
        "content-type": "application/offset+octet-stream",
    }  # fmt: skip
    return service(target, "POST", "/storage/v1/upload/resumable", PAGE, headers)


def copied(target: Platform, bucket: str, key: str) -> Received:
    assert (
        service(
            target, "POST", f"{PATH}/{bucket}/source", b"a", {"content-type": "image/png", "x-upsert": "true"}
        ).status
        == 200
    )
    body = {
        "bucketId": bucket, "sourceKey": "source", "destinationKey": key, "copyMetadata": False,
        "metadata": {"mimetype": SMUGGLED},
    }  # fmt: skip
    return service(target, "POST", f"{PATH}/copy", body)


@pytest.mark.parametrize(
    "way", [raw, form, form_field, signed, resumable, copied], ids=lambda way: way.__name__
)
def test_a_list_of_types_is_no_image(
    target: Platform, pictures: str, way: Callable[[Platform, str, str], Received]
) -> None:
    key = f"{way.__name__}.png"

    answer = way(target, pictures, key)

    served = send(target, "GET", f"{PATH}/public/{pictures}/{key}")
    assert (answer.status, served.status) == (400, 400), answer
    assert b"html" not in served.body


def test_a_list_of_types_is_no_image_by_s3(s3: Any, pictures: str) -> None:
    s3.put_object(Bucket=pictures, Key="fine", Body=b"a", ContentType="image/png")
    source = {"Bucket": pictures, "Key": "fine"}
    ways: list[Callable[[], object]] = [
        lambda: s3.put_object(Bucket=pictures, Key="put", Body=PAGE, ContentType=SMUGGLED),
        lambda: s3.create_multipart_upload(Bucket=pictures, Key="parts", ContentType=SMUGGLED),
        lambda: s3.copy_object(
            Bucket=pictures, Key="copy", CopySource=source, ContentType=SMUGGLED, MetadataDirective="REPLACE"
        ),
        lambda: s3.get_object(Bucket=pictures, Key="fine", ResponseContentType=SMUGGLED),
    ]

    for way in ways:
        with pytest.raises(ClientError) as refused:
            way()
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_list_of_types_is_no_image_by_a_signed_form(target: Platform, s3: Any, pictures: str) -> None:
    made = s3.generate_presigned_post(
        pictures,
        "form",
        Fields={"Content-Type": "image/png,image/html"},
        Conditions=[["starts-with", "$Content-Type", "image/"]],
    )
    fields = "".join(
        f'--b\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in made["fields"].items()
    )
    body = (
        f'{fields}--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'.encode()
        + PAGE
        + b"\r\n--b--\r\n"
    )

    answer = send(target, "POST", made["url"], body, {"content-type": "multipart/form-data; boundary=b"})

    assert answer.status == 400
    assert b"InvalidMimeType" in answer.body or b"content type" in answer.body


def test_buckets_allow_no_lists_in_one_entry(target: Platform) -> None:
    for bad in (SMUGGLED, "image/png; a", "image/*,text/html", "*/*/*"):
        body = {"name": f"bad-{uuid.uuid4().hex[:8]}", "allowed_mime_types": [bad]}
        assert service(target, "POST", "/storage/v1/bucket", body).status == 400, bad


def test_types_that_a_row_holds_already_are_served_as_bytes(target: Platform, pictures: str, s3: Any) -> None:
    key = "stored.png"
    assert (
        service(target, "POST", f"{PATH}/{pictures}/{key}", PAGE, {"content-type": "image/png"}).status == 200
    )
    target.psql(
        "update storage.objects set metadata = jsonb_set(metadata, '{mimetype}', '\"" + SMUGGLED + "\"') "
        f"where bucket_id = '{pictures}' and name = '{key}'"
    )
    link = service(target, "POST", f"{PATH}/sign/{pictures}/{key}", {"expiresIn": 60}).json["signedURL"]

    for path in (
        f"{PATH}/public/{pictures}/{key}",
        "/storage/v1" + link,
        f"{PATH}/authenticated/{pictures}/{key}",
    ):
        answer = service(target, "GET", path)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/octet-stream")
    assert s3.get_object(Bucket=pictures, Key=key)["ContentType"] == "application/octet-stream"
    moved = service(
        target, "POST", f"{PATH}/copy", {"bucketId": pictures, "sourceKey": key, "destinationKey": "copy.png"}
    )
    assert moved.status == 400


@pytest.mark.parametrize("media_type", SCREENED)
def test_what_a_browser_could_render_is_served_in_a_sandbox(
    target: Platform, files: str, s3: Any, media_type: str
) -> None:
    key = re.sub(r"\W", "-", media_type)
    assert (
        service(target, "POST", f"{PATH}/{files}/{key}", DRAWING, {"content-type": media_type}).status == 200
    )
    link = service(target, "POST", f"{PATH}/sign/{files}/{key}", {"expiresIn": 60}).json["signedURL"]
    presigned = s3.generate_presigned_url(
        "get_object", {"Bucket": files, "Key": key, "ResponseContentType": "image/svg+xml"}
    )

    answers = [send(target, "GET", f"{PATH}/public/{files}/{key}"), send(target, "GET", "/storage/v1" + link)]
    answers += [service(target, method, f"{PATH}/authenticated/{files}/{key}") for method in ("GET", "HEAD")]
    answers += [send(target, "GET", f"{PATH}/public/{files}/{key}", None, {"range": "bytes=0-3"})]
    answers += [
        send(target, "GET", presigned),
        send(target, "GET", f"{PATH}/public/{files}/{key}?download=a.svg"),
    ]
    for answer in answers:
        assert answer.status in (200, 206), answer
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert policy.endswith("sandbox")


def test_a_header_of_the_answer_cannot_be_overridden_by_s3(target: Platform, s3: Any, files: str) -> None:
    s3.put_object(Bucket=files, Key="page", Body=PAGE, ContentType="text/plain")

    presigned = s3.generate_presigned_url(
        "get_object", {"Bucket": files, "Key": "page", "ResponseContentType": "text/html"}
    )
    answer = send(target, "GET", presigned)

    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert json.dumps(answer.lines).count("content-security-policy") == 1
