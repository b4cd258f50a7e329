"""Drains that cannot work are refused when the settings are read, with the key and the reason."""

import pytest

from schemas.settings.reading import load_settings
from schemas.settings.tree import SettingsError

HTTP = 'url = "https://logs.example.com/in"'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[logs.drain.a]", "url must begin with http://, https://"),
        ('[logs.drain.a]\nurl = "tcp://h:1"', "url must begin with http://, https://"),
        ('[logs.drain.a]\nformat = "syslog"\n' + HTTP, "url must begin with udp://, tcp://, tls://"),
        ('[logs.drain.a]\nformat = "syslog"\nurl = "udp://h"', "url must begin with udp://"),
        ('[logs.drain.a]\nformat = "xml"\n' + HTTP, "format must be one of otlp, json, loki, syslog"),
        ('[logs.drain.a]\nlevel = "loud"\n' + HTTP, "level must be one of debug"),
        ("[logs.drain.a]\nbatch = 10001\n" + HTTP, "batch must be 10000 at most"),
        ('[logs.drain.a]\nlabels = { "a-b" = "1" }\n' + HTTP, "names of labels"),
        ('[logs.drain.a]\nheaders = { A = "a\\nb" }\n' + HTTP, "a header has characters"),
        ('[logs.drain."a b"]\n' + HTTP, "its name must have"),
        ("[log.store]\nenabled = false\n[logs.drain.a]\n" + HTTP, "log.store.enabled must be true"),
    ],
)
def test_a_drain_that_cannot_work_is_refused(text: str, reason: str):
    with pytest.raises(SettingsError) as refused:
        load_settings(text.encode(), {})

    assert reason in str(refused.value)


def test_a_drain_that_is_off_may_be_anything():
    load_settings(b"[logs.drain.a]\nenabled = false", {})
