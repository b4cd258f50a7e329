"""The ref of a project has the form that the official command line wants, and depends on cluster and database alone."""

import re

from workers.management.areas.project.ref import ref_of


def test_a_ref_is_twenty_lower_case_letters_and_always_the_same() -> None:
    ref = ref_of("7400000000000000001", "postgres")

    assert re.fullmatch(r"[a-z]{20}", ref)
    assert ref == ref_of("7400000000000000001", "postgres")


def test_other_clusters_and_other_databases_have_other_refs() -> None:
    refs = {ref_of(str(number), name) for number in range(500) for name in ("postgres", "second")}

    assert len(refs) == 1000
