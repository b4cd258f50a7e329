"""The Python client in its two forms, called in one way: whatever a test asks of one, it asks of the other."""

import inspect
from dataclasses import dataclass
from typing import Any

import httpx
from postgrest import APIError
from supabase import AsyncClientOptions, ClientOptions, acreate_client, create_client

KINDS = ("sync", "async")


@dataclass(frozen=True, slots=True)
class Caller:
    """A client, and how its queries are run."""

    # The two forms share names and arguments, but no type.
    client: Any

    def table(self, name: str) -> Any:
        """Begin a query of a table."""
        return self.client.table(name)

    def rpc(self, name: str, arguments: dict[str, object] | None = None, **options: object) -> Any:
        """Begin the call of a function."""
        return self.client.rpc(name, arguments, **options)

    async def run(self, query: Any) -> Any:
        """Run a query and give the client's answer."""
        answer = query.execute()
        return await answer if inspect.isawaitable(answer) else answer

    async def rows(self, query: Any) -> Any:
        """Run a query and give its data."""
        return (await self.run(query)).data

    async def refusal(self, query: Any) -> APIError:
        """Run a query that must be refused, and give the error."""
        try:
            answer = await self.run(query)
        except APIError as error:
            return error
        raise AssertionError(f"no error, but {answer}")

    async def close(self) -> None:
        """Close the connections."""
        done = self.client.postgrest.aclose()
        if inspect.isawaitable(done):
            await done


async def connect(kind: str, url: str, key: str, **options: Any) -> Caller:
    """Give a client of a kind, made with these client options."""
    if kind == "sync":
        return Caller(create_client(url, key, ClientOptions(**options)))
    return Caller(await acreate_client(url, key, AsyncClientOptions(**options)))


def interrupted_session(kind: str, failures: int, sent: list[str | None]) -> httpx.Client | httpx.AsyncClient:
    """Give an HTTP session that loses its first connections; `sent` tells what each request said of its tries."""

    def hook(request: httpx.Request) -> None:
        sent.append(request.headers.get("x-retry-count"))
        if len(sent) <= failures:
            raise httpx.ConnectError("lost", request=request)

    async def waiting_hook(request: httpx.Request) -> None:
        hook(request)

    if kind == "sync":
        return httpx.Client(event_hooks={"request": [hook]})
    return httpx.AsyncClient(event_hooks={"request": [waiting_hook]})
