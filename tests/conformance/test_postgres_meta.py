"""@supabase/postgres-meta, with which database editors work, on a running platform. Needs Node (skipped only where it is absent)."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.platform import Platform

HERE = Path(__file__).parent
SERVER = HERE / "node_modules" / "@supabase" / "postgres-meta" / "dist" / "server" / "server.js"

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.usefixtures("node_modules"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


def _node(target: Platform, words: Sequence[str], **further: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", *words],
        cwd=HERE,
        env={**os.environ, **target.values, **further},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_postgres_meta_lists_and_changes_the_catalog(accounts: Platform) -> None:
    done = _node(accounts, ["--test", "--test-reporter=tap", "postgres-meta.test.mjs"])

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("language", "table"),
    [
        ("typescript", "diaries: {"),
        ("go", "type PublicDiariesSelect struct"),
        ("swift", "struct DiariesSelect"),
        ("python", "class PublicDiaries(BaseModel)"),
    ],
)
def test_postgres_meta_writes_types(accounts: Platform, language: str, table: str) -> None:
    done = _node(
        accounts, [str(SERVER)], PG_META_DB_URL=accounts.values["DB_URL"], PG_META_GENERATE_TYPES=language,
        PG_META_GENERATE_TYPES_INCLUDED_SCHEMAS="public,auth,storage",
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert table in done.stdout
