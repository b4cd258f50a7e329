"""The official JavaScript client on the accounts of running platforms. Needs Node (skipped only where it is absent).

Three processes run at once: the accounts of a platform that confirms them at once; those of one on which addresses are
confirmed; and the latter in what the client takes for a browser. Each notes which methods it called.
"""

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.platform import Platform

HERE = Path(__file__).parent
ENTRIES = ("auth.test.mjs", "auth-confirming.test.mjs", "auth-browser.test.mjs")
OWN = {"auth.signInWithEthereum", "auth.signInWithSolana", "auth.fetchJwk"}
"""What other methods of the client call."""

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@dataclass
class Runs:
    """What became of each entry: its end and its words; and the methods of the client."""

    ended: dict[str, tuple[int | None, str]]
    offered: set[str]
    called: set[str]


@pytest.fixture(scope="session")
async def runs(
    node_modules: None,
    accounts: Platform,
    confirming_accounts: Platform,
    abroad: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Runs:
    """Run every entry against its platform."""
    folder = tmp_path_factory.mktemp("called")
    confirming = {**confirming_accounts.values, "PROVIDER_URL": abroad}
    places = (accounts.values, confirming, confirming)
    ended = await asyncio.gather(
        *(
            _run(entry, {**values, "CALLED_DIR": str(folder)})
            for entry, values in zip(ENTRIES, places, strict=True)
        )
    )
    noted = [json.loads(path.read_text()) for path in folder.iterdir()]
    offered, called = ({name for each in noted for name in each[what]} for what in ("offered", "called"))
    return Runs(dict(zip(ENTRIES, ended, strict=True)), offered, called)


async def _run(entry: str, values: dict[str, str]) -> tuple[int | None, str]:
    environment = {**os.environ, **values}
    process = await asyncio.create_subprocess_exec(
        "node", "--test", "--test-reporter=tap", entry, cwd=HERE, env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(200):
            told, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, told.decode()


@pytest.mark.parametrize("entry", ENTRIES)
def test_supabase_js_does_all_of_the_accounts(runs: Runs, entry: str) -> None:
    code, told = runs.ended[entry]

    assert code == 0, told


def test_every_public_method_of_the_accounts_was_called(runs: Runs) -> None:
    assert len(runs.offered) > 80
    assert sorted(runs.offered - runs.called - OWN) == []
