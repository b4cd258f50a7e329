"""Private channels of realtime: whether a caller may receive and send, as policies on realtime.messages say for the topic.

As in workers/realtime/channels.py, the topic is a setting of the transaction and a column of the row. Topics that are tried: those that the question
names, those of stored messages, those that policies name, and one that none of them is.
"""

import json
import re
from collections.abc import Sequence

import asyncpg

from workers.project.access.callers import CallerClass
from workers.project.access.catalog import AccessRelation, Policy
from workers.project.access.model import AccessQuestion
from workers.project.access.row_classes import JudgedRow
from workers.project.access.verdicts import Verdicts, read_verdicts

MESSAGES = "realtime.messages"
EXTENSIONS = ("broadcast", "presence")
_OTHER = "a channel of any other name"
_MOST_TOPICS = 12
_LITERAL = re.compile(r"'((?:[^']|'')+)'::text")


async def topics_to_try(
    connection: asyncpg.Connection, question: AccessQuestion, policies: Sequence[Policy], ids: Sequence[str]
) -> list[str]:
    """Return the topics to try. Raises: the driver's errors."""
    stored = await connection.fetch(
        f"select distinct topic from (select topic from {MESSAGES} order by inserted_at desc limit 1000) as latest limit {_MOST_TOPICS}"  # noqa: S608 - a constant name
    )
    named = []
    for policy in policies:
        for match in _LITERAL.finditer(f"{policy.using} {policy.check}"):
            text = match[1].replace("''", "'")
            if text not in EXTENSIONS and len(text) <= 200:
                named.append(text.replace("%", ids[0] if ids else "1"))
                named += [f"{text}{ids[0]}"] if ids and text.endswith((":", "/", "-")) else []
    topics = [*question.channels, *(row[0] for row in stored), *named, *ids[:1]]
    return [*[*dict.fromkeys(topics)][: _MOST_TOPICS - 1], _OTHER]


async def read_channels(
    connection: asyncpg.Connection,
    relation: AccessRelation,
    topics: Sequence[str],
    classes: Sequence[CallerClass],
    question: AccessQuestion,
) -> list[Verdicts]:
    """Return for each topic the verdicts on a message of each extension. Raises: the driver's errors, but those of policies."""
    results = []
    for topic in topics:
        rows = []
        for extension in EXTENSIONS:
            values = {"topic": topic, "extension": extension, "private": "true"}
            text = await connection.fetchval(
                f"select (pg_catalog.jsonb_populate_record(null::{MESSAGES}, $1::pg_catalog.jsonb))::pg_catalog.text",
                json.dumps(values),
            )
            rows.append(JudgedRow(text, dict(values)))
        results.append(
            await read_verdicts(connection, relation, rows, classes, question, [("realtime.topic", topic)])
        )
    return results
