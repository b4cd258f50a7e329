"""The two accepted spellings of error codes and vendor media types.

Inside, codes are `PGRSTnnn` and types `application/vnd.pgrst.*`. The seed's spelling (`RESTERRnnn`,
`application/vnd.rest.*`) is what a caller gets, unless it shows that it knows the other one: by a `vnd.pgrst` type in
`Accept`, or by `X-Client-Info`, which the official clients send (architecture, section 3).
"""

from enum import Enum

from schemas.http import Headers


class Dialect(Enum):
    """How codes and types are spelled in an answer."""

    SEED = "RESTERR"
    ORIGINAL = "PGRST"


def dialect_of(headers: Headers) -> Dialect:
    """Choose the spelling that the caller understands."""
    for name, value in headers:
        if name == "x-client-info" or (name == "accept" and "application/vnd.pgrst." in value):
            return Dialect.ORIGINAL
    return Dialect.SEED


def spelled_code(code: str, dialect: Dialect) -> str:
    """Return an error code as the caller spells it."""
    return (
        code.replace("PGRST", "RESTERR", 1) if dialect is Dialect.SEED and code.startswith("PGRST") else code
    )


def spelled_type(media_type: str, dialect: Dialect) -> str:
    """Return a media type as the caller spells it."""
    return media_type.replace("vnd.pgrst.", "vnd.rest.") if dialect is Dialect.SEED else media_type
