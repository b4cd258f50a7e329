// The official JavaScript client on /mcp: a handshake, tools, errors, cancelling.
import assert from "node:assert/strict";
import { test } from "node:test";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { LINK, MCP_URL, READING, WRITING } = process.env;

async function connect(token, query = "") {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(MCP_URL + query), { requestInit }));
  return client;
}

const sql = (client, query, options) =>
  client.callTool({ name: "execute_sql", arguments: { query } }, undefined, options);

test("a token that reads lists tools and reads", async () => {
  const client = await connect(READING);
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  const result = await sql(client, "select body from notes");

  assert.equal(client.getServerVersion().name, "headwater");
  assert.ok(names.includes("execute_sql") && !names.includes("apply_migration"));
  assert.match(result.content[0].text, /<untrusted-data-[0-9a-f]{16}>\n.*SYSTEM.*\n<\/untrusted-data-/s);
  await client.close();
});

test("a token that reads does not write", async () => {
  const client = await connect(READING);
  const result = await sql(client, "delete from notes");

  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /"25006"|"42501"/);
  await assert.rejects(client.callTool({ name: "apply_migration", arguments: { name: "a", query: "select 1" } }), /-32602|no tool/);
  await client.close();
});

test("a token that writes does, unless its address narrows it", async () => {
  const client = await connect(WRITING);
  assert.match((await sql(client, "insert into notes values (2, 'two')")).content[0].text, /INSERT 0 1/);
  await client.close();
  const narrow = await connect(WRITING, "?read_only=true");
  assert.equal((await sql(narrow, "delete from notes")).isError, true);
  await narrow.close();
});

test("a request that is aborted stops its statement", async () => {
  const client = await connect(READING);
  const observer = await connect(WRITING);
  const running = async () =>
    (await sql(observer, "select 'n=' || count(*) from pg_stat_activity where query = 'select pg_sleep(22)' and state = 'active'")).content[0].text;
  const abort = new AbortController();
  const call = assert.rejects(sql(client, "select pg_sleep(22)", { signal: abort.signal }));
  while (!(await running()).includes("n=1"));
  abort.abort();
  await call;
  while (!(await running()).includes("n=0"));
  await client.close();
  await observer.close();
});

test("resources are pages of the manual", async () => {
  const client = await connect(READING);
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: "docs://mcp" });

  assert.ok(resources.some((resource) => resource.uri === "docs://realtime"));
  assert.match(contents[0].text, /^# Agents/);
  assert.deepEqual(await client.ping(), {});
  await client.close();
});

test("without a token there is no connection", async () => {
  await assert.rejects(connect("sbp_" + "0".repeat(40)));
});

// Consents as the dashboard does: a session of an administrator, the request of the address, the address that carries the code.
async function consent(asked) {
  const { origin } = new URL(MCP_URL);
  const headers = { "content-type": "application/json", origin };
  const post = (path, body, more = {}) =>
    fetch(`${origin}/management/v1${path}`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const signedIn = await post("/sign-in", { link: LINK });
  const cookie = signedIn.headers.getSetCookie()[0].split(";")[0];
  const page = await fetch(asked, { redirect: "manual" });
  const request = Object.fromEntries(new URL(page.headers.get("location"), origin).searchParams);
  const allowed = await (await post("/operations/connections.allow", { request }, { cookie })).json();
  return new URL(allowed.redirect_to).searchParams.get("code");
}

test("a client without a token signs in by OAuth, and renews what has ended", async () => {
  const stored = {};
  const authProvider = {
    redirectUrl: "http://127.0.0.1:9/callback",
    clientMetadata: { client_name: "test", redirect_uris: ["http://127.0.0.1:9/callback"], token_endpoint_auth_method: "none" },
    clientInformation: () => stored.client,
    saveClientInformation: (client) => stored.client = client,
    tokens: () => stored.tokens,
    saveTokens: (tokens) => stored.tokens = tokens,
    redirectToAuthorization: (url) => stored.asked = url,
    saveCodeVerifier: (verifier) => stored.verifier = verifier,
    codeVerifier: () => stored.verifier,
  };
  const client = () => new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(MCP_URL), { authProvider });
  await assert.rejects(client().connect(transport), UnauthorizedError);
  await transport.finishAuth(await consent(stored.asked));
  const first = stored.tokens;
  stored.tokens = { ...first, access_token: "sbp_" + "0".repeat(40) };
  const connected = client();
  await connected.connect(new StreamableHTTPClientTransport(new URL(MCP_URL), { authProvider }));

  assert.ok((await connected.listTools()).tools.some(({ name }) => name === "list_tables"));
  assert.notEqual(stored.tokens.refresh_token, first.refresh_token);
  await connected.close();
});
