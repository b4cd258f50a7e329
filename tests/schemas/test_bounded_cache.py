import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.bounded_cache import BoundedCache


def test_a_further_entry_evicts_the_oldest() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    assert cache.put("a", 1) is None
    assert cache.put("b", 2) is None
    assert cache.put("c", 3) == ("a", 1)
    assert list(cache.items()) == [("b", 2), ("c", 3)]


def test_storing_a_key_again_evicts_nothing_and_makes_it_the_newest() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.put("a", 3) is None
    assert list(cache.items()) == [("b", 2), ("a", 3)]


def test_refreshing_an_entry_keeps_it_from_eviction() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.refresh("a") == 1
    assert cache.refresh("unknown") is None
    assert cache.put("c", 3) == ("b", 2)


def test_reading_does_not_change_the_age() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    assert cache.get("unknown", 7) == 7
    assert cache.put("c", 3) == ("a", 1)
    assert "a" not in cache


def test_entries_can_be_removed() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.put("a", 1)
    assert cache.pop("a") == 1
    assert cache.pop("a") is None
    assert cache.pop("a", 5) == 5
    cache.put("b", 2)
    cache.clear()
    assert len(cache) == 0
    assert list(cache) == []


def test_a_cache_without_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        BoundedCache(0)


@given(most=st.integers(1, 5), keys=st.lists(st.integers(0, 9)))
def test_it_holds_the_keys_that_were_stored_last(most: int, keys: list[int]) -> None:
    cache: BoundedCache[int, int] = BoundedCache(most)
    for key in keys:
        cache.put(key, key)
    last_first = list(dict.fromkeys(reversed(keys)))[:most]
    assert list(cache) == last_first[::-1]
