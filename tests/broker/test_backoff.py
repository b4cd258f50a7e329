from broker.backoff import Backoff


def test_pauses_double_up_to_the_longest_one() -> None:
    backoff = Backoff(0.1, 0.5, jitter=0.0)
    assert [round(backoff.next_s(), 3) for _ in range(5)] == [0.1, 0.2, 0.4, 0.5, 0.5]


def test_a_reset_starts_with_the_first_pause_again() -> None:
    backoff = Backoff(0.1, 0.5, jitter=0.0)
    backoff.next_s()
    backoff.next_s()
    backoff.reset()
    assert backoff.next_s() == 0.1


def test_jitter_shortens_a_pause_and_never_lengthens_it() -> None:
    pauses = [Backoff(1.0, 8.0, jitter=0.3).next_s() for _ in range(200)]
    assert all(0.7 <= pause <= 1.0 for pause in pauses)
    assert len(set(pauses)) > 1


def test_the_factor_can_be_chosen() -> None:
    backoff = Backoff(1.0, 10.0, factor=1.5, jitter=0.0)
    assert [backoff.next_s() for _ in range(3)] == [1.0, 1.5, 2.25]


def test_the_longest_pause_is_known_before_it_comes() -> None:
    backoff = Backoff(1.0, 2.0)
    assert not backoff.is_longest
    backoff.next_s()
    assert backoff.is_longest
    backoff.reset()
    assert not backoff.is_longest


async def test_waiting_uses_up_a_pause() -> None:
    backoff = Backoff(0.001, 1.0, jitter=0.0)
    await backoff.wait()
    assert backoff.next_s() == 0.002
