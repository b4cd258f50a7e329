"""Section 4.5 Storage."""

from typing import Any
from uuid import UUID

import pytest

from tests.platforms.seed.callers import MILLISECONDS, Caller, Person, SeedPlatform, signed_up

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


def test_buckets_are_made_changed_emptied_and_deleted(service: Caller) -> None:
    base = "/storage/v1/bucket"
    made = service.ask(
        "POST",
        base,
        {"name": "walk", "public": True, "file_size_limit": 10, "allowed_mime_types": ["text/plain"]},
    )
    again = service.ask("POST", base, {"name": "walk"})
    plain = service.result("POST", base, {"name": "plain"})
    listed = {each["id"]: each for each in service.result("GET", base)}
    changed = service.ask("PUT", f"{base}/walk", {"public": False, "file_size_limit": 100})
    read = service.result("GET", f"{base}/walk")
    file = service.ask("POST", "/storage/v1/object/walk/a.txt", b"words", content_type="text/plain")
    full = service.ask("DELETE", f"{base}/walk")
    emptied = service.ask("POST", f"{base}/walk/empty")
    gone = [service.ask("DELETE", f"{base}/{name}").status_code for name in ("walk", "plain")]

    assert (made.is_success, made.json()["name"], plain["name"]) == (True, "walk", "plain")
    assert again.is_error
    assert {"id", "name", "public", "created_at", "updated_at"} <= listed["walk"].keys()
    assert (listed["walk"]["public"], listed["plain"]["public"]) == (True, False)
    assert listed["plain"]["allowed_mime_types"] is None
    assert MILLISECONDS.fullmatch(listed["walk"]["created_at"])
    assert changed.status_code == 200
    assert (read["public"], read["file_size_limit"], read["allowed_mime_types"]) == (
        False,
        100,
        ["text/plain"],
    )
    assert (file.status_code, full.is_error, emptied.status_code, gone) == (200, True, 200, [200, 200])
    assert service.ask("GET", f"{base}/walk").is_error


@pytest.fixture(scope="module")
def bucket(service: Caller) -> str:
    """A private bucket with some files."""
    service.result("POST", "/storage/v1/bucket", {"name": "shelf"})
    for name in ("docs/a.txt", "docs/b.txt", "docs/deep/c.txt", "z.txt"):
        upload(service, f"shelf/{name}", name.encode(), cache_control="3600")
    return "shelf"


def upload(caller: Caller, key: str, data: bytes = b"words", **headers: str) -> Any:
    return caller.ask("POST", f"/storage/v1/object/{key}", data, **{"content_type": "text/plain", **headers})


def test_a_file_is_uploaded_once_unless_it_may_be_overwritten(service: Caller, bucket: str) -> None:
    first = upload(service, "shelf/in/one.txt", b"first", cache_control="60")
    refused = upload(service, "shelf/in/one.txt", b"second")
    kept = service.ask("GET", "/storage/v1/object/shelf/in/one.txt")
    upserted = upload(service, "shelf/in/one.txt", b"third", x_upsert="true")
    now = service.ask("GET", "/storage/v1/object/shelf/in/one.txt")

    assert (first.status_code, first.json()["Key"]) == (200, "shelf/in/one.txt")
    assert UUID(first.json()["Id"])
    assert refused.is_error
    assert (kept.content, kept.headers["content-type"]) == (b"first", "text/plain")
    assert kept.headers["cache-control"] == "max-age=60"
    assert kept.headers["etag"]
    assert (upserted.status_code, now.content) == (200, b"third")


def test_a_bucket_takes_files_of_up_to_5_gb_where_it_says_so(service: Caller) -> None:
    bucket = {"name": "vast", "file_size_limit": 5 * 1024**3}

    assert service.ask("POST", "/storage/v1/bucket", bucket).status_code == 200
    assert service.result("GET", "/storage/v1/bucket/vast")["file_size_limit"] == 5 * 1024**3
    assert upload(service, "vast/more", bytes(51 * 1024**2)).status_code == 200


def test_without_a_limit_of_its_own_a_bucket_takes_50_mb(service: Caller) -> None:
    service.result("POST", "/storage/v1/bucket", {"name": "usual"})

    assert upload(service, "usual/fits", bytes(52428800)).status_code == 200
    assert upload(service, "usual/more", bytes(52428801)).is_error


