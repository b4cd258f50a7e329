"""The S3 endpoint as boto3 uses it, against a whole platform."""

import base64
import hashlib
import hmac
import http.client
import os
import time
import urllib.error
import urllib.request
import uuid
import zlib
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth  # type: ignore[import-untyped]  # ships no types
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]  # ships no types
from botocore.credentials import Credentials  # type: ignore[import-untyped]  # ships no types
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # ships no types

from tests.platform import Platform
from tests.platforms.conftest import token
from tests.platforms.s3.conftest import ID, SECRET
from tests.s3_clients import s3_client

pytestmark = [pytest.mark.process_group("s3"), pytest.mark.timeout(180)]

PROJECT = "headwater"
ALICE, BOB = "a11ce000-0000-4000-8000-000000000001", "b0b00000-0000-4000-8000-000000000002"
MIB = 1024 * 1024
POLICY = """
create policy own_all on storage.objects for all to authenticated
  using (bucket_id = 'homes' and (storage.foldername(name))[1] = auth.uid()::text)
  with check (bucket_id = 'homes' and (storage.foldername(name))[1] = auth.uid()::text)
"""


@pytest.fixture(scope="module", autouse=True)
def policy(running_platform: Platform) -> None:
    """The policies of users' requests."""
    running_platform.psql(POLICY)


def client(running_platform: Platform, id: str = ID, secret: str = SECRET, session: str | None = None) -> Any:
    """Give a client of the endpoint."""
    return s3_client(f"{running_platform.url}/storage/v1/s3", "us-east-1", id, secret, session)


def user(running_platform: Platform, id: str) -> Any:
    """Give the client of a user: his session token, with the project's public key as secret."""
    return client(
        running_platform, PROJECT, running_platform.values["ANON_KEY"], token(running_platform, sub=id)
    )


def refused(call: Any, **arguments: Any) -> tuple[int, str]:
    """Make a call that must be refused; give status and code."""
    with pytest.raises(ClientError) as error:
        call(**arguments)
    answer = error.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


