"""Asks the images pool for a picture. What it refuses passes on as it is: its refusals have the shape of this area."""

from dataclasses import dataclass

import msgspec

from broker.call import Calls
from broker.subjects import IMAGES
from schemas.errors import ApiError, DeadlineExceeded, Unavailable
from schemas.http import Request, Response
from schemas.images import Order, Rendered
from workers.storage.errors import Code, StorageError

_RETRY = [("retry-after", "1")]


class RenderRefused(ApiError):
    """The images pool refused; `answer` is what it said."""

    def __init__(self, answer: Response) -> None:
        super().__init__(f"the images pool answered {answer.status}")
        self.status, self.answer = answer.status, answer

    def response(self) -> Response:
        return self.answer


@dataclass(frozen=True, slots=True)
class AskedImages:
    """`Renderer` over the broker."""

    calls: Calls

    async def __call__(self, order: Order, request_id: str, budget_ms: int) -> Rendered:
        """Have a picture made. Raises: RenderRefused; StorageError if nobody answers, or not in time."""
        body = msgspec.msgpack.encode(order)
        asked = Request(id=request_id, method="POST", path="/render", budget_ms=budget_ms, body=body)
        try:
            answer = (await self.calls.call(IMAGES, asked)).response
        except DeadlineExceeded:
            raise StorageError(Code.REQUEST_TIMEOUT, "Image request timed out", 408) from None
        except Unavailable:
            raise _away() from None
        if answer.status == 503:
            raise _away()
        if answer.status >= 500 and b"statusCode" not in answer.body:
            raise StorageError(Code.INTERNAL_ERROR, "Internal Server Error", 500, error="Internal")
        if answer.status != 200:
            raise RenderRefused(answer)
        return msgspec.json.decode(answer.body, type=Rendered)


def _away() -> StorageError:
    """Nobody renders now; HTTP says so, for a later attempt may succeed."""
    message = "Images cannot be rendered now"
    return StorageError(Code.SLOW_DOWN, message, 503, status=503, headers=_RETRY)
