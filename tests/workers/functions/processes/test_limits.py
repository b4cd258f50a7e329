import os

from schemas.settings.functions import EdgeRuntime, FunctionSettings
from workers.functions.processes.limits import Meter, Sample, Share, limits_of, sample

LIMITS = limits_of(FunctionSettings(memory_mb=10, cpu_ms=1000), EdgeRuntime())
MB = 1024 * 1024


def meter(*shares: Share) -> Meter:
    one = Meter(LIMITS, set(shares))
    assert one.judge(Sample(5.0, 0), 0.0) is None  # what the start took is nobody's
    return one


def test_a_process_that_computes_without_output_is_over_its_limit() -> None:
    one = meter(*(Share() for _ in range(10)))

    verdicts = [one.judge(Sample(5.0 + n * 0.1, 0), n * 0.1) for n in range(1, 12)]

    assert verdicts[-1] == "cpu"
    assert not any(verdicts[:9])


def test_a_loop_is_detected_on_a_busy_machine() -> None:
    one = meter()

    verdicts = [one.judge(Sample(5.0 + 0.1 * n, 0, 0.9 * n), float(n)) for n in range(1, 12)]

    assert verdicts[-1] == "cpu"
    assert not any(verdicts[:9])


def test_output_and_idle_time_reset_the_silent_time() -> None:
    one = meter(Share(), Share(), Share())

    for n in range(1, 25):
        if n % 5 == 0:
            one.progress()
        assert one.judge(Sample(5.0 + n * 0.1, 0), n * 0.1) is None
    assert one.judge(Sample(7.41, 0), 2.9) is None
    assert one.silent_s == 0


def test_a_request_is_limited_to_its_share() -> None:
    share = Share()
    one = meter(share)

    for n in range(1, 20):
        one.progress()
        if one.judge(Sample(5.0 + n * 0.1, 0), n * 0.1):
            break

    assert 1.0 < share.cpu_s < 1.2


def test_a_stopped_process_is_killed_after_three_seconds_unless_it_continues() -> None:
    stopped, briefly = meter(Share()), meter(Share())

    verdicts = [stopped.judge(Sample(5.0, 0, is_stopped=True), n * 0.1) for n in range(1, 33)]
    goes_on = [briefly.judge(Sample(5.0, 0, is_stopped=n % 20 != 0), n * 0.1) for n in range(1, 100)]

    assert verdicts[-1] == "stopped"
    assert not any(verdicts[:29])
    assert not any(goes_on)


def test_time_in_which_the_worker_itself_was_stopped_does_not_count() -> None:
    one = meter(Share())

    assert one.judge(Sample(5.0, 0, is_stopped=True), 1000.0) is None


def test_memory_and_age_are_limits() -> None:
    assert meter().judge(Sample(5.0, 11 * MB), 0.1) == "memory"
    assert meter().judge(Sample(4000.0, MB), 4000.0) in ("cpu", "age")
    assert meter().judge(Sample(4000.0, MB), 1e6) == "age"


def test_a_running_process_can_be_sampled() -> None:
    seen = sample(os.getpid())

    assert seen is not None
    assert seen.cpu_s > 0
    assert seen.memory_bytes > MB
    assert sample(2**22 + 1) is None


def test_a_functions_own_limits_win() -> None:
    own = limits_of(FunctionSettings(timeout_s=500), EdgeRuntime(policy="oneshot", memory_mb=64))

    assert (own.memory_mb, own.timeout_s, own.wall_s, own.concurrency) == (64, 500, 500, 1)