def test_buckets_come_and_go(s3: Any, running_platform: Platform) -> None:
    name = f"b-{uuid.uuid4().hex[:12]}"

    s3.create_bucket(Bucket=name, ACL="public-read")

    assert name in [each["Name"] for each in s3.list_buckets()["Buckets"]]
    assert s3.head_bucket(Bucket=name)["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert s3.get_bucket_location(Bucket=name)["LocationConstraint"] == "us-east-1"
    assert "Status" not in s3.get_bucket_versioning(Bucket=name)
    assert running_platform.psql(f"select public from storage.buckets where id = '{name}'").split()[2] == "t"
    assert refused(s3.create_bucket, Bucket=name) == (409, "BucketAlreadyExists")
    s3.put_object(Bucket=name, Key="a", Body=b"a")
    assert refused(s3.delete_bucket, Bucket=name) == (409, "BucketNotEmpty")
    s3.delete_object(Bucket=name, Key="a")
    s3.delete_bucket(Bucket=name)
    assert refused(s3.head_bucket, Bucket=name) == (404, "404")
    assert refused(s3.list_objects_v2, Bucket=name) == (404, "NoSuchBucket")


@pytest.mark.parametrize(
    "key",
    [
        "a.txt",
        "deep/er/a b+c(1)'&=@;:,$!*.txt",
        "\u00e9t\u00e9/\u65e5\u672c/[1]#%~.txt",
        "folder/",
        "/lead//x",
    ],
)
def test_an_object_is_written_and_read(s3: Any, bucket: str, key: str) -> None:
    data = os.urandom(300_000)
    meta = {"owner": "alice", "n": "1"}

    put = s3.put_object(
        Bucket=bucket, Key=key, Body=data, ContentType="image/x", CacheControl="max-age=60", Metadata=meta
    )
    got = s3.get_object(Bucket=bucket, Key=key)
    head = s3.head_object(Bucket=bucket, Key=key)

    etag = f'"{hashlib.md5(data).hexdigest()}"'
    assert got["Body"].read() == data
    assert put["ETag"] == got["ETag"] == head["ETag"] == etag
    assert got["Metadata"] == head["Metadata"] == meta
    assert (got["ContentType"], got["CacheControl"], head["ContentLength"]) == (
        "image/x",
        "max-age=60",
        len(data),
    )
    assert [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [key]
    assert s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"] == []
    s3.delete_object(Bucket=bucket, Key=key)
    assert refused(s3.get_object, Bucket=bucket, Key=key) == (404, "NoSuchKey")
    assert s3.delete_object(Bucket=bucket, Key=key)["ResponseMetadata"]["HTTPStatusCode"] == 204


def test_a_form_as_content_type_is_only_a_type(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"raw", ContentType="multipart/form-data; boundary=x")

    assert s3.get_object(Bucket=bucket, Key="x")["Body"].read() == b"raw"


def test_ranges_and_conditions(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="x", Body=b"hello world")["ETag"]

    ranged = s3.get_object(Bucket=bucket, Key="x", Range="bytes=0-3")

    assert (ranged["Body"].read(), ranged["ContentRange"]) == (b"hell", "bytes 0-3/11")
    assert s3.get_object(Bucket=bucket, Key="x", Range="bytes=-3")["Body"].read() == b"rld"
    assert refused(s3.get_object, Bucket=bucket, Key="x", Range="bytes=50-") == (416, "InvalidRange")
    assert refused(s3.get_object, Bucket=bucket, Key="x", IfNoneMatch=etag) == (304, "304")
    assert refused(s3.get_object, Bucket=bucket, Key="x", IfMatch='"other"') == (412, "PreconditionFailed")
    assert s3.get_object(Bucket=bucket, Key="x", IfMatch=etag)["Body"].read() == b"hello world"
    shown = s3.get_object(
        Bucket=bucket, Key="x", ResponseContentType="text/html", ResponseContentDisposition="attachment"
    )
    assert shown["Body"].read() == b"hello world"
    assert (shown["ContentType"], shown["ContentDisposition"]) == ("text/plain", "attachment")
    assert refused(s3.put_object, Bucket=bucket, Key="x", Body=b"2", IfNoneMatch="*") == (
        412,
        "PreconditionFailed",
    )
    s3.put_object(Bucket=bucket, Key="y", Body=b"2", IfNoneMatch="*")


def test_copies(s3: Any, bucket: str) -> None:
    etag = s3.put_object(
        Bucket=bucket, Key="a b/\u00e9", Body=b"hello", ContentType="text/css", Metadata={"k": "v"}
    )["ETag"]
    source = {"Bucket": bucket, "Key": "a b/\u00e9"}

    done = s3.copy_object(Bucket=bucket, Key="copy", CopySource=source)
    s3.copy_object(
        Bucket=bucket,
        Key="new",
        CopySource=source,
        MetadataDirective="REPLACE",
        ContentType="text/x",
        Metadata={"n": "w"},
    )

    copied, new = s3.head_object(Bucket=bucket, Key="copy"), s3.head_object(Bucket=bucket, Key="new")
    assert done["CopyObjectResult"]["ETag"] == copied["ETag"] == new["ETag"] == etag
    assert (copied["ContentType"], copied["Metadata"]) == ("text/css", {"k": "v"})
    assert (new["ContentType"], new["Metadata"]) == ("text/x", {"n": "w"})
    assert s3.get_object(Bucket=bucket, Key="new")["Body"].read() == b"hello"
    other = {"Bucket": bucket, "Key": "c"}
    assert refused(s3.copy_object, CopySource=source, CopySourceIfMatch='"x"', **other) == (
        412,
        "PreconditionFailed",
    )
    assert refused(s3.copy_object, CopySource=f"{bucket}/none", **other) == (404, "NoSuchKey")


def test_listings_over_2500_keys(running_platform: Platform, s3: Any, bucket: str) -> None:
    running_platform.psql(
        "insert into storage.objects (bucket_id, name, version, metadata)"
        f" select '{bucket}', case when i % 2 = 0 then 'even/' || (i % 7) || '/' else 'odd &<' end || lpad(i::text, 5, '0'),"
        ' gen_random_uuid(), \'{"size": 3, "eTag": "\\"x\\""}\' from generate_series(1, 2500) i'
    )

    pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket=bucket))
    first = list(s3.get_paginator("list_objects").paginate(Bucket=bucket, PaginationConfig={"PageSize": 900}))
    folded = list(
        s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Delimiter="/", PaginationConfig={"PageSize": 600}
        )
    )
    inner = s3.list_objects_v2(Bucket=bucket, Delimiter="/", Prefix="even/", MaxKeys=3)
    rest = s3.list_objects_v2(
        Bucket=bucket, Delimiter="/", Prefix="even/", ContinuationToken=inner["NextContinuationToken"]
    )
    old = s3.list_objects(Bucket=bucket, Delimiter="/", MaxKeys=1)
    after = s3.list_objects(Bucket=bucket, Delimiter="/", MaxKeys=1, Marker=old["NextMarker"])

    keys = [each["Key"] for page in pages for each in page["Contents"]]
    assert [len(page["Contents"]) for page in pages] == [1000, 1000, 500]
    assert len(set(keys)) == 2500
    assert keys == sorted(keys)
    assert [each["Key"] for page in first for each in page["Contents"]] == keys
    assert [each["Prefix"] for page in folded for each in page.get("CommonPrefixes", [])] == ["even/"]
    assert sum(len(page.get("Contents", [])) for page in folded) == 1250
    assert [each["Prefix"] for each in inner["CommonPrefixes"]] == ["even/0/", "even/1/", "even/2/"]
    assert [each["Prefix"] for each in rest["CommonPrefixes"]] == [f"even/{i}/" for i in range(3, 7)]
    assert (old["NextMarker"], after["Contents"][0]["Key"]) == ("even/", "odd &<00001")
    assert s3.list_objects_v2(Bucket=bucket, StartAfter="odd &<02497")["KeyCount"] == 1
    assert s3.list_objects_v2(Bucket=bucket, MaxKeys=0)["KeyCount"] == 0
    assert refused(s3.list_objects_v2, Bucket=bucket, ContinuationToken="bad") == (400, "InvalidArgument")


