import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.database.schema_cache.similar_names import best_match


@pytest.mark.parametrize(
    ("name", "candidates", "threshold", "expected"),
    [
        ("project", ["clients", "projects", "tasks"], 0.75, "projects"),
        ("PROJECTS", ["clients", "projects"], 0.75, "projects"),
        ("projectx", ["projects", "project_x"], 0.75, "project_x"),
        ("unrelated", ["clients", "projects"], 0.75, None),
        ("sayhell", ["sayhello", "sayhello_variadic"], 0.75, "sayhello"),
        ("proj", ["projects"], 0.75, None),
        ("proj", ["projects"], 0.33, "projects"),
        ("ab", ["ba", "abc"], 0.33, "abc"),
        ("num", ["a, b", "num, str"], 0.33, "num, str"),
        ("", ["a", "b"], 0.33, None),
        ("x", [], 0.0, None),
        ("گفته", ["گفت", "دیگر"], 0.5, "گفت"),
    ],
)
def test_nearest_name_is_found_when_it_is_near_enough(name, candidates, threshold, expected):
    found = best_match(name, candidates, threshold)

    assert found == expected


def test_equal_name_in_other_case_wins_over_a_nearer_spelling():
    assert best_match("Films", ["film", "FILMS", "films_"], 0.33) == "FILMS"


def test_of_equally_good_names_the_first_is_taken():
    assert best_match("cat", ["cats", "cath"], 0.5) == "cats"


def test_score_at_the_threshold_is_enough():
    assert best_match("abcd", ["abce"], 0.75) == "abce"
    assert best_match("abcd", ["abce"], 0.7501) is None


def test_names_that_share_only_pairs_of_signs_are_found_by_pairs():
    assert best_match("xaby", ["qabz"], 0.5) == "qabz"


def test_overlong_texts_get_no_match():
    assert best_match("a" * 5000, ["a" * 4999, "a" * 250], 0.1) is None
    assert best_match("a" * 200, ["a" * 5000], 0.1) is None


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=8), st.floats(0.01, 1))
def test_any_text_gives_a_candidate_or_nothing(name, candidates, threshold):
    found = best_match(name, candidates, threshold)

    assert found is None or found in candidates


@given(st.text(min_size=1, max_size=30), st.lists(st.text(max_size=30), max_size=8))
def test_a_name_that_exists_matches_itself_up_to_case(name, others):
    found = best_match(name, [*others, name], 1.0)

    assert found is not None
    assert found.lower() == name.lower()
