"""When an edge may answer a public download by what the pool said before."""

from dataclasses import dataclass

import pytest

from broker.codec import encode
from broker.nats.protocol import NatsMessage
from schemas.blobs import BlobClaim, BlobReference, LookupReuse
from schemas.http import Response
from schemas.storage_events import ObjectsChanged
from services.gateway.objects.lookup_reuse import LookupCache

PATH = "/object/public/photos/a.png"
VERSION = "00000000-0000-4000-8000-000000000001"


@dataclass
class Time:
    """A clock that a test moves."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def cache(clock: Time) -> LookupCache:
    return LookupCache(clock)


def answer(name: str = "a.png", seconds: float = 1.0, bucket: str = "photos") -> Response:
    reuse = LookupReuse(bucket, name, seconds)
    return Response(200, claim=BlobClaim(BlobReference(bucket, VERSION), 3, reuse=reuse))


def learn(cache: LookupCache, response: Response) -> None:
    lookup = cache.start("GET", PATH, "", {})
    assert lookup is not None
    lookup.store(response)


def stored(cache: LookupCache, query: str = "") -> Response | None:
    lookup = cache.start("GET", PATH, query, {})
    assert lookup is not None
    return lookup.find()


def test_a_response_is_reused_for_its_seconds_and_no_longer(cache: LookupCache, clock: Time) -> None:
    learn(cache, answer(seconds=1.0))

    clock.now += 0.9
    assert stored(cache) == answer(seconds=1.0)
    clock.now += 0.1
    assert stored(cache) is None


def test_another_query_is_another_request(cache: LookupCache) -> None:
    learn(cache, answer())

    assert stored(cache, "download=b.png") is None


def test_what_the_pool_does_not_allow_is_not_stored(cache: LookupCache) -> None:
    learn(cache, Response(404))
    assert stored(cache) is None

    learn(cache, Response(200, claim=BlobClaim(BlobReference("photos", VERSION), 3)))
    assert stored(cache) is None


@pytest.mark.parametrize(
    ("change", "is_forgotten"),
    [
        (ObjectsChanged(), True),
        (ObjectsChanged("photos"), True),
        (ObjectsChanged("photos", "a.png"), True),
        (ObjectsChanged("photos", "b.png"), False),
        (ObjectsChanged("films"), False),
        (ObjectsChanged("films", "a.png"), False),
    ],
)
def test_a_change_ends_the_reuse_of_what_it_names(
    cache: LookupCache, clock: Time, change: ObjectsChanged, is_forgotten: bool
) -> None:
    learn(cache, answer())
    clock.now += 0.1

    cache.note(change)

    assert (stored(cache) is None) is is_forgotten
    clock.now += 0.1
    learn(cache, answer())
    assert stored(cache) is not None, "what the pool said after the change counts"


def test_a_response_that_was_on_its_way_while_the_object_changed_is_not_reused(
    cache: LookupCache, clock: Time
) -> None:
    lookup = cache.start("GET", PATH, "", {})
    assert lookup is not None
    clock.now += 0.01
    cache.note(ObjectsChanged("photos", "a.png"))
    lookup.store(answer())

    assert stored(cache) is None


def test_a_change_in_the_very_moment_of_the_request_ends_the_reuse(cache: LookupCache) -> None:
    learn(cache, answer())
    cache.note(ObjectsChanged("photos", "a.png"))

    assert stored(cache) is None


def test_a_change_that_is_not_remembered_any_more_ends_all_reuse_from_before_it(
    cache: LookupCache, clock: Time
) -> None:
    learn(cache, answer(seconds=60))
    clock.now += 0.1
    cache.note(ObjectsChanged("photos", "a.png"))
    for number in range(5000):
        cache.note(ObjectsChanged("films", str(number)))

    assert stored(cache) is None


@pytest.mark.parametrize("header", ["if-none-match", "if-match", "if-modified-since", "if-unmodified-since"])
def test_a_condition_is_for_the_pool(cache: LookupCache, header: str) -> None:
    assert cache.start("GET", PATH, "", {header: "x"}) is None


@pytest.mark.parametrize(
    ("method", "path"),
    [("HEAD", PATH), ("POST", PATH), ("GET", "/object/photos/a.png"), ("GET", "/object/sign/photos/a.png")],
)
def test_other_requests_are_for_the_pool(cache: LookupCache, method: str, path: str) -> None:
    assert cache.start(method, path, "", {}) is None


def test_a_message_that_cannot_be_read_ends_all_reuse(cache: LookupCache, clock: Time) -> None:
    learn(cache, answer())
    clock.now += 0.1
    cache._on_message(NatsMessage("events.objects", "", encode(ObjectsChanged("films"))))
    assert stored(cache) is not None

    cache._on_message(NatsMessage("events.objects", "", b"?"))

    assert stored(cache) is None


def test_content_belongs_to_a_version_and_to_a_response_that_may_be_reused(
    cache: LookupCache, clock: Time
) -> None:
    learn(cache, answer())
    lookup = cache.start("GET", PATH, "", {})
    assert lookup is not None
    assert lookup.content is None, "nothing is known before `find`"
    assert lookup.find() is not None
    lookup.store_content(b"abc")

    again = cache.start("GET", PATH, "", {})
    assert again is not None
    assert again.find() is not None
    assert again.content == b"abc"
    cache.note(ObjectsChanged("photos", "a.png"))
    after = cache.start("GET", PATH, "", {})
    assert after is not None
    assert (after.find(), after.content) == (None, None)


def test_contents_take_a_bounded_space(cache: LookupCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.gateway.objects.lookup_reuse._MOST_CONTENT", 10)

    cache.store_content("1", b"12345")
    cache.store_content("1", b"12345")
    cache.store_content("2", b"12345")
    assert (cache.content("1"), cache.content("2")) == (b"12345", b"12345")
    cache.store_content("3", b"1")

    assert (cache.content("1"), cache.content("3")) == (None, b"1")