def test_many_are_deleted(s3: Any, bucket: str) -> None:
    for key in ("a", "b/c", "<&>\u00e9"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")

    told = s3.delete_objects(
        Bucket=bucket, Delete={"Objects": [{"Key": k} for k in ("a", "none", "<&>\u00e9")]}
    )
    quiet = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "b/c"}], "Quiet": True})

    assert sorted(each["Key"] for each in told["Deleted"]) == sorted(["a", "none", "<&>\u00e9"])
    assert "Deleted" not in quiet
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_multipart_upload_of_20_mb(s3: Any, bucket: str, running_platform: Platform) -> None:
    data = os.urandom(20 * MIB)
    begun = s3.create_multipart_upload(
        Bucket=bucket, Key="big \u00e9", ContentType="video/x", Metadata={"k": "v"}
    )
    named = {"Bucket": bucket, "Key": "big \u00e9", "UploadId": begun["UploadId"]}
    s3.upload_part(**named, PartNumber=2, Body=b"a try that is replaced")
    parts = []
    for number in (4, 2, 1, 3):
        piece = data[(number - 1) * 5 * MIB : number * 5 * MIB]
        etag = s3.upload_part(**named, PartNumber=number, Body=piece)["ETag"]
        parts.append({"PartNumber": number, "ETag": etag})
    parts.sort(key=lambda part: part["PartNumber"])

    listed = s3.list_parts(**named, MaxParts=3)
    rest = s3.list_parts(**named, PartNumberMarker=listed["NextPartNumberMarker"])
    uploads = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    bad = [{**parts[0], "ETag": '"0"'}, *parts[1:]]
    wrong = refused(s3.complete_multipart_upload, **named, MultipartUpload={"Parts": bad})
    turned = refused(s3.complete_multipart_upload, **named, MultipartUpload={"Parts": parts[::-1]})
    done = s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts})
    again = s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts})

    assert [each["PartNumber"] for each in listed["Parts"] + rest["Parts"]] == [1, 2, 3, 4]
    assert (listed["IsTruncated"], rest["IsTruncated"]) == (True, False)
    assert [(each["Key"], each["UploadId"]) for each in uploads] == [("big \u00e9", begun["UploadId"])]
    assert (wrong, turned) == ((400, "InvalidPart"), (400, "InvalidPartOrder"))
    got = s3.get_object(Bucket=bucket, Key="big \u00e9")
    assert got["Body"].read() == data
    assert done["ETag"] == again["ETag"] == got["ETag"] == f'"{hashlib.md5(data).hexdigest()}"'
    assert (got["ContentType"], got["Metadata"]) == ("video/x", {"k": "v"})
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)
    assert refused(s3.upload_part, **named, PartNumber=1, Body=b"late") == (404, "NoSuchUpload")
    assert not list((running_platform.data / "storage" / "uploads").glob("*"))


def test_the_transfer_manager_uploads_in_parts(s3: Any, bucket: str, tmp_path: Any) -> None:
    file, back = tmp_path / "file", tmp_path / "back"
    file.write_bytes(os.urandom(18 * MIB))

    s3.upload_file(str(file), bucket, "managed")
    s3.download_file(bucket, "managed", str(back))

    assert back.read_bytes() == file.read_bytes()


