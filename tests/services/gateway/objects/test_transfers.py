"""Which requests of storage carry the bytes of an object: the gateway and the pool's routes must agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.objects.resumable.uploads import is_resumable
from services.gateway.objects.transfers import carries_object
from workers.routing import RouteMatch
from workers.storage.endpoints import s3, upload
from workers.storage.routes import ROUTER

_UPLOADS = (upload.create, upload.replace, upload.signed)
_SEGMENTS = st.sampled_from(
    ["object", "%6fbject", "sign", "list", "list-v2", "upload", "move", "copy", "public", "authenticated", "info", "a", "b.txt", ""]
)  # fmt: skip


@given(st.sampled_from(["POST", "PUT"]), st.lists(_SEGMENTS, min_size=1, max_size=6))
def test_a_body_is_taken_exactly_where_the_pool_grants_an_upload(method: str, segments: list[str]) -> None:
    path = "/" + "/".join(segments)
    route = ROUTER.find(method, path)
    if is_resumable(path) or (isinstance(route, RouteMatch) and route.endpoint.endpoint is s3.answer):
        return
    is_upload = isinstance(route, RouteMatch) and route.endpoint.endpoint in _UPLOADS

    assert carries_object(method, path) or not is_upload, "the bytes would be lost"
    if isinstance(route, RouteMatch):
        assert carries_object(method, path) == is_upload


@pytest.mark.parametrize("bucket", ["public", "authenticated", "info", "move", "copy", "upload"])
def test_buckets_named_like_routes_take_objects(bucket: str) -> None:
    assert carries_object("POST", f"/object/{bucket}/a.txt")
    assert carries_object("PUT", f"/object/{bucket}/a.txt")
