"""Imports structlog without `rich`, which structlog loads for its own tracebacks wherever it is installed: 5 MB in each process.

Development installs it beside test tools, so without this a platform takes more memory there than where users run it.
"""

import sys

_UNUSED = "rich"

_present = sys.modules.get(_UNUSED)
if _present is None:
    sys.modules[_UNUSED] = None  # type: ignore[assignment]  # documented: an import of it raises ModuleNotFoundError
import structlog as structlog  # noqa: E402 - after the line above

if _present is None:
    del sys.modules[_UNUSED]