def test_parts_are_copied_and_uploads_aborted(s3: Any, bucket: str, running_platform: Platform) -> None:
    source = os.urandom(6 * MIB)
    s3.put_object(Bucket=bucket, Key="source", Body=source)
    named = {
        "Bucket": bucket,
        "Key": "to",
        "UploadId": s3.create_multipart_upload(Bucket=bucket, Key="to")["UploadId"],
    }

    for number, span in ((1, f"bytes={MIB}-{6 * MIB - 1}"), (2, "bytes=0-4")):
        s3.upload_part_copy(**named, PartNumber=number, CopySource=f"{bucket}/source", CopySourceRange=span)
    beyond = refused(
        s3.upload_part_copy,
        **named,
        PartNumber=3,
        CopySource=f"{bucket}/source",
        CopySourceRange=f"bytes=5-{6 * MIB}",
    )
    listed = s3.list_parts(**named)["Parts"]
    s3.complete_multipart_upload(
        **named,
        MultipartUpload={"Parts": [{"PartNumber": p["PartNumber"], "ETag": p["ETag"]} for p in listed]},
    )

    assert s3.get_object(Bucket=bucket, Key="to")["Body"].read() == source[MIB:] + source[:5]
    assert beyond == (416, "InvalidRange")
    named["UploadId"] = s3.create_multipart_upload(Bucket=bucket, Key="to")["UploadId"]
    s3.upload_part(**named, PartNumber=1, Body=b"x")
    s3.abort_multipart_upload(**named)
    assert refused(s3.list_parts, **named) == (404, "NoSuchUpload")
    assert not list((running_platform.data / "storage" / "uploads").glob("*"))


def test_presigned_urls(running_platform: Platform, bucket: str) -> None:
    one = client(running_platform)
    where = {"Bucket": bucket, "Key": "pre signed/\u00e9"}
    put = one.generate_presigned_url("put_object", Params=where, ExpiresIn=60)
    get = one.generate_presigned_url("get_object", Params=where, ExpiresIn=60)

    assert fetched(put, "PUT", b"by url")[0] == 200

    assert fetched(get) == (200, b"by url")
    assert fetched(get.replace("X-Amz-Expires=60", "X-Amz-Expires=61"))[0] == 403
    assert fetched(get, "PUT", b"x")[0] == 403
    assert fetched(get, headers={"x-amz-meta-added": "x"})[0] == 403


