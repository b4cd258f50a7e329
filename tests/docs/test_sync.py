"""The page docs/sync.md, as a reader tries it: its table, and what each kind of caller is answered."""

import shlex
from pathlib import Path

from tests.docs.pages import ROOT, block, shell
from tests.platform import platform

PAGE = (ROOT / "docs" / "sync.md").read_text()


def test_the_page_holds(tmp_path: Path) -> None:
    with platform() as one:
        one.psql(block(PAGE, "sql", "create table public.chores"))
        values = [f"{name}={shlex.quote(value)}" for name, value in one.values.items()]

        rows = shell(one, tmp_path, *values, block(PAGE, "sh", "SERVICE_ROLE_KEY"))
        nothing = shell(one, tmp_path, *values, block(PAGE, "sh", "ANON_KEY"))

    assert rows.startswith(block(PAGE, "text", "wash the car").rstrip("\n"))
    assert nothing.strip() == block(PAGE, "text", '[{"headers"').strip()
