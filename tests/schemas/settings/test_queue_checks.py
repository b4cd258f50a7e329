"""Queues of functions that cannot be consumed are refused when the settings are read, with the key and the reason."""

import pytest

from schemas.settings.reading import load_settings
from schemas.settings.tree import SettingsError


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '[functions.a.queue]\nqueue = "mail"\nbatch = 0',
            "functions.a.queue.batch must be a whole number above 0",
        ),
        (
            '[functions.a.queue]\nqueue = "mail"\nbatch = 1001',
            "functions.a.queue: batch must be 1000 at most",
        ),
        ('[functions.a.queue]\nqueue = "mail"\nvisibility = "1s"', "visibility must be 5s to 12h"),
        ('[functions.a.queue]\nqueue = "mail"\nbackoff = "soon"', "backoff must be a duration"),
        ('[functions.a.queue]\nqueue = "the mail"', "queue must have 1 to 47 letters"),
        ("[functions.a.queue]\nbatch = 5", "queue names no queue"),
        ('[functions.a.queue]\nqueue = "mail"\ndead_letter = "Mail"', "dead_letter must be another queue"),
        (
            '[functions.a.queue]\nqueue = "mail"\n[functions.b.queue]\nqueue = "MAIL"',
            "a consumes the queue mail already",
        ),
        (
            '[functions.a.queue]\nqueue = "x"\ndead_letter = "y"\n[functions.b.queue]\nqueue = "y"\ndead_letter = "x"',
            "leads back to x",
        ),
    ],
)
def test_a_queue_that_cannot_be_consumed_is_refused(text: str, reason: str):
    with pytest.raises(SettingsError) as refused:
        load_settings(text.encode(), {})

    assert reason in str(refused.value)
