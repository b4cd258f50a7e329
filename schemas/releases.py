"""What each release put into data folders that an earlier release cannot use: reported when a user goes back.

A release with such data adds a row here. Data folders carry the rows along, so that an older program, which does not know the newer
release, can still say what would be lost (services/supervisor/data_folder/data_version.py).
"""

from msgspec import Struct

from schemas.numbers import parse_whole_number

_MOST = 1_000_000


class DowngradeLoss(Struct, frozen=True):
    """What earlier releases than `since` lose of data that `since` or a later one has used."""

    since: str
    text: str


FIRST_WITHOUT_RECORD = "0.1.0"
"""The release of data folders that do not name one."""
LOSSES = (
    DowngradeLoss(
        "0.2.0",
        "row changes and broadcasts: messages of the realtime streams have a time to live of their own, which 0.1.0 cannot read",
    ),
    DowngradeLoss("0.2.0", "log lines of functions, which 0.1.0 looks for elsewhere"),
)


def release_number(version: str) -> tuple[int, ...] | None:
    """Return the numbers of a version such as 0.2.0, by which releases are ordered; None for other texts."""
    numbers = [parse_whole_number(part, most=_MOST) for part in version.split(".")]
    return tuple(number for number in numbers if number is not None) if None not in numbers else None
