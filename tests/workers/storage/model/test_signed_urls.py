"""Signed URLs: what they open, and all that must not open anything."""

import base64
import json
import time
from typing import Any

import jwt
import pytest

from tests.workers.storage.storage_pool import (
    ALICE,
    ALICE_ID,
    ANON,
    BOB,
    NOBODY,
    SERVICE,
    Clock,
    StoragePool,
    escaped,
    refusal,
    shown,
    told,
)
from workers.storage.model.errors import StorageError
from workers.storage.model.signed_urls import SignedUrlScope, UrlSigner


def claims_of(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def forged(storage_pool: StoragePool, secret: bytes | None = None, **claims: object) -> str:
    """Sign claims with the project's secret, or another one."""
    whole = {"iat": int(time.time()), "exp": int(time.time()) + 60, **claims}
    return jwt.encode(whole, secret or storage_pool.store.signer.secret, algorithm="HS256")


async def test_signed_url_opens_one_object(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/dir/a b.txt".replace(" ", "%20"))

    answer = await storage_pool.ok("POST", f"/object/sign/{bucket}/dir/a%20b.txt", {"expiresIn": 60000})
    url = answer["signedURL"]
    path, _, token = url.partition("?token=")

    assert list(answer) == ["signedURL"]
    assert path == f"/object/sign/{bucket}/dir/a b.txt"
    claims = claims_of(token)
    assert claims == {
        "url": f"{bucket}/dir/a b.txt",
        "scope": "download",
        "iat": claims["iat"],
        "exp": claims["iat"] + 60000,
    }
    response = await storage_pool.send("GET", f"{escaped(path)}?token={token}", None, NOBODY, is_known=False)
    assert response.claim is not None
    assert told(response, "cache-control") is None
    assert told(response, "expires") is not None
    assert (
        await storage_pool.send("HEAD", f"{escaped(path)}?token={token}", None, NOBODY, is_known=False)
    ).status == 200


@pytest.mark.parametrize("key", ["a?b.txt", "a#b", "100%", "日本 語.txt", "a+b&c=d"])
async def test_every_name_can_be_signed(storage_pool: StoragePool, key: str) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/{escaped(key)}")

    url = (await storage_pool.ok("POST", f"/object/sign/{bucket}/{escaped(key)}", {"expiresIn": 60}))[
        "signedURL"
    ]
    path, _, token = url.partition("?token=")
    as_javascript = escaped(path)  # `encodeURI` escapes what is escaped once more

    for spelled in (f"/object/sign/{bucket}/{escaped(key)}", as_javascript):
        assert (
            await storage_pool.send("GET", f"{spelled}?token={token}", None, NOBODY, is_known=False)
        ).claim


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "body must have required property 'expiresIn'"),
        ({"expiresIn": 0}, "body/expiresIn must be >= 1"),
        ({"expiresIn": 604801}, "body/expiresIn must be <= 604800"),
        ({"expiresIn": "soon"}, "body/expiresIn must be integer"),
        ({"expiresIn": 60, "transform": 1}, "body/transform must be object"),
        ({"expiresIn": 60, "transform": {"width": -1}}, "body/transform/width must be >= 0"),
    ],
)
async def test_bad_requests_to_sign(storage_pool: StoragePool, body: object, message: str) -> None:
    bucket = await storage_pool.bucket()

    assert await storage_pool.refused("POST", f"/object/sign/{bucket}/a", body) == (
        400,
        "InvalidRequest",
        message,
    )


async def test_only_what_is_seen_can_be_signed(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "select", using="name = 'a'")
    for key in ("a", "b"):
        await storage_pool.uploaded(f"/object/{bucket}/{key}")

    assert await storage_pool.ok("POST", f"/object/sign/{bucket}/a", {"expiresIn": 60}, ALICE)
    hidden = (404, "NoSuchKey", "Object not found")
    assert await storage_pool.refused("POST", f"/object/sign/{bucket}/b", {"expiresIn": 60}, ALICE) == hidden
    assert await storage_pool.refused("POST", f"/object/sign/{bucket}/a", {"expiresIn": 60}, ANON) == hidden

    paths = ["a", "b", "../a", "a\n"]
    answer = await storage_pool.ok("POST", f"/object/sign/{bucket}", {"expiresIn": 60, "paths": paths}, ALICE)
    assert answer[0]["error"] is None
    assert answer[0]["path"] == "a"
    assert answer[0]["signedURL"].startswith(f"/object/sign/{bucket}/a?token=")
    assert answer[1] == {
        "error": "Either the object does not exist or you do not have access to it",
        "path": "b",
        "signedURL": None,
    }
    assert [(each["path"], each["signedURL"]) for each in answer[2:]] == [("../a", None), ("a\n", None)]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (None, "body must have required property 'paths'"),
        ([], "body/paths must NOT have fewer than 1 items"),
        (["a"] * 1001, "body/paths must NOT have more than 1000 items"),
        ([1], "body/paths/0 must be string"),
    ],
)
async def test_bad_lists_of_paths(storage_pool: StoragePool, paths: object, message: str) -> None:
    bucket = await storage_pool.bucket()
    body = {"expiresIn": 60} | ({} if paths is None else {"paths": paths})

    assert await storage_pool.refused("POST", f"/object/sign/{bucket}", body) == (
        400,
        "InvalidRequest",
        message,
    )


