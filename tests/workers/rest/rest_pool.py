"""A REST worker on a database of its own, and requests to it."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from schemas.caller import Caller, ServiceCaller, UserCaller
from schemas.http import Headers, Request, Response
from schemas.settings.tree import Api
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.rest.state import RestState
from workers.rest.worker import RestWorker

LOGIN, SERVICE = "rest_login", ServiceCaller()
SCHEMA = Path(__file__).with_name("worker.sql").read_text()
GRANTS = """
grant usage on schema public to rest_anon, rest_user, rest_service;
grant all on all tables in schema public to rest_user, rest_service;
grant select on rivers, mouths, bridges, secrets to rest_anon;
grant all on all sequences in schema public to rest_user, rest_service;
revoke all on private from rest_user;
alter role rest_service bypassrls;
"""


@dataclass
class RestPool:
    """A worker with its pool; `send` answers one request."""

    pool: ConnectionPool
    state: RestState
    api: Api = field(default_factory=Api)
    worker: type[RestWorker] = RestWorker

    def with_options(self, **options: object) -> "RestPool":
        api = Api(**{**OPTIONS, **options})  # type: ignore[arg-type]  # names and values of the settings
        return RestPool(self.pool, RestState(api, self.state.catalog), api)

    async def send(
        self, method: str, target: str, body: object = None, caller: Caller = SERVICE, **headers: str
    ) -> Response:
        path, _, query = target.partition("?")
        sent: Headers = [(name.replace("_", "-"), value) for name, value in headers.items()]
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = Request("test", method, path, query.replace(" ", "%20"), sent, caller, body=data)
        return await self.worker(self.pool, 1 << 20, lambda: self.state).answer(request, Inline(data))


OPTIONS = {
    "schemas": ["public"],
    "extra_search_path": [],
    "anon_role": "rest_anon",
    "service_role": "rest_service",
}


def user(name: str) -> UserCaller:
    return UserCaller(json.dumps({"role": "rest_user", "sub": name}).encode())


def rows(response: Response) -> object:
    assert response.status in (200, 201, 206), response
    return json.loads(response.body)
