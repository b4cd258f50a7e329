"""The rim: routes that are not there, callers that are not known, the shape of every refusal."""

import json

import pytest

from schemas.caller import RejectedCaller, TokenFault
from tests.workers.storage.storage_pool import (
    ALICE,
    NOBODY,
    SERVICE,
    StoragePool,
    error_of,
    refusal,
    shown,
    told,
    user,
)
from workers.routing import RouteMatch, ServiceRoute
from workers.storage.routes import ROUTER, ROUTES, EndpointCall


async def test_unknown_route_below_a_known_area_is_404_with_a_text(storage_pool: StoragePool) -> None:
    response = await storage_pool.send("GET", "/object/x")

    assert error_of(response) == "404 404 Not Found: Route GET:/object/x not found (InvalidRequest)"


@pytest.mark.parametrize("path", ["/iceberg/v1/config", "/vector/x", "/", "/nothing"])
async def test_unknown_area_is_404_with_a_number(storage_pool: StoragePool, path: str) -> None:
    response = await storage_pool.send("GET", path)

    assert response.status == 404
    assert shown(response) == {
        "message": f"Route GET:{path} not found",
        "error": "Not Found",
        "statusCode": 404,
    }


async def test_method_that_is_not_taken_is_an_unknown_route(storage_pool: StoragePool) -> None:
    response = await storage_pool.send("PATCH", "/bucket/b")

    assert (response.status, shown(response)["message"]) == (404, "Route PATCH:/bucket/b not found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/bucket"),
        ("POST", "/bucket"),
        ("GET", "/object/authenticated/b/k"),
        ("POST", "/object/list/b"),
        ("POST", "/object/b/k"),
        ("DELETE", "/object/b/k"),
        ("POST", "/object/sign/b/k"),
        ("GET", "/render/image/authenticated/b/k"),
    ],
)
async def test_api_key_alone_is_no_identity(storage_pool: StoragePool, method: str, path: str) -> None:
    for caller in (NOBODY, SERVICE):
        response = await storage_pool.send(method, path, {}, caller, is_known=False, apikey="some-key")

        assert (
            error_of(response)
            == "400 400 Error: headers must have required property 'authorization' (InvalidRequest)"
        )


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (RejectedCaller(TokenFault.UNDECODABLE, "Expected 3 parts in JWT; got 1"), "Invalid Compact JWS"),
        (
            RejectedCaller(TokenFault.UNDECODABLE, "No suitable key or wrong key type"),
            "signature verification failed",
        ),
        (RejectedCaller(TokenFault.CLAIMS, "JWT expired"), '"exp" claim timestamp check failed: jwt expired'),
        (RejectedCaller(TokenFault.CLAIMS, "JWT not yet valid"), '"nbf" claim timestamp check failed'),
        (RejectedCaller(TokenFault.NO_SECRET, "Server lacks JWT secret"), "Server lacks JWT secret"),
        (
            RejectedCaller(TokenFault.UNDECODABLE, "Wrong or unsupported encoding algorithm"),
            '"alg" (Algorithm) Header Parameter value not allowed',
        ),
    ],
)
async def test_refused_token_is_told_in_known_words(
    storage_pool: StoragePool, refused: RejectedCaller, message: str
) -> None:
    response = await storage_pool.send("GET", "/bucket", None, refused)

    assert error_of(response) == f"400 403 Unauthorized: {message} (AccessDenied)"


async def test_role_that_the_database_does_not_know_is_denied(storage_pool: StoragePool) -> None:
    found = await storage_pool.refused("GET", "/bucket", None, user(role="nobody_made_this"))

    assert found == (403, "AccessDenied", 'role "nobody_made_this" does not exist')


async def test_role_that_may_not_be_taken_is_denied(storage_pool: StoragePool) -> None:
    found = await storage_pool.refused("GET", "/bucket", None, user(role="supabase_admin"))

    assert found == (403, "AccessDenied", 'permission denied to set role "supabase_admin"')


