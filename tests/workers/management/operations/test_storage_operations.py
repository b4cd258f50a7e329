"""Operations on buckets and objects through the pool storage of a running platform."""

import base64
import urllib.request

import pytest

from tests.platform import Platform
from tests.workers.management.operations.conftest import RemoteAdministrator

_HOSTILE = ("../secrets", "..", "a'b", 'a"b', "a\nb", "a/b", "%2e%2e", "a\x00b", "x" * 2000, "\ud800")


def _put(url: str, data: bytes, headers: dict[str, str] | None = None) -> int:
    request = urllib.request.Request(url, data, headers or {}, method="PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status


def _upload(developer: RemoteAdministrator, bucket: str, *names: str) -> None:
    for name in names:
        signed = developer.run("storage.sign_upload", bucket=bucket, name=name)
        assert _put(signed["url"], name.encode(), {"content-type": "text/plain"}) == 200


def test_buckets_are_listed_with_size_and_count_by_pages(developer: RemoteAdministrator) -> None:
    for name in ("pages-a", "pages-b", "pages-c"):
        developer.run("storage.create_bucket", bucket=name)
    developer.run("storage.change_bucket", bucket="pages-b", public=True, quota=1000, file_size_limit=500)
    _upload(developer, "pages-b", "one.txt", "folder/two.txt")

    first = developer.run("storage.buckets", search="PAGES-", limit=2)
    second = developer.run("storage.buckets", search="PAGES-", limit=2, after=first["next"])

    assert [row["id"] for row in first["rows"]] == ["pages-a", "pages-b"]
    assert [row["id"] for row in second["rows"]] == ["pages-c"]
    assert second["next"] is None
    row = first["rows"][1]
    assert (row["objects"], row["bytes"]) == (2, len("one.txt") + len("folder/two.txt"))
    assert (row["public"], row["quota"], row["file_size_limit"]) == (True, 1000, 500)
    assert developer.run("storage.usage")["objects"] >= 2


def test_a_change_leaves_what_it_does_not_name_and_null_removes(developer: RemoteAdministrator) -> None:
    developer.run("storage.create_bucket", bucket="limits", file_size_limit=500, quota=900, public=True)
    developer.run("storage.change_bucket", bucket="limits", quota=None)

    [row] = developer.run("storage.buckets", search="limits")["rows"]

    assert (row["file_size_limit"], row["quota"], row["public"]) == (500, None, True)


def test_a_folder_is_listed_with_its_folders_by_pages(developer: RemoteAdministrator) -> None:
    developer.run("storage.create_bucket", bucket="tree")
    _upload(developer, "tree", "a.txt", "dir/b.txt", "dir/deep/c.txt", "dir/d.txt", "z.txt")

    root = developer.run("storage.objects", bucket="tree")
    page = developer.run("storage.objects", bucket="tree", folder="dir", limit=2)
    rest = developer.run("storage.objects", bucket="tree", folder="dir/", limit=2, after=page["next"])

    assert [entry["name"] for entry in root["objects"]] == ["a.txt", "z.txt"]
    assert root["folders"] == ["dir/"]
    names = [*page["folders"], *rest["folders"], *(row["name"] for row in page["objects"] + rest["objects"])]
    assert sorted(names) == ["dir/b.txt", "dir/d.txt", "dir/deep/"]
    assert rest["next"] is None


def test_objects_are_searched_moved_copied_and_deleted(developer: RemoteAdministrator) -> None:
    developer.run("storage.create_bucket", bucket="work")
    developer.run("storage.create_bucket", bucket="other")
    _upload(developer, "work", "one's.txt", "dir/two.txt", "dir/Three.txt")

    found = developer.run("storage.search", bucket="work", search="THREE")
    pages = developer.run("storage.search", bucket="work", prefix="dir/", limit=1)
    rest = developer.run("storage.search", bucket="work", prefix="dir/", limit=1, after=pages["next"])
    developer.run("storage.move", bucket="work", name="one's.txt", to_name="new.txt")
    developer.run("storage.copy", bucket="work", name="new.txt", to_name="copy.txt", to_bucket="other")
    developer.run("storage.move", bucket="work", name="dir/", to_name="moved")
    deleted = developer.run("storage.delete_objects", bucket="work", names=["moved/two.txt", "nothing"])

    assert [row["name"] for row in found["rows"]] == ["dir/Three.txt"]
    assert [pages["rows"][0]["name"], rest["rows"][0]["name"]] == ["dir/Three.txt", "dir/two.txt"]
    assert deleted == {"names": ["moved/two.txt"]}
    left = developer.run("storage.search", bucket="work")["rows"]
    assert [row["name"] for row in left] == ["moved/Three.txt", "new.txt"]
    details = developer.run("storage.object", bucket="other", name="copy.txt")
    assert (details["bytes"], details["mime_type"]) == (len("one's.txt"), "text/plain")


def test_signed_addresses_read_and_write_one_object(developer: RemoteAdministrator) -> None:
    developer.run("storage.create_bucket", bucket="signed")
    _upload(developer, "signed", "a file?#ä.txt")
    again = developer.run("storage.sign_upload", bucket="signed", name="a file?#ä.txt", replaces=True)

    url = developer.run("storage.sign", bucket="signed", name="a file?#ä.txt", lasts_s=60)["url"]

    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.read().decode() == "a file?#ä.txt"
    assert _put(again["url"], b"again", {"content-type": "text/plain"}) == 200
    assert again["resumable_url"].endswith("/storage/v1/upload/resumable/sign")
    assert again["headers"]["x-signature"] == again["token"]


def test_a_resumable_upload_needs_only_what_the_operation_returns(developer: RemoteAdministrator) -> None:
    developer.run("storage.create_bucket", bucket="resumed")
    signed = developer.run("storage.sign_upload", bucket="resumed", name="big.bin")
    metadata = ",".join(
        f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in signed["metadata"].items()
    )
    headers = {**signed["headers"], "upload-length": "4", "upload-metadata": metadata}
    request = urllib.request.Request(signed["resumable_url"], b"", headers, method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        location = answer.headers["location"]
    [upload] = developer.run("storage.uploads", bucket="resumed")["rows"]
    patch = {
        **signed["headers"],
        "upload-offset": "0",
        "content-type": "application/offset+octet-stream",
    }
    with urllib.request.urlopen(
        urllib.request.Request(location, b"four", patch, method="PATCH"), timeout=30
    ) as answer:
        assert answer.status == 204

    assert (upload["protocol"], upload["bytes_stored"], upload["bytes_announced"]) == ("resumable", 0, 4)
    assert developer.run("storage.object", bucket="resumed", name="big.bin")["bytes"] == 4
    assert developer.run("storage.uploads", bucket="resumed")["rows"] == []


def test_public_and_rendition_addresses(developer: RemoteAdministrator) -> None:
    developer.run("storage.create_bucket", bucket="open", public=True)
    developer.run("storage.create_bucket", bucket="closed")
    _upload(developer, "open", "a.txt")
    _upload(developer, "closed", "a.txt")

    url = developer.run("storage.public_url", bucket="open", name="a.txt")["url"]
    public = developer.run("storage.rendition_url", bucket="open", name="a.png", width=20, resize="fill")
    private = developer.run("storage.rendition_url", bucket="closed", name="a.txt", width=20)

    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.read() == b"a.txt"
    assert public["url"].endswith("/storage/v1/render/image/public/open/a.png?width=20&resize=fill")
    assert "/render/image/sign/closed/a.txt?token=" in private["url"]
    assert developer.refused("storage.public_url", bucket="closed", name="a.txt") == (
        400,
        "invalid_arguments",
    )
    assert developer.refused("storage.rendition_url", bucket="open", name="a.png", resize="evil")[0] == 400


def test_a_bucket_is_emptied_and_deleted(developer: RemoteAdministrator) -> None:
    developer.run("storage.create_bucket", bucket="gone")
    _upload(developer, "gone", "a.txt")

    assert developer.refused("storage.delete_bucket", bucket="gone")[0] == 409
    developer.run("storage.empty_bucket", bucket="gone")
    developer.run("storage.delete_bucket", bucket="gone")

    assert developer.run("storage.buckets", search="gone")["rows"] == []
    assert developer.refused("storage.delete_bucket", bucket="gone")[0] == 404


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_names_reach_nothing_else(
    developer: RemoteAdministrator, managed: Platform, name: str
) -> None:
    before = developer.run("storage.usage")["objects"]

    for operation in ("storage.empty_bucket", "storage.delete_bucket"):
        assert developer.refused(operation, bucket=name)[0] in (400, 404), operation
    assert developer.refused("storage.objects", bucket="work", after=name)[0] == 400
    assert developer.refused("storage.buckets", after=name) == (400, "invalid_arguments")
    for operation, extra in (
        ("storage.objects", {}),
        ("storage.search", {"search": "x"}),
        ("storage.sign", {"name": "x"}),
        ("storage.sign", {"name": name, "bucket": "work"}),
        ("storage.object", {"name": name}),
        ("storage.delete_objects", {"names": [name]}),
        ("storage.move", {"name": name, "to_name": name}),
    ):
        status, body = developer.send(operation, {"bucket": name, **extra})
        assert status in (400, 404) or (
            status == 200 and body in ({"names": []}, {"rows": [], "next": None})
        ), (
            operation,
            status,
            body,
        )

    assert developer.run("storage.usage")["objects"] == before


def test_a_reader_looks_and_changes_nothing(reader: RemoteAdministrator) -> None:
    assert reader.run("storage.buckets")["rows"] is not None
    assert reader.refused("storage.create_bucket", bucket="mine") == (403, "no_right")
    assert reader.refused("storage.sign_upload", bucket="work", name="x") == (403, "no_right")
