"""The judgement of a soak: what is too much, and what grows although it is still little."""

from tests.faults.soak_bounds import MIB, bound_of, judged, verdict_table


def test_a_figure_above_its_bound_or_that_goes_on_growing_is_reported() -> None:
    steady = {"slot lag": 1.0 * MIB, "rows auth.sessions": 10.0}
    samples = [dict(steady) for _ in range(40)]
    samples[3]["slot lag"] = 200.0 * MIB  # once is enough
    for number, sample in enumerate(samples):
        sample["size auth.users"] = number * MIB / 2
        sample["disk nats"] = min(number, 10) * MIB  # fills, and stays full
    samples[-1]["descriptors edges"] = 20.0  # a process of which an earlier sample knows nothing

    verdicts = {each.name: each.is_kept for each in judged(samples)}

    assert verdicts == {
        "slot lag": False, "rows auth.sessions": True, "size auth.users": False, "disk nats": True, "descriptors edges": True,
    }  # fmt: skip
    table = verdict_table(judged(samples))
    assert "| slot lag | 1.0 MiB | 1.0 MiB | 200.0 MiB | 128.0 MiB | **NO** |" in table
    assert "rows auth.sessions" not in table, "what is small throughout is left out"


def test_every_figure_has_a_bound_and_the_nearest_one_counts() -> None:
    assert bound_of("rows headwater.idempotent_answers").why.startswith("api.idempotency.keep")
    assert bound_of("rows auth.saml_assertions") is bound_of("rows public.anything")
