"""Do once, before processes are forked, what each would do in the same way when it starts.

What a library builds at its first use (tables of types, compiled expressions, ciphers) then lies in memory that the forked processes
share; each would otherwise build, and hold, its own. Nothing here reads the environment or a file of the platform: the fork server
may not contain secrets.

A forked process gets a copy of each page to which it writes, and CPython writes where it only reads, because it counts references.
So what saves memory here is a result that is stored and not computed again; to call a function more often saves nothing.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from broker.observability.exposition import prometheus_text
from broker.observability.figures import ObservedFigures
from broker.observability.observe import configure
from schemas.settings.reading import load_settings
from schemas.settings.tree import Settings

_CONFIGURATION = b'[api]\nenabled = true\n[auth]\nsite_url = "http://127.0.0.1:3000"\n'


def warm_up() -> Settings:
    """Parse settings, texts and names as every program does, and configure log lines; return the default settings."""
    json.dumps({"name": [unquote("%20"), urlsplit("nats://user:password@127.0.0.1:4222").hostname]})
    "localhost".encode("idna")  # as sockets encode names of hosts
    settings, _ = load_settings(_CONFIGURATION, {})
    # The first answer of these visits every subclass, and is stored: as asyncio asks of tasks, and asyncpg of arguments.
    isinstance([], Mapping | Iterable)
    asyncio.iscoroutine(warm_up)
    prometheus_text(ObservedFigures())  # statistics read the metrics of every process soon after its start
    configure(settings.log.level, settings.log.format, "fork-server")
    return settings
