"""A careful server written by hand, as a peer: Fastify, pg and jsonwebtoken, before the same Postgres.

It does for each request what Headwater does: it verifies the token, and asks as the role of the token with its claims as
settings, in a transaction of its own. Statements are prepared by name, connections are pooled, answers are written by a
compiled schema. It knows its two routes and nothing else: no filters, no schema cache, no limits, no other processes.
"""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.bench.peers.installation import npm_package
from tests.bench.postgraphile import node_program, wait_for
from tests.ports import free_port

PACKAGES = ("fastify@5.12.8", "pg@8.23.1", "jsonwebtoken@9.0.3")
_SERVER = """
import Fastify from "fastify";
import jsonwebtoken from "jsonwebtoken";
import pg from "pg";

const secret = process.env.BENCH_SECRET;
const pool = new pg.Pool({ connectionString: process.env.BENCH_URL, max: 20 });
const app = Fastify();

const settings = "select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)";

function claimsOf(request) {
  const [scheme, token] = (request.headers.authorization ?? "").split(" ");
  if (scheme.toLowerCase() !== "bearer") throw Object.assign(new Error("no token"), { statusCode: 401 });
  try {
    return jsonwebtoken.verify(token, secret, { algorithms: ["HS256"] });
  } catch {
    throw Object.assign(new Error("invalid token"), { statusCode: 401 });
  }
}

async function asCaller(request, statement) {
  const claims = claimsOf(request);
  const client = await pool.connect();
  let broken;
  try {
    await client.query("begin");
    await client.query({ name: "settings", text: settings, values: [claims.role, JSON.stringify(claims)] });
    const result = await client.query(statement);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((lost) => { broken = lost; });
    throw error;
  } finally {
    client.release(broken);
  }
}

const row = {
  type: "object",
  properties: {
    id: { type: "integer" }, name: { type: "string" }, price: { type: "number" }, qty: { type: "integer" },
    note: { type: "string", nullable: true },
  },
};
const readText = "select id, name, price::float8 as price, qty, note from public.items where id = $1";
const insertText = "insert into public.sink (name, price, qty, note) values ($1, $2, $3, $4)";

app.get("/items/:id", {
  schema: { params: { type: "object", properties: { id: { type: "integer" } } }, response: { 200: row } },
}, async (request, reply) => {
  const { rows } = await asCaller(request, { name: "read", text: readText, values: [request.params.id] });
  if (rows.length === 0) return reply.code(404).send();
  return rows[0];
});

app.post("/sink", { schema: { body: row } }, async (request, reply) => {
  const { name, price, qty, note } = request.body;
  await asCaller(request, { name: "insert", text: insertText, values: [name, price, qty, note] });
  return reply.code(201).send();
});

await app.listen({ port: Number(process.env.BENCH_PORT), host: "127.0.0.1" });
"""


@dataclass(frozen=True, slots=True)
class FastifyServer:
    """A running server: its process and its port on 127.0.0.1."""

    pid: int
    port: int

    def row(self, number: int, token: str) -> Any:
        """Return a row by its key. Raises: urllib.error.HTTPError."""
        headers = {"Authorization": f"Bearer {token}"}
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/items/{number}", headers=headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)


@contextmanager
def running_fastify(database_url: str, secret: str) -> Iterator[FastifyServer]:
    """Run the server. Raises: PeerUnavailable; SystemExit if it does not start."""
    folder = npm_package("fastify", *PACKAGES)
    (folder / "server.mjs").write_text(_SERVER)
    port = free_port()
    environment = {
        **os.environ,
        "BENCH_URL": database_url,
        "BENCH_SECRET": secret,
        "BENCH_PORT": str(port),
        "NODE_ENV": "production",
    }
    process = subprocess.Popen(
        [str(node_program()), "server.mjs"],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port)
        yield FastifyServer(process.pid, port)
    finally:
        process.terminate()
        process.wait(30)