def test_what_a_bucket_does_not_take_is_refused(service: Caller) -> None:
    bucket = {"name": "narrow", "file_size_limit": 10, "allowed_mime_types": ["text/plain"]}
    service.result("POST", "/storage/v1/bucket", bucket)

    assert upload(service, "narrow/fits", b"x" * 10).status_code == 200
    assert upload(service, "narrow/long", b"x" * 11).is_error
    assert upload(service, "narrow/kind", b"x", content_type="image/png").is_error


def test_a_public_file_needs_no_credentials_and_a_private_one_does(
    seed_platform: SeedPlatform, bucket: str
) -> None:
    seed_platform.service.result("POST", "/storage/v1/bucket", {"name": "open", "public": True})
    upload(seed_platform.service, "open/a b.txt", b"for all")

    at = "/storage/v1/object/public/open/a b.txt"
    public = seed_platform.client.get(at)
    odd = seed_platform.client.get(at, headers={"apikey": "nonsense", "authorization": "Bearer nonsense"})
    private = seed_platform.client.get("/storage/v1/object/public/shelf/z.txt")

    assert (public.status_code, public.content) == (odd.status_code, odd.content) == (200, b"for all")
    assert private.is_error
    assert seed_platform.client.get("/storage/v1/object/shelf/z.txt").is_error
    assert seed_platform.anon.ask("GET", "/storage/v1/object/shelf/z.txt").is_error
    assert seed_platform.service.ask("GET", "/storage/v1/object/shelf/z.txt").content == b"z.txt"


def test_a_listing_has_the_entries_of_2_5(service: Caller, bucket: str) -> None:
    def names(**options: object) -> list[str]:
        return [each["name"] for each in service.result("POST", "/storage/v1/object/list/shelf", options)]

    entries = service.result("POST", "/storage/v1/object/list/shelf", {"prefix": "docs"})
    file = next(each for each in entries if each["name"] == "a.txt")

    assert UUID(file["id"])
    for moment in ("updated_at", "created_at", "last_accessed_at"):
        assert MILLISECONDS.fullmatch(file[moment]), moment
    metadata = file["metadata"]
    assert isinstance(metadata["eTag"], str)
    assert (metadata["size"], metadata["mimetype"]) == (10, "text/plain")
    assert metadata["cacheControl"] == "max-age=3600"
    assert [each["name"] for each in entries] == ["a.txt", "b.txt", "deep"]
    assert {"docs", "z.txt"} <= set(names())
    assert names(prefix="docs", limit=1, offset=1) == ["b.txt"]
    assert names(prefix="docs", search="b") == ["b.txt"]
    assert names(prefix="docs", sortBy={"column": "name", "order": "desc"}) == ["deep", "b.txt", "a.txt"]
    for column in ("created_at", "updated_at"):
        assert set(names(prefix="docs", sortBy={"column": column, "order": "asc"})) == {
            "a.txt",
            "b.txt",
            "deep",
        }


def test_a_list_has_a_hundred_entries_unless_told_otherwise(seed_platform: SeedPlatform, bucket: str) -> None:
    seed_platform.platform.psql(
        "insert into storage.objects (bucket_id, name) select 'shelf', 'many/' || to_char(n, '000') from generate_series(1, 105) n"
    )

    listed = seed_platform.service.result("POST", "/storage/v1/object/list/shelf", {"prefix": "many"})

    assert len(listed) == 100


def test_files_are_moved_copied_and_deleted(service: Caller, bucket: str) -> None:
    upload(service, "shelf/from.txt", b"moved")

    moved = service.ask(
        "POST",
        "/storage/v1/object/move",
        {"bucketId": "shelf", "sourceKey": "from.txt", "destinationKey": "to/there.txt"},
    )
    copied = service.ask(
        "POST",
        "/storage/v1/object/copy",
        {"bucketId": "shelf", "sourceKey": "to/there.txt", "destinationKey": "copy.txt"},
    )
    read = [
        service.ask("GET", f"/storage/v1/object/shelf/{name}").content
        for name in ("to/there.txt", "copy.txt")
    ]
    gone = service.ask("DELETE", "/storage/v1/object/shelf", {"prefixes": ["to/there.txt", "copy.txt"]})

    assert (moved.status_code, copied.status_code, gone.status_code) == (200, 200, 200)
    assert read == [b"moved", b"moved"]
    assert service.ask("GET", "/storage/v1/object/shelf/from.txt").is_error
    assert service.ask("GET", "/storage/v1/object/shelf/copy.txt").is_error


