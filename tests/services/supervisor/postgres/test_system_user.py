import os

import pytest

from services.supervisor.errors import StartFailed
from services.supervisor.postgres.system_user import may_reach, run_as, server_user

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user of the server")


def test_whoever_is_no_root_runs_the_server_himself(notes, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert server_user(notes.info) is None
    assert run_as(None) == {}


@as_root
def test_root_gets_a_user_that_is_not_root(notes):
    user = server_user(notes.info)

    assert user is not None
    assert user.uid != 0
    assert run_as(user) == {"user": user.uid, "group": user.gid, "extra_groups": []}


@as_root
def test_a_database_keeps_its_owner(notes):
    user = server_user(notes.info)

    assert server_user(notes.info, owner_uid=user.uid).uid == user.uid


@as_root
def test_an_owner_nobody_knows_is_told(notes):
    with pytest.raises(StartFailed, match="4000000000"):
        server_user(notes.info, owner_uid=4_000_000_000)


@as_root
def test_reaching_is_tried_as_the_user(open_tmp, notes):
    user = server_user(notes.info)
    inner = open_tmp / "inner"
    inner.mkdir()
    assert may_reach(user, inner)

    open_tmp.chmod(0o700)

    assert not may_reach(user, inner)
    assert may_reach(None, inner)
