"""Uploads to the S3 endpoint by forms that boto3 has signed, keys made by the command line, and attacks on both."""

import base64
import hashlib
import json
import uuid
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import aiohttp
import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # ships no types

from tests.platform import Platform
from tests.platforms.conftest import token
from tests.s3_clients import s3_client, s3_clients_closed  # noqa: F401  # closes them

pytestmark = [pytest.mark.process_group("running_platform"), pytest.mark.timeout(180)]

ALICE = "a11ce000-0000-4000-8000-000000000001"
POLICY = """
create policy {0} on storage.objects for all to authenticated
  using (bucket_id = '{1}' and (storage.foldername(name))[1] = auth.uid()::text)
"""


def client(running_platform: Platform, id: str = "", secret: str = "", session: str | None = None) -> Any:
    """Give a client of the endpoint, with the pair that the first start made unless it is told another."""
    return s3_client(
        running_platform.values["STORAGE_S3_URL"],
        running_platform.values["S3_PROTOCOL_REGION"],
        id or running_platform.values["S3_PROTOCOL_ACCESS_KEY_ID"],
        secret or running_platform.values["S3_PROTOCOL_ACCESS_KEY_SECRET"],
        session,
    )


@pytest.fixture(scope="module")
def s3(running_platform: Platform) -> Any:
    return client(running_platform)


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"f-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    return name


async def posted(
    form: dict[str, Any], data: bytes = b"hello", *, filename: str = "dir\\file.txt", **changed: str | None
) -> tuple[int, str, dict[str, str]]:
    """Send a form as a browser does; give status, code of the refusal or body, and headers."""
    body = aiohttp.FormData(quote_fields=False)
    for name, value in {**form["fields"], **{k.replace("_", "-"): v for k, v in changed.items()}}.items():
        if value is not None:
            body.add_field(name, value)
    body.add_field("file", data, filename=filename, content_type="text/plain")
    body.add_field("submit", "Send")
    async with (
        aiohttp.ClientSession() as session,
        session.post(form["url"], data=body, allow_redirects=False) as answer,
    ):
        text = await answer.text()
        code = text.partition("<Code>")[2].partition("</Code>")[0]
        return answer.status, code or text, {n.lower(): v for n, v in answer.headers.items()}


async def test_a_form_of_boto_is_taken(s3: Any, bucket: str) -> None:
    fields = {
        "Content-Type": "text/css",
        "x-amz-meta-who": "me",
        "Cache-Control": "max-age=60",
        "acl": "private",
    }
    conditions = [{name: value} for name, value in fields.items()]
    conditions.append(["content-length-range", 1, 2_000_000])  # type: ignore[arg-type]  # both kinds are conditions
    form = s3.generate_presigned_post(
        bucket, "up/${filename}", dict(fields), [*conditions, ["starts-with", "$key", "up/"]]
    )
    data = bytes(range(256)) * 4000

    status, text, headers = await posted(form, data)

    got = s3.get_object(Bucket=bucket, Key="up/file.txt")
    assert (status, text) == (204, "")
    assert headers["etag"] == got["ETag"] == f'"{hashlib.md5(data).hexdigest()}"'
    assert got["Body"].read() == data
    assert (got["ContentType"], got["Metadata"], got["CacheControl"]) == (
        "text/css",
        {"who": "me"},
        "max-age=60",
    )


@pytest.mark.parametrize(("wanted", "status"), [("200", 200), ("201", 201), ("204", 204), ("999", 204)])
async def test_a_form_says_how_it_is_answered(s3: Any, bucket: str, wanted: str, status: int) -> None:
    form = s3.generate_presigned_post(
        bucket, "a b/\u00e9", {"success_action_status": wanted}, [{"success_action_status": wanted}]
    )

    found, text, headers = await posted(form)

    assert (found, headers["location"].endswith(f"/{bucket}/a%20b/%C3%A9")) == (status, True)
    assert ("<Key>a b/\u00e9</Key>" in text) is (status == 201)


async def test_a_form_sends_its_browser_on(s3: Any, bucket: str) -> None:
    target = "https://example.org/done?x=1"
    form = s3.generate_presigned_post(
        bucket, "k", {"success_action_redirect": target}, [{"success_action_redirect": target}]
    )

    status, _, headers = await posted(form)

    told = dict(parse_qsl(urlsplit(headers["location"]).query))
    assert (status, headers["location"].startswith(target)) == (303, True)
    assert (told["bucket"], told["key"], told["x"]) == (bucket, "k", "1")