def test_a_signed_url_serves_a_private_file_for_seven_days_at_most(
    seed_platform: SeedPlatform, bucket: str
) -> None:
    at = "/storage/v1/object/sign/shelf/z.txt"
    signed = seed_platform.service.result("POST", at, {"expiresIn": 604800})["signedURL"]

    assert signed.startswith("/object/sign/shelf/z.txt?token=")
    assert seed_platform.client.get(f"/storage/v1{signed}").content == b"z.txt"
    assert seed_platform.client.get("/storage/v1/object/sign/shelf/z.txt?token=nonsense").is_error
    for wrong in ({"expiresIn": 604801}, {"expiresIn": 0}, {}):
        assert seed_platform.service.ask("POST", at, wrong).status_code == 400, wrong


def test_a_signed_upload_url_takes_a_file(seed_platform: SeedPlatform, bucket: str) -> None:
    signed = seed_platform.service.result(
        "POST", "/storage/v1/object/upload/sign/shelf/signed.txt", {"expiresIn": 600}
    )

    sent = seed_platform.client.put(
        f"/storage/v1{signed['url']}", content=b"signed", headers={"content-type": "text/plain"}
    )

    assert sent.status_code == 200
    assert seed_platform.service.ask("GET", "/storage/v1/object/shelf/signed.txt").content == b"signed"


@pytest.mark.parametrize("form", ["webp", "jpeg", "png", "avif"])
@pytest.mark.parametrize("resize", ["cover", "contain", "fill"])
def test_an_image_is_rendered(seed_platform: SeedPlatform, bucket: str, form: str, resize: str) -> None:
    from tests.workers.images.samples import opened, quarters, written

    upload(
        seed_platform.service,
        "shelf/picture.png",
        written(quarters(80, 40), "png"),
        content_type="image/png",
        x_upsert="true",
    )

    answer = seed_platform.service.ask(
        "GET",
        "/storage/v1/render/image/authenticated/shelf/picture.png"
        f"?width=20&height=20&resize={resize}&format={form}&quality=1",
    )

    image = opened(answer.content)
    assert (answer.status_code, answer.headers["content-type"]) == (200, f"image/{form}")
    assert (image.width, image.height) == ((20, 10) if resize == "contain" else (20, 20))


@pytest.mark.parametrize("query", ["quality=0", "quality=101", "resize=other", "width=x", "format=other"])
def test_an_image_cannot_be_had_otherwise(service: Caller, bucket: str, query: str) -> None:
    answer = service.ask("GET", f"/storage/v1/render/image/authenticated/shelf/picture.png?{query}")

    assert answer.status_code == 400


def test_policies_on_the_objects_table_decide(seed_platform: SeedPlatform, ada: Person) -> None:
    seed_platform.service.result("POST", "/storage/v1/bucket", {"name": "own"})
    other, mine = signed_up(seed_platform), ada.session["user"]["id"]

    assert upload(ada.caller, f"own/{mine}/a.txt", b"mine").status_code == 200
    assert upload(other.caller, f"own/{mine}/b.txt").is_error
    assert upload(seed_platform.anon, f"own/{mine}/b.txt").is_error
    assert ada.caller.ask("GET", f"/storage/v1/object/own/{mine}/a.txt").content == b"mine"
    assert other.caller.ask("GET", f"/storage/v1/object/own/{mine}/a.txt").is_error
    other.caller.ask("DELETE", "/storage/v1/object/own", {"prefixes": [f"{mine}/a.txt"]})
    assert ada.caller.ask("GET", f"/storage/v1/object/own/{mine}/a.txt").content == b"mine"
    assert (
        ada.caller.ask("DELETE", "/storage/v1/object/own", {"prefixes": [f"{mine}/a.txt"]}).status_code == 200
    )
    assert ada.caller.ask("GET", f"/storage/v1/object/own/{mine}/a.txt").is_error
