"""What edges are told after requests: enough that no stored answer outlives a change made through the API."""

import unicodedata

import pytest

from schemas.blobs import BlobReference, UploadGrant
from schemas.http import Request, Response
from schemas.storage_events import ObjectsChanged
from workers.routing import RouteMatch
from workers.storage.events.announce import changed_objects
from workers.storage.routes import ROUTER

ALL = ObjectsChanged()
GRANT = Response(200, grant=UploadGrant(BlobReference("b", ""), 1))


def announced(
    method: str, path: str, response: Response | None = None, **headers: str
) -> ObjectsChanged | None:
    route = ROUTER.find(method, path)
    assert isinstance(route, RouteMatch)
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    request = Request("r", method, path, headers=pairs)
    return changed_objects(route.endpoint.operation, route.parameters, request, response)


@pytest.mark.parametrize(
    ("method", "path", "change"),
    [
        ("GET", "/object/public/b/a", None),
        ("HEAD", "/object/b/a", None),
        ("GET", "/s3/b/a", None),
        ("POST", "/object/list/b", None),
        ("POST", "/object/list-v2/b", None),
        ("POST", "/object/sign/b/a", None),
        ("POST", "/object/sign/b", None),
        ("POST", "/object/upload/sign/b/a", None),
        ("POST", "/bucket", None),
        ("POST", "/s3-keys", None),
        ("POST", "/object/b/a/c", None),
        ("PUT", "/object/b/a/c", ObjectsChanged("b", "a/c")),
        ("PUT", "/object/upload/sign/b/a", ObjectsChanged("b", "a")),
        ("PUT", "/object/upload/sign/b/a%20c", ObjectsChanged("b", "a c")),
        ("PUT", "/object/upload/sign/b/a%2520c", ALL),
        ("DELETE", "/object/b/a%20c", ObjectsChanged("b", "a c")),
        ("DELETE", "/object/b", ObjectsChanged("b")),
        ("PUT", "/bucket/b", ObjectsChanged("b")),
        ("DELETE", "/bucket/b", ObjectsChanged("b")),
        ("POST", "/bucket/b/empty", ObjectsChanged("b")),
        ("POST", "/object/move", ALL),
        ("POST", "/object/copy", ALL),
        ("POST", "/upload/resumable", ALL),
        ("PATCH", "/upload/resumable/x", ALL),
        ("PUT", "/s3/b/a", ObjectsChanged("b")),
        ("DELETE", "/s3/b/a", ObjectsChanged("b")),
        ("POST", "/s3/b", ObjectsChanged("b")),
        ("POST", "/s3", ALL),
    ],
)
@pytest.mark.parametrize("response", [None, Response(200), Response(404)])
def test_a_request_announces_what_it_may_have_changed(
    method: str, path: str, change: ObjectsChanged | None, response: Response | None
) -> None:
    assert announced(method, path, response) == change


def test_an_upload_that_may_replace_announces_its_object() -> None:
    assert announced("POST", "/object/b/a", x_upsert="true") == ObjectsChanged("b", "a")


def test_a_grant_changes_nothing_yet() -> None:
    assert announced("PUT", "/object/b/a", GRANT) is None


def test_names_are_announced_as_rows_have_them() -> None:
    path = "/object/b/" + "".join(f"%{byte:02X}" for byte in unicodedata.normalize("NFD", "é").encode())

    assert announced("DELETE", path) == ObjectsChanged("b", "é")
