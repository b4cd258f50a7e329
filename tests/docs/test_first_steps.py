"""The page docs/first-steps.md, as a newcomer types it."""

from pathlib import Path

from tests.docs.pages import ROOT, block, shell
from tests.platform import platform

PAGE = (ROOT / "docs" / "first-steps.md").read_text()


def test_a_table_is_an_endpoint_and_policies_hold(tmp_path: Path) -> None:
    with platform() as place:
        made, asked = block(PAGE, "sh", "create table").split("\ncurl", 1)
        shell(place, tmp_path, made)
        place.wait_for_catalog("rivers")

        answers = shell(place, tmp_path, made.split("\n", 1)[1], f"curl{asked}")
        place.psql(block(PAGE, "sql", "policy"))

        assert '[{"name":"Nile"}]' in answers
        assert place.get("/rest/v1/rivers?select=name")[1].count(b"name") == 2