async def test_token_is_needed(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()

    for method, area in (("GET", "object/sign"), ("PUT", "object/upload/sign"), ("GET", "render/image/sign")):
        found = await storage_pool.refused(method, f"/{area}/{bucket}/a", None, NOBODY)
        assert found == (400, "InvalidRequest", "querystring must have required property 'token'")


async def test_tokens_that_open_nothing(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    await storage_pool.uploaded(f"/object/{bucket}/b")
    url = f"{bucket}/a"
    past = int(time.time()) - 1

    async def opened(token: str, key: str = "a") -> tuple[int, str, str]:
        return await storage_pool.refused("GET", f"/object/sign/{bucket}/{key}?token={token}", None, NOBODY)

    good = forged(storage_pool, url=url, scope="download")
    assert (
        await storage_pool.send("GET", f"/object/sign/{bucket}/a?token={good}", None, NOBODY)
    ).status == 200
    wrong = (400, "InvalidSignature", "Invalid signature")
    assert await opened(good, "b") == wrong
    assert await opened(forged(storage_pool, url=f"{bucket}x/a", scope="download")) == wrong
    assert await opened(forged(storage_pool, sub=ALICE_ID, role="service_role")) == wrong
    assert await opened(forged(storage_pool, url=[url], scope="download")) == wrong
    unscoped = (400, "InvalidSignature", "Token is not scoped for download")
    assert await opened(forged(storage_pool, url=url, scope="upload", upsert=True)) == unscoped
    assert await opened(forged(storage_pool, url=url, upsert=False)) == unscoped
    assert await opened(forged(storage_pool, url=url, scope="everything")) == unscoped
    assert await opened(
        forged(storage_pool, b"another secret of thirty-two bytes", url=url, scope="download")
    ) == (
        400,
        "InvalidJWT",
        "signature verification failed",
    )
    assert (await opened(forged(storage_pool, url=url, scope="download", exp=past)))[:2] == (
        400,
        "InvalidJWT",
    )
    assert await opened("nonsense") == (400, "InvalidJWT", "Invalid Compact JWS")
    none = jwt.encode({"url": url, "scope": "download", "exp": past + 100}, "", algorithm="none")
    assert (await opened(none))[:2] == (400, "InvalidJWT")
    endless = jwt.encode(
        {"url": url, "scope": "download"}, storage_pool.store.signer.secret, algorithm="HS256"
    )
    assert await opened(endless) == wrong


async def test_tokens_of_old_have_no_scope(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")

    reading = forged(storage_pool, url=f"{bucket}/a")
    writing = forged(storage_pool, url=f"{bucket}/new", upsert=False, owner=ALICE_ID)

    assert (
        await storage_pool.send("GET", f"/object/sign/{bucket}/a?token={reading}", None, NOBODY)
    ).status == 200
    assert (
        await storage_pool.put(
            f"/object/upload/sign/{bucket}/new?token={writing}", method="PUT", is_known=False
        )
    ).status == 200


async def test_signed_url_ends_to_the_second(storage_pool: StoragePool) -> None:
    bucket, clock = await storage_pool.bucket(), Clock()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    url = (await storage_pool.ok("POST", f"/object/sign/{bucket}/a", {"expiresIn": 10}))["signedURL"]

    clock.ahead_s = 8
    assert (await storage_pool.at(clock).send("GET", url, None, NOBODY)).status == 200
    clock.ahead_s = 12
    found = refusal(await storage_pool.at(clock).send("GET", url, None, NOBODY))

    assert found == (400, "InvalidJWT", '"exp" claim timestamp check failed: jwt expired')


async def test_signed_upload_writes_once_on_behalf_of_its_owner(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert", check="owner = auth.uid()")

    answer = await storage_pool.ok("POST", f"/object/upload/sign/{bucket}//leading/slash.png", None, ALICE)
    claims = claims_of(answer["token"])
    assert answer["url"] == f"/object/upload/sign/{bucket}//leading/slash.png?token={answer['token']}"
    assert claims == {
        "url": f"{bucket}//leading/slash.png",
        "scope": "upload",
        "upsert": False,
        "owner": ALICE_ID,
        "iat": claims["iat"],
        "exp": claims["iat"] + 7200,
    }

    response = await storage_pool.put(answer["url"], caller=NOBODY, method="PUT", is_known=False)
    assert shown(response) == {"Key": f"{bucket}//leading/slash.png"}
    assert (
        await storage_pool.value("select owner_id from storage.objects where bucket_id = $1", bucket)
        == ALICE_ID
    )
    again = await storage_pool.put(answer["url"], caller=NOBODY, method="PUT", is_known=False)
    assert refusal(again)[:2] == (409, "KeyAlreadyExists")


async def test_signed_upload_with_upsert_writes_often(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")

    assert (await storage_pool.refused("POST", f"/object/upload/sign/{bucket}/a", {}))[:2] == (
        409,
        "KeyAlreadyExists",
    )
    answer = await storage_pool.ok(
        "POST", f"/object/upload/sign/{bucket}/a", {"expiresIn": 100}, x_upsert="true"
    )

    claims = claims_of(answer["token"])
    assert claims["upsert"] is True
    assert claims["exp"] - claims["iat"] == 100
    assert "owner" not in claims
    for data in (b"one", b"two"):
        assert (
            await storage_pool.put(answer["url"], data, NOBODY, method="PUT", is_known=False)
        ).status == 200
    assert await storage_pool.got(f"/object/{bucket}/a") == b"two"


async def test_signed_upload_keeps_to_the_policies_and_rules(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket(file_size_limit=5, allowed_mime_types=["text/plain"])
    await storage_pool.policy(bucket, "insert", check="metadata ->> 'mimetype' = 'text/plain'")

    async def sign(caller: object, **headers: Any) -> object:
        return await storage_pool.send("POST", f"/object/upload/sign/{bucket}/a", None, caller, **headers)  # type: ignore[arg-type]  # a Caller

    assert refusal(await sign(BOB, content_type="text/css"))[0] == 403  # type: ignore[arg-type]  # a Response
    answer = await sign(BOB, content_type="text/plain")
    url = shown(answer)["url"]  # type: ignore[arg-type]  # a Response
    assert refusal(await storage_pool.put(url, b"x" * 6, NOBODY, method="PUT"))[0] == 413
    assert refusal(await storage_pool.put(url, b"x", NOBODY, method="PUT", content_type="text/css"))[0] == 415
    assert (await storage_pool.refused("POST", f"/object/upload/sign/{bucket}/a", {"expiresIn": 604801}))[
        0
    ] == 400
    assert (await storage_pool.refused("POST", "/object/upload/sign/nowhere/a", {}))[:2] == (
        404,
        "NoSuchBucket",
    )


async def test_download_token_does_not_write(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    token = forged(storage_pool, url=f"{bucket}/a", scope="download")

    found = refusal(await storage_pool.put(f"/object/upload/sign/{bucket}/a?token={token}", method="PUT"))

    assert found == (400, "InvalidSignature", "Token is not scoped for upload")


async def test_nothing_that_a_client_sends_becomes_a_claim(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    body = {
        "expiresIn": 60,
        "role": "service_role",
        "url": "x/y",
        "scope": "upload",
        "upsert": True,
        "owner": "me",
    }

    for path in (f"/object/sign/{bucket}/a", f"/object/upload/sign/{bucket}/b"):
        answer = await storage_pool.ok("POST", path, body, SERVICE)
        claims = claims_of((answer.get("signedURL") or answer["url"]).partition("token=")[2])
        assert "role" not in claims
        assert claims["url"].startswith(bucket)
        assert claims.get("owner") is None
        assert claims["scope"] == ("download" if "object/sign" in path else "upload")
        assert not claims.get("upsert")


def test_signer_shows_no_secret() -> None:
    signer = UrlSigner(b"a secret that nobody may see", time.time)

    assert "nobody" not in repr(signer)
    with pytest.raises(StorageError):
        signer.read(signer.download("b/k", 60), SignedUrlScope.DOWNLOAD, "b/k2")
