"""Says of a transaction whose server fell silent that its outcome is unknown.

What was sent may still arrive: a link that comes back delivers it, and the server commits although nobody waits any more. So
the error must not say that nothing was done. Work of the platform itself gets the plain error, which it expects.
"""

from collections.abc import Awaitable
from typing import NoReturn, TypeVar

from broker.requests.current_request import CURRENT
from schemas.errors import OutcomeUnknown
from workers.database.errors import ServerSilent

T = TypeVar("T")


async def or_unknown(committing: Awaitable[T]) -> T:
    """Await what commits. Raises: OutcomeUnknown if the server fell silent over it and a request waits; what it raises."""
    try:
        return await committing
    except ServerSilent as error:
        raise_unknown(error)


def raise_unknown(error: ServerSilent) -> NoReturn:
    """Raise OutcomeUnknown where a request waits for a transaction over which the server fell silent; else the error."""
    request = CURRENT.get()
    if request is None or not request.request_id:
        raise error
    raise OutcomeUnknown(f"{error}: the transaction may have been committed or not") from None