async def test_subject_that_is_no_uuid_fails_in_policies_that_cast_it(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "select", using="owner = (auth.jwt() ->> 'sub')::uuid")
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")

    found = await storage_pool.refused(
        "GET", f"/object/authenticated/{bucket}/a.txt", None, user("not-a-uuid")
    )

    assert found[:2] == (400, "InvalidParameter")


async def test_policies_see_the_request(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    check = (
        "current_setting('request.method') = 'POST'"
        " and current_setting('request.path') = '/object/' || bucket_id || '/a.txt'"
        " and current_setting('request.headers')::json ->> 'x-team' = 'blue'"
        " and storage.operation() = 'storage.object.upload' and storage.allow_only_operation('object.upload')"
        " and current_setting('request.jwt.claim.role') = 'authenticated'"
        " and current_setting('request.jwt.claim.sub') = auth.uid()::text"
    )
    await storage_pool.policy(bucket, "insert", check=check)

    assert refusal(await storage_pool.put(f"/object/{bucket}/a.txt", caller=ALICE))[0] == 403
    assert (await storage_pool.put(f"/object/{bucket}/a.txt", caller=ALICE, x_team="blue")).status == 200


async def test_body_that_is_no_json_is_refused(storage_pool: StoragePool) -> None:
    assert (await storage_pool.refused("POST", "/bucket", b"{"))[:2] == (400, "InvalidRequest")
    assert await storage_pool.refused("POST", "/bucket", b"[]") == (
        400,
        "InvalidRequest",
        "body must be object",
    )


async def test_endless_body_is_refused(storage_pool: StoragePool) -> None:
    found = await storage_pool.refused("POST", "/bucket", b" " * (2 * 1024 * 1024 + 1))

    assert found[:2] == (413, "EntityTooLarge")


async def test_text_with_a_nul_is_refused(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()

    found = await storage_pool.refused("POST", f"/object/list/{bucket}", {"prefix": "", "search": "a\0"})

    assert found[:2] == (400, "InvalidRequest")


async def test_status_version_and_health_are_open(storage_pool: StoragePool) -> None:
    status = await storage_pool.send("GET", "/status", None, NOBODY, is_known=False)
    version = await storage_pool.send("GET", "/version", None, NOBODY, is_known=False)
    health = await storage_pool.send("GET", "/health", None, NOBODY, is_known=False)

    assert (status.status, status.body) == (200, b"")
    assert version.status == 200
    assert version.body
    assert told(version, "content-type") == "text/plain; charset=utf-8"
    assert json.loads(health.body) == {"healthy": True}


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.method == "GET"], ids=lambda route: route.pattern
)
def test_head_is_taken_where_get_is(route: ServiceRoute[EndpointCall]) -> None:
    path = route.pattern.replace("{bucket}", "b").replace("{key...}", "k").replace("{path...}", "b/k")

    head = ROUTER.find("HEAD", path)

    assert isinstance(head, RouteMatch)
    assert head.endpoint.caller is route.endpoint.caller


async def test_head_of_what_is_no_object_has_the_status_of_get(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    paths = [
        "/status",
        "/version",
        "/health",
        "/bucket",
        "/bucket/",
        f"/bucket/{bucket}",
        f"/bucket/{bucket}/size",
    ]
    paths += [f"/object/info/{bucket}/a", f"/object/info/authenticated/{bucket}/a"]

    heads = [await storage_pool.send("HEAD", path) for path in paths]

    assert [response.status for response in heads] == [200] * len(paths)
    assert told(heads[-1], "etag") == '"5eb63bbbe01eeed093cb22bb8f5acdc3"'
    assert (await storage_pool.send("HEAD", "/bucket/nowhere")).status == 400


@pytest.mark.parametrize("path", ["/cdn", "/cdn/", "/cdn/b", "/cdn/b/", "/cdn/b/k"])
async def test_purge_is_taken_with_and_without_a_slash(storage_pool: StoragePool, path: str) -> None:
    assert await storage_pool.ok("DELETE", path) == {"message": "success", "statusCode": "200"}