async def test_a_form_is_held_to_its_policy(s3: Any, bucket: str) -> None:
    form = s3.generate_presigned_post(bucket, "k", Conditions=[["content-length-range", 3, 10]])
    other = s3.generate_presigned_post("another-bucket", "k")
    over = s3.generate_presigned_post(bucket, "k", ExpiresIn=-10)
    evil = json.loads(base64.b64decode(form["fields"]["policy"]))
    evil["conditions"] = [{"bucket": bucket}]
    forged = base64.b64encode(json.dumps(evil).encode()).decode()

    refusals = {
        "another key": await posted(form, key="evil"),
        "another field": await posted(form, x_amz_meta_admin="yes"),
        "another bucket": await posted({**other, "url": form["url"]}),
        "too long": await posted(form, b"x" * 11),
        "too short": await posted(form, b"xx"),
        "too late": await posted(over),
        "a forged policy": await posted(form, policy=forged),
        "a forged signature": await posted(form, x_amz_signature="0" * 64),
        "no policy": await posted(form, policy=None),
        "no signature": await posted(form, x_amz_signature=None),
        "no credential": await posted(form, x_amz_credential=None),
    }

    assert {name: found[:2] for name, found in refusals.items()} == {
        "another key": (403, "AccessDenied"),
        "another field": (403, "AccessDenied"),
        "another bucket": (403, "AccessDenied"),
        "too long": (400, "EntityTooLarge"),
        "too short": (400, "EntityTooSmall"),
        "too late": (403, "AccessDenied"),
        "a forged policy": (403, "SignatureDoesNotMatch"),
        "a forged signature": (403, "SignatureDoesNotMatch"),
        "no policy": (403, "AccessDenied"),
        "no signature": (400, "InvalidArgument"),
        "no credential": (400, "AuthorizationHeaderMalformed"),
    }
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    assert (await posted(form))[0] == 204


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/../../b", "/..", "..", "a/./../..//x"])
async def test_a_key_that_climbs_is_a_name_like_any_other_or_refused(
    running_platform: Platform, s3: Any, bucket: str, key: str
) -> None:
    form = s3.generate_presigned_post(bucket, key)
    before = {
        path for path in running_platform.data.parent.rglob("*") if path.is_file() and "passwd" in path.name
    }

    status, code, _ = await posted(form)

    if status != 204:
        assert (status, code) == (400, "InvalidKey")
    names = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    assert names == ([key] if status == 204 else [])
    assert {
        path for path in running_platform.data.parent.rglob("*") if path.is_file() and "passwd" in path.name
    } == before


