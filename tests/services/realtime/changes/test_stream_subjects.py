"""Which subjects cover which tables."""

from services.realtime.changes.stream_subjects import subjects_for

GAPS = "gaps.changes"


def test_gaps_are_always_among_them() -> None:
    assert subjects_for(()) == [GAPS]


def test_names_are_written_as_parts_of_subjects() -> None:
    assert subjects_for([("public", "my table")]) == ["changes.public.my=20table", GAPS]


def test_a_wider_one_stands_for_those_it_covers() -> None:
    assert subjects_for([("public", "*"), ("public", "a"), ("s", "b")]) == [
        "changes.public.*",
        "changes.s.b",
        GAPS,
    ]
    assert subjects_for([("*", "a"), ("public", "a"), ("s", "b")]) == ["changes.*.a", "changes.s.b", GAPS]


def test_what_would_overlap_is_read_as_all() -> None:
    assert subjects_for([("*", "a"), ("public", "*")]) == ["changes.>", GAPS]
    assert subjects_for([("*", "*"), ("public", "a")]) == ["changes.>", GAPS]


def test_very_many_are_read_as_all() -> None:
    assert subjects_for([("public", f"t{number}") for number in range(300)]) == ["changes.>", GAPS]