def fetched(
    url: str, method: str = "GET", data: bytes | None = None, headers: Any = None
) -> tuple[int, bytes]:
    asked = urllib.request.Request(url, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_session_tokens_are_users_under_their_policies(running_platform: Platform, s3: Any) -> None:
    s3.create_bucket(Bucket="homes")
    alice, bob = user(running_platform, ALICE), user(running_platform, BOB)
    own = {"Bucket": "homes", "Key": f"{ALICE}/a.txt"}

    alice.put_object(**own, Body=b"mine")
    s3.put_object(Bucket="homes", Key=f"{BOB}/b.txt", Body=b"his")

    assert alice.get_object(**own)["Body"].read() == b"mine"
    assert refused(bob.get_object, **own) == (404, "NoSuchKey")
    assert refused(bob.put_object, **own, Body=b"x") == (403, "AccessDenied")
    assert refused(bob.create_multipart_upload, **own) == (403, "AccessDenied")
    assert refused(bob.delete_object, **own) == (403, "AccessDenied")
    assert [each["Key"] for each in alice.list_objects_v2(Bucket="homes")["Contents"]] == [own["Key"]]
    told = bob.delete_objects(
        Bucket="homes", Delete={"Objects": [{"Key": own["Key"]}, {"Key": f"{BOB}/b.txt"}]}
    )
    assert [(each["Key"], each["Code"]) for each in told["Errors"]] == [(own["Key"], "AccessDenied")]
    assert [each["Key"] for each in told["Deleted"]] == [f"{BOB}/b.txt"]
    begun = alice.create_multipart_upload(**own)
    part = alice.upload_part(**own, UploadId=begun["UploadId"], PartNumber=1, Body=b"parts")
    assert refused(bob.upload_part, **own, UploadId=begun["UploadId"], PartNumber=1, Body=b"x") == (
        403,
        "AccessDenied",
    )
    alice.complete_multipart_upload(
        **own,
        UploadId=begun["UploadId"],
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
    )
    assert (
        running_platform.psql(f"select owner_id from storage.objects where name = '{own['Key']}'").find(ALICE)
        >= 0
    )
    url = alice.generate_presigned_url("get_object", Params=own)
    assert fetched(url) == (200, b"parts")


def test_who_cannot_prove_himself_is_refused(running_platform: Platform, bucket: str) -> None:
    project, anon = PROJECT, running_platform.values["ANON_KEY"]
    listing = {"Bucket": bucket}
    late = token(running_platform, sub=ALICE, exp=int(time.time()) - 3600)

    assert refused(client(running_platform, secret="wrong").list_objects_v2, **listing) == (
        403,
        "SignatureDoesNotMatch",
    )
    assert refused(client(running_platform, id="nobody").list_objects_v2, **listing) == (
        403,
        "InvalidAccessKeyId",
    )
    assert refused(client(running_platform, project, anon, "no token").list_objects_v2, **listing) == (
        403,
        "InvalidToken",
    )
    assert refused(client(running_platform, project, anon, late).list_objects_v2, **listing) == (
        403,
        "InvalidToken",
    )
    good = token(running_platform, sub=ALICE)
    assert refused(client(running_platform, project, "x", good).list_objects_v2, **listing) == (
        403,
        "SignatureDoesNotMatch",
    )
    assert refused(client(running_platform, "other", anon, good).list_objects_v2, **listing) == (
        403,
        "InvalidAccessKeyId",
    )
    assert refused(client(running_platform, project, anon).list_objects_v2, **listing) == (
        403,
        "InvalidAccessKeyId",
    )
    for headers in ({}, {"Authorization": f"Bearer {running_platform.values['SERVICE_ROLE_KEY']}"}):
        status, body = fetched(f"{running_platform.url}/storage/v1/s3/{bucket}", headers=headers)
        assert (status, b"<Code>AccessDenied</Code><Message>Missing signature" in body) == (403, True)


def signed(
    running_platform: Platform, method: str, path: str, data: bytes, payload: str, when: datetime, **more: str
) -> Any:
    """Sign a request at a time of the test's own."""
    request = AWSRequest(method, f"{running_platform.url}/storage/v1/s3{path}", data=data)
    for name, value in {"X-Amz-Content-SHA256": payload, **more}.items():
        request.headers[name.replace("_", "-")] = value
    auth = S3SigV4Auth(Credentials(ID, SECRET), "s3", "us-east-1")
    request.context["timestamp"] = when.strftime("%Y%m%dT%H%M%SZ")
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    canonical = auth.canonical_request(request)
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    auth._inject_signature_to_request(request, signature)
    return request, signature


def sent(running_platform: Platform, request: Any, data: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", running_platform.port, timeout=30)
    connection.request(
        request.method, request.url.removeprefix(running_platform.url), data, dict(request.headers)
    )
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_an_old_request_is_not_taken_again(running_platform: Platform, bucket: str) -> None:
    old = datetime.fromtimestamp(time.time() - 1000, UTC)
    request, _ = signed(running_platform, "GET", f"/{bucket}", b"", hashlib.sha256(b"").hexdigest(), old)

    status, body = sent(running_platform, request, b"")

    assert (status, b"<Code>RequestTimeTooSkewed</Code>" in body) == (403, True)


def test_a_body_that_is_not_as_signed_is_refused(running_platform: Platform, s3: Any, bucket: str) -> None:
    now = datetime.now(UTC)
    request, _ = signed(
        running_platform, "PUT", f"/{bucket}/x", b"good", hashlib.sha256(b"good").hexdigest(), now
    )

    assert b"<Code>XAmzContentSHA256Mismatch</Code>" in sent(running_platform, request, b"evil")[1]
    assert sent(running_platform, request, b"good")[0] == 200
    listing, _ = signed(
        running_platform, "POST", f"/{bucket}?delete=", b"<a/>", hashlib.sha256(b"<a/>").hexdigest(), now
    )
    assert b"<Code>XAmzContentSHA256Mismatch</Code>" in sent(running_platform, listing, b"<b/>")[1]
    assert b"<Code>MalformedXML</Code>" in sent(running_platform, listing, b"<a/>")[1]
    assert refused(
        s3.put_object, Bucket=bucket, Key="x", Body=b"1", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg=="
    ) == (
        400,
        "BadDigest",
    )
    assert s3.get_object(Bucket=bucket, Key="x")["Body"].read() == b"good"


@pytest.mark.parametrize("is_tampered", [False, True])
def test_signed_chunks(running_platform: Platform, s3: Any, bucket: str, is_tampered: bool) -> None:
    now, pieces = datetime.now(UTC), [os.urandom(200_000), os.urandom(100_000), b""]
    request, last = signed(
        running_platform, "PUT", f"/{bucket}/chunks", b"", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", now,
        x_amz_decoded_content_length="300000", content_encoding="aws-chunked",
    )  # fmt: skip
    scope = f"{now:%Y%m%d}/us-east-1/s3/aws4_request"
    key = f"AWS4{SECRET}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    body = b""
    for piece in pieces:
        hashes = (hashlib.sha256(b"").hexdigest(), hashlib.sha256(piece).hexdigest())
        text = "\n".join(("AWS4-HMAC-SHA256-PAYLOAD", f"{now:%Y%m%dT%H%M%SZ}", scope, last, *hashes))
        last = hmac.digest(key, text.encode(), "sha256").hex()
        shown = piece[:-1] + bytes([piece[-1] ^ 1]) if is_tampered and len(piece) == 100_000 else piece
        body += f"{len(piece):x};chunk-signature={last}\r\n".encode() + shown + b"\r\n"

    status, answer = sent(running_platform, request, body)

    if is_tampered:
        assert (status, b"<Code>SignatureDoesNotMatch</Code>" in answer) == (403, True)
        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
        return
    assert (status, answer) == (200, b"")
    assert s3.get_object(Bucket=bucket, Key="chunks")["Body"].read() == b"".join(pieces)


@pytest.mark.parametrize(("crc", "status"), [(zlib.crc32(b"hello"), 200), (1, 400)])
def test_unsigned_chunks_with_a_checksum_behind_them(
    running_platform: Platform, s3: Any, bucket: str, crc: int, status: int
) -> None:
    request, _ = signed(
        running_platform, "PUT", f"/{bucket}/t", b"", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", datetime.now(UTC),
        x_amz_decoded_content_length="5", x_amz_trailer="x-amz-checksum-crc32",
    )  # fmt: skip
    told = base64.b64encode(crc.to_bytes(4, "big")).decode()

    answer = sent(
        running_platform, request, f"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:{told}\r\n\r\n".encode()
    )

    assert answer[0] == status
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == (status == 200)
    assert (b"<Code>BadDigest</Code>" in answer[1]) is (status == 400)


def test_the_limits_of_a_bucket_hold(running_platform: Platform, s3: Any, bucket: str) -> None:
    running_platform.psql(
        f"update storage.buckets set file_size_limit = 10, allowed_mime_types = '{{text/*}}' where id = '{bucket}'"
    )
    where, text = {"Bucket": bucket, "Key": "x"}, {"ContentType": "text/plain"}

    assert refused(s3.put_object, **where, Body=b"x" * 11, **text) == (413, "EntityTooLarge")
    assert refused(s3.put_object, **where, Body=b"x", ContentType="image/png") == (415, "InvalidMimeType")
    named = {**where, "UploadId": s3.create_multipart_upload(**where, **text)["UploadId"]}
    s3.upload_part(**named, PartNumber=1, Body=b"x" * 6)
    assert refused(s3.upload_part, **named, PartNumber=2, Body=b"x" * 6) == (413, "EntityTooLarge")
    s3.upload_part(**named, PartNumber=1, Body=b"x" * 4)
    etag = s3.upload_part(**named, PartNumber=2, Body=b"y" * 6)["ETag"]
    assert refused(s3.delete_bucket, Bucket=bucket) == (409, "ResourceReferenced")
    s3.complete_multipart_upload(**named, MultipartUpload={"Parts": [{"PartNumber": 2, "ETag": etag}]})
    assert s3.get_object(**where)["Body"].read() == b"y" * 6


def test_what_is_not_offered_says_so(running_platform: Platform, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"1")

    assert refused(s3.get_object, Bucket=bucket, Key="x", VersionId="1234") == (404, "NotImplemented")
    assert s3.get_object(Bucket=bucket, Key="x", VersionId="null")["Body"].read() == b"1"
    assert refused(s3.put_object_tagging, Bucket=bucket, Key="x", Tagging={"TagSet": []}) == (
        404,
        "NotImplemented",
    )
    assert s3.get_object(Bucket=bucket, Key="x")["Body"].read() == b"1"
