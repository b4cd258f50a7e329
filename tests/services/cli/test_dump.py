"""What `headwater db dump` makes of the output of Postgres' tools; a small program stands for them."""

import sys
from pathlib import Path

from services.cli.dump import _write

PRINTS = """import sys; sys.stdout.buffer.write(b"insert into a values ('one\\r\\ntwo\\rthree');\\n")"""


def test_line_breaks_of_rows_are_written_as_they_are(tmp_path: Path) -> None:
    _write([sys.executable, "-c", PRINTS], {}, iter, tmp_path / "seed.sql")

    assert (tmp_path / "seed.sql").read_bytes() == b"insert into a values ('one\r\ntwo\rthree');\n"
