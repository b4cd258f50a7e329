"""Presence as data: whatever the edges tell, in whatever pieces, members who apply the differences see the state."""

from collections.abc import Callable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from services.realtime.topics.presence import Presence, PresenceDiff, PresenceSet, is_object

steps = st.lists(
    st.tuples(
        st.sampled_from(["join", "leave", "replace"]),
        st.sampled_from(["e1", "e2"]),
        st.sampled_from(["a", "b"]),
        st.integers(0, 5),
    ),
    max_size=30,
)


def applied(seen: dict[str, dict[str, object]], diff: bytes) -> None:
    """Merge a difference as the official client does."""
    told = msgspec.json.decode(diff)
    for key, value in told["joins"].items():
        for meta in value["metas"]:
            seen.setdefault(key, {})[meta["phx_ref"]] = meta
    for key, value in told["leaves"].items():
        for meta in value["metas"]:
            seen.get(key, {}).pop(meta["phx_ref"], None)
            if not seen.get(key, {1: 1}):
                del seen[key]


def run(steps: list[tuple[str, str, str, int]], tell: Callable[[PresenceDiff], None]) -> PresenceSet:
    presences = PresenceSet()
    for kind, edge, key, number in steps:
        entry = Presence(key, f"{edge}{number}{key}", b'{"n":%d}' % number)
        match kind:
            case "join":
                tell(presences.change(edge, [entry], []))
            case "leave":
                tell(presences.change(edge, [], [entry.ref]))
            case "replace":
                tell(presences.replace(edge, [entry] if number % 2 else []))
    return presences


@given(steps, st.integers(1, 5))
def test_gathered_differences_lead_to_the_state(steps: list[tuple[str, str, str, int]], every: int) -> None:
    seen: dict[str, dict[str, object]] = {}
    untold, count = PresenceDiff(), 0

    def tell(diff: PresenceDiff) -> None:
        nonlocal untold, count
        untold.add(diff)
        count += 1
        if count % every == 0:
            applied(seen, untold.payload())
            untold = PresenceDiff()

    presences = run(steps, tell)
    applied(seen, untold.payload())

    state = msgspec.json.decode(presences.state())
    assert {key: sorted(metas) for key, metas in seen.items()} == {
        key: sorted(meta["phx_ref"] for meta in value["metas"]) for key, value in state.items()
    }
    assert len(presences) == sum(map(len, seen.values()))


def test_what_came_and_went_is_not_told() -> None:
    entry = Presence("a", "1", b"{}")
    diff = PresenceDiff([entry])
    diff.add(PresenceDiff((), [entry]))

    assert not diff


def test_references_in_a_payload_are_replaced() -> None:
    shown = Presence("a", "mine", b'{"phx_ref":"theirs","phx_ref_prev":"x","n":1e400}').as_meta()

    assert shown["phx_ref"] == "mine"
    assert b"1e400" in msgspec.json.encode(shown)


def test_only_objects_are_tracked() -> None:
    assert is_object(b'{"a": [1]}')
    assert not any(map(is_object, (b"[]", b"1", b'"x"', b"null", b"{", b"[" * 10_000)))
