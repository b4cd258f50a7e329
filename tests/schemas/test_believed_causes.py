"""A signed cause counts once, in time; what is forgotten does not count again."""

from schemas.believed_causes import BelievedCauses
from schemas.causes import SignedCause

NOW_MS = 1_700_000_000_000


def cause(nonce: str, age_s: float = 1.0) -> SignedCause:
    return SignedCause(nonce, NOW_MS - int(age_s * 1000), "r", "anon", "", "rest", "POST /a")


def test_one_transaction_has_it_and_no_other():
    believed = BelievedCauses()

    assert believed.believe(cause("a"), 10, NOW_MS * 1000)
    assert believed.believe(cause("a"), 10, NOW_MS * 1000)  # a later batch of the same transaction
    assert not believed.believe(cause("a"), 11, NOW_MS * 1000)
    assert not believed.believe(cause("old", 121), 12, NOW_MS * 1000)
    assert not believed.believe(cause("ahead", -61), 13, NOW_MS * 1000)


def test_what_was_believed_before_counts_for_the_next_leader():
    believed = BelievedCauses()
    believed.remember("a", NOW_MS, 10)

    assert not believed.believe(cause("a"), 11, NOW_MS * 1000)
    assert believed.believe(cause("a"), 10, NOW_MS * 1000)


def test_a_full_memory_believes_nothing_that_it_may_have_forgotten():
    believed = BelievedCauses(most=2)
    for number, nonce in enumerate("abc"):
        assert believed.believe(cause(nonce, 50 - number), number, NOW_MS * 1000)

    assert not believed.believe(cause("a", 50), 9, NOW_MS * 1000)
    assert believed.believe(cause("d", 1), 9, NOW_MS * 1000)
