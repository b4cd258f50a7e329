"""Users of functions."""

import os
from pathlib import Path

import pytest

from broker.processes.confinement import FIRST_UID, LAST_UID, is_mapped
from workers.functions.sandbox.users import FunctionUsers


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs functions as others")
def test_each_function_has_a_user_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    names = [f"f{number}" for number in range(300)]
    first = {name: FunctionUsers(tmp_path).user_of(name) for name in names}
    again = FunctionUsers(tmp_path)

    assert {name: again.user_of(name) for name in names} == first
    uids = {user.uid for user in first.values() if user is not None}
    assert len(uids) == len(names)
    assert all(FIRST_UID <= uid <= LAST_UID for uid in uids)


def test_ids_are_mapped_or_not(tmp_path: Path) -> None:
    (tmp_path / "few").write_text("         0     100000      1000\n")
    (tmp_path / "all").write_text("         0          0 4294967295\n")

    assert not is_mapped(str(tmp_path / "few"), FIRST_UID, LAST_UID)
    assert is_mapped(str(tmp_path / "all"), FIRST_UID, LAST_UID)
    assert is_mapped(str(tmp_path / "none"), FIRST_UID, LAST_UID)
