"""The clients of a soak: each goes on for hours and leaves nothing behind that it was not asked to keep."""

import asyncio
import itertools
import json
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from io import BytesIO

import aiohttp

from tests.faults.campaign_platform import CampaignPlatform
from tests.faults.uploaders import BUCKET, content
from tests.platforms.realtime_followers import Follower
from tests.workers.images.samples import png
from tests.workers.management.operations.conftest import RemoteAdministrator

_PAUSE_S, _REFUSED_S = 0.05, 0.5
"""Between two requests of a client, and behind a refused one: they set the rate of the load, nothing waits for them."""
_KEYED_S, _AUDITED_S = 0.5, 10.0
"""What is swept less often than once a minute comes more slowly, so that minutes show its bound."""
_KEPT = 100
"""How many rows and objects of each writer are there at a time."""
_ADDRESSES = 20
_PATIENCE_S = 90.0


@dataclass(slots=True)
class ClientCounts:
    """What the clients did, by kind, and what was not answered as it should be."""

    done: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class SoakClients:
    """All clients of one platform."""

    place: CampaignPlatform
    session: aiohttp.ClientSession
    owner: RemoteAdministrator
    tally: ClientCounts = field(default_factory=ClientCounts)

    async def ask(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        bearer: str = "",
        headers: dict[str, str] | None = None,
        **more: object,
    ) -> bytes | None:
        """Send a request as the service, or with a token; count it; return the body if it succeeded."""
        platform = self.place.platform
        key = platform.values["ANON_KEY" if bearer else "SERVICE_ROLE_KEY"]
        own = {"apikey": key, "Authorization": f"Bearer {bearer or key}", **(headers or {})}
        try:
            async with (
                asyncio.timeout(_PATIENCE_S),
                self.session.request(method, platform.url + path, headers=own, **more) as answer,  # type: ignore[arg-type]  # as the library takes them
            ):
                body = await answer.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self.tally.failed[f"{kind}: {type(error).__name__}"] += 1
        else:
            if answer.status < 300:
                self.tally.done[kind] += 1
                return body
            self.tally.failed[f"{kind}: {answer.status}"] += 1
        await asyncio.sleep(_REFUSED_S)
        return None

    def tasks(self) -> list["asyncio.Task[None]"]:
        """Start all clients."""
        kinds: list[tuple[Callable[[int], Awaitable[None]], int]] = [
            (self.rows, 3), (self.keyed_rows, 2), (self.reads, 2), (self.objects, 2), (self.functions, 1), (self.queue, 1),
            (self.mail, 1), (self.sessions, 2), (self.renditions, 1), (self.graphql, 1), (self.audited, 1), (self.joins, 2),
        ]  # fmt: skip
        return [asyncio.ensure_future(client(number)) for client, count in kinds for number in range(count)]

    async def rows(self, writer: int) -> None:
        """Insert rows, and delete those of before."""
        for id in itertools.count(writer * 10**9):
            await self.ask("rows", "POST", "/rest/v1/marks", json={"id": id})
            if id % _KEPT == 0:
                await self.ask(
                    "deletes", "DELETE", f"/rest/v1/marks?id=gte.{writer * 10**9}&id=lt.{id - _KEPT}"
                )
            await asyncio.sleep(_PAUSE_S)

    async def keyed_rows(self, writer: int) -> None:
        """Insert rows with a key each, every tenth twice, and delete them."""
        base = (10 + writer) * 10**9
        for id in itertools.count(base):
            headers = {"Idempotency-Key": secrets.token_hex(16)}
            for _ in range(2 if id % 10 == 0 else 1):
                await self.ask("keyed rows", "POST", "/rest/v1/marks", headers=headers, json={"id": id})
            if id % _KEPT == 0:
                await self.ask("deletes", "DELETE", f"/rest/v1/marks?id=gte.{base}&id=lt.{id - _KEPT}")
            await asyncio.sleep(_KEYED_S)

    async def reads(self, reader: int) -> None:
        """Read rows, in queries of changing shapes."""
        for number in itertools.count(reader):
            await self.ask(
                "reads", "GET", f"/rest/v1/marks?select=id,at&order=id.desc&limit={1 + number % 50}"
            )
            await asyncio.sleep(_PAUSE_S)

    async def objects(self, writer: int) -> None:
        """Upload objects, read each, and remove those of before."""
        for id in itertools.count(writer * 10**6):
            path = f"/storage/v1/object/{BUCKET}/{id}"
            headers = {"content-type": "application/octet-stream"}
            await self.ask("uploads", "POST", path, headers=headers, data=BytesIO(content(id)))
            await self.ask("downloads", "GET", path)
            if id % 10 == 0:
                prefixes = [str(old) for old in range(max(writer * 10**6, id - _KEPT - 10), id - _KEPT)]
                if prefixes:
                    await self.ask(
                        "removals", "DELETE", f"/storage/v1/object/{BUCKET}", json={"prefixes": prefixes}
                    )
            await asyncio.sleep(_PAUSE_S)

    async def functions(self, _: int) -> None:
        """Call a function."""
        for number in itertools.count():
            await self.ask("functions", "POST", "/functions/v1/echo", json={"id": number})
            await asyncio.sleep(_PAUSE_S)

    async def queue(self, _: int) -> None:
        """Send messages and take them out again."""
        for number in itertools.count():
            await self.ask("queue", "POST", "/rest/v1/rpc/send_mark", json={"mark": number})
            if number % 10 == 0:
                await self.ask("queue", "POST", "/rest/v1/rpc/drop_marks", json={})
            await asyncio.sleep(_PAUSE_S)

    async def mail(self, _: int) -> None:
        """Ask for sign-in links of a few addresses."""
        for number in itertools.count():
            wish = {"email": f"soak-{number % _ADDRESSES}@example.com", "create_user": True}
            await self.ask("mail", "POST", "/auth/v1/otp", json=wish)
            await asyncio.sleep(10 * _PAUSE_S)

    async def sessions(self, number: int) -> None:
        """Sign in, refresh a few times, sign out."""
        person = {"email": f"person-{number}@example.com", "password": "correct horse battery"}
        await self.ask("sign-ups", "POST", "/auth/v1/signup", json=person)
        while True:
            body = await self.ask("sign-ins", "POST", "/auth/v1/token?grant_type=password", json=person)
            for _ in range(5):
                if body is None:
                    break
                token = {"refresh_token": _field(body, "refresh_token")}
                body = await self.ask(
                    "refreshes", "POST", "/auth/v1/token?grant_type=refresh_token", json=token
                )
            if body is not None:
                await self.ask(
                    "sign-outs", "POST", "/auth/v1/logout?scope=local", bearer=_field(body, "access_token")
                )
            await asyncio.sleep(5 * _PAUSE_S)

    async def renditions(self, _: int) -> None:
        """Have an image rendered in ever other sizes."""
        path = f"/storage/v1/object/{BUCKET}/image.png"
        await self.ask(
            "uploads", "POST", path, headers={"content-type": "image/png"}, data=BytesIO(png(640, 480))
        )
        for number in itertools.count():
            size = f"width={10 + number % 600}&height={10 + number // 600}"
            await self.ask(
                "renditions", "GET", f"/storage/v1/render/image/authenticated/{BUCKET}/image.png?{size}"
            )
            await asyncio.sleep(0.6)  # below storage.image_transformation.renditions_per_client

    async def graphql(self, _: int) -> None:
        """Ask by GraphQL."""
        query = "query($n: Int!) { marksCollection(first: $n) { edges { node { id } } } }"
        for number in itertools.count():
            await self.ask(
                "graphql", "POST", "/graphql/v1", json={"query": query, "variables": {"n": 1 + number % 30}}
            )
            await asyncio.sleep(_PAUSE_S)

    async def audited(self, _: int) -> None:
        """Change a setting, which leaves a row in the audit log."""
        for number in itertools.count():
            version = (await asyncio.to_thread(self.owner.send, "settings.list", {"prefix": "api"}))[1][
                "version"
            ]
            status, _body = await asyncio.to_thread(
                self.owner.send, "settings.change", {"version": version, "values": {"api.max_rows": 1000 + number % 7}}
            )  # fmt: skip
            (self.tally.done if status == 200 else self.tally.failed)[
                "audited" if status == 200 else f"audited: {status}"
            ] += 1
            await asyncio.sleep(_AUDITED_S)

    async def joins(self, _: int) -> None:
        """Join a channel of row changes, hear some, leave, and begin anew: sockets come and go."""
        entry = {"event": "INSERT", "schema": "public", "table": "marks"}
        while True:
            follower = Follower(self.place.platform, entry)
            running = asyncio.ensure_future(follower.run())
            try:
                await follower.until(lambda f=follower: len(f.changes) > 50, "no changes")  # type: ignore[misc]  # bound now
                self.tally.done["joins"] += 1
            except AssertionError as error:
                self.tally.failed[f"joins: {error}"[:60]] += 1
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


def _field(body: bytes, name: str) -> str:
    return str(json.loads(body)[name])
