"""Streams that cannot work are refused when the settings are read, with the key and the reason."""

import pytest

from schemas.settings.reading import load_settings
from schemas.settings.tree import SettingsError

TABLES = '[streams.a]\ntables = ["orders"]\n'
FILE = 'target = "file:///srv/lake"\n'
KEYS = 'access_key_id = "k"\nsecret_access_key = "s"\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[streams.a]\n" + FILE, "tables must name 1 to 100 tables"),
        ('[streams.a]\ntables = ["a", "public.a"]\n' + FILE, "names a table twice"),
        ('[streams.a]\ntables = ["sales."]\n' + FILE, "must have the form orders or sales.orders"),
        ('[streams."a b"]\n' + FILE, "its name must have"),
        (TABLES, "target must be a URL such as file:///srv/lake"),
        (TABLES + 'target = "ftp://example.com"', "target must be a URL such as"),
        (TABLES + 'target = "file://host/lake"', "target must be an absolute folder"),
        (TABLES + 'target = "file:///srv/../etc"', "target must be an absolute folder"),
        (TABLES + 'target = "file:///srv/lake?"', "without ? and #"),
        (TABLES + 'target = "s3://bucket/a#b"\n' + KEYS, "without ? and #"),
        ('[streams.a]\ntables = ["s.../x"]\n' + FILE, "cannot be a folder"),
        ('[streams.a]\ntables = ["a-b.c", "a.b-c"]\ntarget = "nats:"', "the same stream"),
        (TABLES + 'target = "s3://bucket"', "needs access_key_id and secret_access_key"),
        (
            TABLES + 'target = "s3://bucket"\naccess_key_id = "k"\nsecret_access_key = "env(UNSET)"',
            "UNSET is not set",
        ),
        (
            TABLES + 'target = "s3://bucket"\nendpoint = "http://10.0.0.1:9000"\n' + KEYS,
            "closed_network = true",
        ),
        (
            TABLES + 'target = "s3://bucket"\nendpoint = "http://localhost:9000"\n' + KEYS,
            "closed_network = true",
        ),
        (TABLES + 'target = "nats://u:p@127.0.0.1:4222"', "closed_network = true"),
        (TABLES + 'target = "kafka://192.168.0.1:9092"', "closed_network = true"),
        (TABLES + 'target = "postgresql://u:p@[::1]:5432/d"', "closed_network = true"),
        (TABLES + 'target = "kafka://h:9092/topic"', "must name a server of Kafka"),
        (TABLES + 'target = "kafka://u:p@h:9092"\nsasl = "GSSAPI"', "sasl must be one of PLAIN"),
        (TABLES + 'target = "postgresql://h/d"', "must name a server, a user and a database"),
        ('[streams.a]\ntables = ["order lines"]\ntarget = "kafka://h:9092"', "cannot be a topic of Kafka"),
        (
            f'[streams.a]\ntables = {[f"t{n}" for n in range(33)]}\ntarget = "nats:"\n'
            f'[streams.b]\ntables = {[f"t{n}" for n in range(32)]}\ntarget = "nats:"',
            "makes 65 GiB: set a smaller keep_size",
        ),
        (TABLES + 'target = "nats:orders"', "target must be nats:"),
        (TABLES + FILE + 'mode = "replace"', "mode must be one of merge, append"),
        (TABLES + FILE + 'filters = { other = ["a=eq.1"] }', "filters has the table 'other'"),
        (TABLES + FILE + "columns = { orders = [] }", "columns must name at least one"),
        (
            TABLES + FILE + 'columns = { orders = ["a"] }\nwithout = { orders = ["b"] }',
            "either columns or without",
        ),
        (TABLES + FILE + 'every = "2h"', "every must be an hour at most"),
        ("[realtime]\nenabled = false\n" + TABLES + FILE, "realtime.enabled must be true"),
    ],
)
def test_a_stream_that_cannot_work_is_refused(text: str, reason: str):
    with pytest.raises(SettingsError) as refused:
        load_settings(text.encode(), {})

    assert reason in str(refused.value)


def test_a_closed_address_may_be_allowed_and_a_stream_that_is_off_may_be_anything():
    allowed = (
        TABLES + 'target = "s3://bucket"\nendpoint = "http://10.0.0.1:9000"\nclosed_network = true\n' + KEYS
    )

    load_settings(allowed.encode(), {})
    load_settings(b"[streams.a]\nenabled = false", {})
