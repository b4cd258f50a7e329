"""Files for the tests of the storage, in the two forms of the Python client: buckets of a test's own, and what is refused."""

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from storage3.exceptions import StorageApiError

from tests.conformance.auth_callers import People, done

Refusal = tuple[str, str, str]
"""Inner status, legacy word and message, as the client shows them."""

FORBIDDEN: Refusal = ("403", "Unauthorized", "new row violates row-level security policy")
NOT_FOUND: Refusal = ("404", "not_found", "Object not found")
NO_BUCKET: Refusal = ("404", "Bucket not found", "Bucket not found")
DUPLICATE: Refusal = ("409", "Duplicate", "The resource already exists")


@dataclass(slots=True)
class Files:
    """The storage as a server reaches it, and people to come; buckets that were made go when all tests are done."""

    people: People
    # The two forms share names and arguments, but no type.
    storage: Any
    made: list[str] = field(default_factory=list)

    @classmethod
    async def open(cls, people: People) -> "Files":
        """Reach the storage with the key of the service."""
        return cls(people, (await people.visitor("SERVICE_ROLE_KEY")).client.storage)

    async def bucket(self, **options: object) -> Any:
        """Make a bucket of the test's own and give its files."""
        name = f"b-{uuid4()}"
        await done(self.storage.create_bucket(name, options=options))
        self.made.append(name)
        return self.storage.from_(name)

    async def anonymous(self) -> Any:
        """Give the storage as nobody in particular sees it."""
        return (await self.people.visitor()).client.storage

    async def member(self) -> tuple[Any, str]:
        """Give the storage as somebody sees it who has an account, and the id."""
        person = await self.people.signed_up()
        return person.caller.client.storage, person.user.id

    async def get(self, url: str, **headers: str) -> httpx.Response:
        """Get an address without any key."""
        answer: httpx.Response = await done(self.people.session.get(url, headers=headers))
        return answer

    async def close(self) -> None:
        """Remove what was made."""
        for name in self.made:
            await done(self.storage.empty_bucket(name))
            await done(self.storage.delete_bucket(name))


async def refusal(call: Any, *arguments: Any, **options: Any) -> Refusal:
    """Call what must be refused, and give what the client shows of it."""
    try:
        answer = await done(call(*arguments, **options))
    except StorageApiError as error:
        return str(error.status), error.code, error.message
    raise AssertionError(f"no error, but {answer}")


def names(rows: Any) -> list[str]:
    """Give the names of rows, which come as mappings or as objects."""
    return [row["name"] if isinstance(row, dict) else row.name for row in rows]