async def test_the_file_name_of_a_browser_brings_no_folders(s3: Any, bucket: str) -> None:
    form = s3.generate_presigned_post(bucket, "in/${filename}", Conditions=[["starts-with", "$key", "in/"]])

    assert (await posted(form, filename="../../evil"))[0] == 204

    assert [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["in/evil"]


async def test_forms_of_users_are_under_their_policies(
    running_platform: Platform, s3: Any, bucket: str
) -> None:
    running_platform.psql(POLICY.format(f"p_{bucket.replace('-', '_')}", bucket))
    anon = running_platform.values["ANON_KEY"]
    alice = client(running_platform, "headwater", anon, token(running_platform, sub=ALICE))
    late = client(running_platform, "headwater", anon, token(running_platform, sub=ALICE, exp=1_700_000_000))

    own = await posted(alice.generate_presigned_post(bucket, f"{ALICE}/x"))
    other = await posted(alice.generate_presigned_post(bucket, "elsewhere/x"))
    expired = await posted(late.generate_presigned_post(bucket, f"{ALICE}/y"))

    assert own[0] == 204
    assert other[:2] == (403, "AccessDenied")
    assert expired[:2] == (403, "InvalidToken")
    assert [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [f"{ALICE}/x"]


async def test_forms_that_are_none_are_refused(running_platform: Platform, s3: Any, bucket: str) -> None:
    url, kind = f"{running_platform.values['STORAGE_S3_URL']}/{bucket}", "multipart/form-data; boundary=x"
    part = b'--x\r\ncontent-disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    bodies = [
        b"",
        b"--x--",
        b"nothing at all",
        part % (b"key", b"k") + b"--x--\r\n",
        part % (b"key", b"\xff\xfe") + part % (b"file", b"x") + b"--x--\r\n",
        part % (b"key", b"k" * 300_000) + part % (b"file", b"x") + b"--x--\r\n",
        b"".join(part % (b"f%d" % number, b"") for number in range(200)) + b"--x--\r\n",
        part % (b":form", b"{}") + part % (b"file", b"x") + b"--x--\r\n",
    ]
    async with aiohttp.ClientSession() as session:
        for body in bodies:
            async with session.post(url, data=body, headers={"content-type": kind}) as answer:
                text = await answer.text()
                assert 400 <= answer.status < 500, (body[:50], answer.status)
                assert text.count("<Error>") == 1, text
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


async def test_presigned_urls_that_were_changed_or_last_too_long_are_refused(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="a", Body=b"a")
    s3.put_object(Bucket=bucket, Key="b", Body=b"b")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a"}, ExpiresIn=600)
    long = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a"}, ExpiresIn=604_801)
    parts = dict(parse_qsl(urlsplit(url).query))
    changed = {
        url: (200, ""),
        url.replace(f"/{bucket}/a?", f"/{bucket}/b?"): (403, "SignatureDoesNotMatch"),
        url + "&response-content-type=text/html": (403, "SignatureDoesNotMatch"),
        url.replace("X-Amz-Expires=600", "X-Amz-Expires=6000"): (403, "SignatureDoesNotMatch"),
        url.replace(
            quote(parts["X-Amz-Credential"], safe=""), quote("x" + parts["X-Amz-Credential"], safe="")
        ): (
            403,
            "InvalidAccessKeyId",
        ),
        url.replace(parts["X-Amz-Date"], "20200101T000000Z"): (400, "AuthorizationQueryParametersError"),
        url.replace("X-Amz-Expires=600&", ""): (400, "AuthorizationQueryParametersError"),
        long: (400, "AuthorizationQueryParametersError"),
    }
    async with aiohttp.ClientSession() as session:
        for each, expected in changed.items():
            async with session.get(aiohttp.client.URL(each, encoded=True)) as answer:
                text = await answer.text()
                assert (answer.status, text.partition("<Code>")[2].partition("</Code>")[0]) == expected, each


def test_the_first_start_made_a_pair_and_keeps_it(running_platform: Platform) -> None:
    kept = json.loads((running_platform.data / "passwords.json").read_text())

    assert kept["s3_access_key_id"] == running_platform.values["S3_PROTOCOL_ACCESS_KEY_ID"]
    assert kept["s3_secret_access_key"] == running_platform.values["S3_PROTOCOL_ACCESS_KEY_SECRET"]
    assert (running_platform.data / "s3.json").stat().st_mode & 0o077 == 0
    assert running_platform.values["STORAGE_S3_URL"] == f"{running_platform.url}/storage/v1/s3"


def test_keys_are_made_listed_and_taken_away_by_command(running_platform: Platform, bucket: str) -> None:
    made = json.loads(running_platform.command("storage", "keys", "create", "-o", "json").stdout)
    bound = running_platform.command(
        "storage", "keys", "create", "--role", "authenticated", "--subject", ALICE
    )
    id, secret = made["access_key_id"], made["secret_access_key"]

    assert bucket in [each["Name"] for each in client(running_platform, id, secret).list_buckets()["Buckets"]]
    listed = json.loads(running_platform.command("storage", "keys", "list", "-o", "json").stdout)
    assert {"role": "authenticated", "sub": ALICE} in [each["claims"] for each in listed]
    assert secret not in running_platform.command("storage", "keys", "list").stdout
    assert id in running_platform.command("storage", "keys", "list").stdout
    assert "AWS_SECRET_ACCESS_KEY=" in bound.stdout
    assert secret not in running_platform.psql("select * from storage.s3_access_keys")

    assert running_platform.command("storage", "keys", "delete", id).returncode == 0

    with pytest.raises(ClientError) as error:
        client(running_platform, id, secret).list_buckets()
    assert error.value.response["Error"]["Code"] == "InvalidAccessKeyId"
    again = running_platform.command("storage", "keys", "delete", id)
    assert (again.returncode, again.stderr.strip()) == (1, "The platform refused: Access key not found")


async def test_headers_and_wishes_of_a_form_are_those_of_an_upload(s3: Any, bucket: str) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Disposition": "inline", "Content-Language": "de"}
    stored = {**headers, "Expires": "Tue, 01 Jan 2030 00:00:00 GMT", "Content-Type": "text/plain"}
    conditions = [{name: text} for name, text in stored.items()]
    form = s3.generate_presigned_post(bucket, "x", Fields=dict(stored), Conditions=conditions)
    rejected = {}
    for name, text in (
        ("acl", "public-read"),
        ("tagging", "<Tagging/>"),
        ("x-amz-server-side-encryption", "AES256"),
        ("x-amz-storage-class", "GLACIER"),
        ("x-amz-website-redirect-location", "/"),
    ):
        fields = {name: text}
        other = s3.generate_presigned_post(bucket, "y", Fields=fields, Conditions=[dict(fields)])
        rejected[name] = (await posted(other))[:2]

    assert (await posted(form))[0] == 204

    assert set(rejected.values()) == {(501, "NotImplemented")}, rejected
    sent = s3.head_object(Bucket=bucket, Key="x")["ResponseMetadata"]["HTTPHeaders"]
    assert {name.lower(): text for name, text in stored.items()}.items() <= sent.items()
    assert [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["x"]
