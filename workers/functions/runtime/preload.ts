// Runs in a function's process before the function's own module (deno run --preload).
//
// - Whatever address the function passes to Deno.serve, it listens on the unix socket that the pool chose, and only there.
// - Its handler gets a Request whose URL has the public scheme and host; for a unix socket Deno reports `http+unix:`.
// - Console output is written as frames, one a line: RS, then JSON [level, request id, text]. Other lines are the runtime's.
// - EdgeRuntime.waitUntil keeps the process alive after a response. Stopping takes two signals: SIGTERM fires `beforeunload`
//   with the reason, while requests under way continue; SIGUSR2 means that no request is under way: no new ones are accepted,
//   promises of waitUntil settle, then `unload` fires.
// - A Response of another library (a polyfill, an npm package with its own class) is converted to one of the runtime.
// - `export default { fetch }` is served once the module has loaded, if nothing else serves.

import { AsyncLocalStorage } from "node:async_hooks";

type Handler = (request: Request, info: Deno.ServeHandlerInfo) => Response | Promise<Response>;
type Options = { handler?: Handler; fetch?: Handler; onError?: (error: unknown) => Response | Promise<Response>; onListen?: (at: unknown) => void };

const scope = globalThis as any;
const takeVariable = (name: string): string => {
  const value = Deno.env.get(name) ?? "";
  Deno.env.delete(name);
  return value;
};

const SOCKET = takeVariable("HEADWATER_FUNCTION_SOCKET");
const SERVES_NODE = takeVariable("HEADWATER_FUNCTION_NODE") !== "";
for (const name of ["DENO_DIR", "DENO_NO_UPDATE_CHECK", "NO_COLOR", "PATH", "DENO_NODE_SHIM_ACTIVE"]) Deno.env.delete(name);

// Console output

const current = new AsyncLocalStorage<string>();
const LEVELS = ["debug", "info", "warning", "error"];
const LONGEST_TEXT = 10_000;
const encoder = new TextEncoder();

function write(frame: unknown): void {
  const bytes = encoder.encode(`\x1e${JSON.stringify(frame)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

function log(level: string, text: string): void {
  write([level, current.getStore() ?? "", text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT) : text]);
}

const internals = (Deno as any)[(Deno as any).internal];
scope.console = new internals.Console((text: string, level: number) => log(LEVELS[level] ?? "info", text.replace(/\n$/, "")));

function inspected(error: unknown): string {
  return Deno.inspect(error, { colors: false });
}

// Requests

const PUBLIC_SCHEME = "x-forwarded-proto";
const LOCAL_SCHEME = "http+unix";
const RealRequest = globalThis.Request;
const RealResponse = globalThis.Response;
const RealHeaders = globalThis.Headers;
const RealStream = globalThis.ReadableStream;
const realFetch = globalThis.fetch;
const realClone = RealRequest.prototype.clone;
const realUrl = Object.getOwnPropertyDescriptor(RealRequest.prototype, "url")!.get!;
const served = new WeakSet<Request>();

function withPublicUrl(request: Request): Request {
  const scheme = request.headers.get(PUBLIC_SCHEME) === "https" ? "https" : "http";
  let url: string | undefined;
  served.add(request);
  Object.defineProperty(request, "url", {
    configurable: true,
    enumerable: true,
    get: () => url ??= scheme + (realUrl.call(request) as string).slice(LOCAL_SCHEME.length),
  });
  Object.defineProperty(request, "clone", {
    configurable: true,
    value: () => withPublicUrl(realClone.call(request) as Request),
  });
  return request;
}

/** Return a request that can be copied and sent: the runtime reads the URL of a served request past our property. */
function sendable(input: unknown): unknown {
  if (!(input instanceof RealRequest) || !served.has(input)) return input;
  return new RealRequest(input.url, {
    method: input.method,
    headers: input.headers,
    body: input.body,
    signal: input.signal,
    redirect: input.redirect,
    duplex: "half",
  } as RequestInit);
}

globalThis.Request = new Proxy(RealRequest, {
  construct: (target, [input, init], by) => Reflect.construct(target, [sendable(input), init], by),
});
globalThis.fetch = (input: any, init?: any) => realFetch(sendable(input) as any, init);

// Serving

const realServe = Deno.serve;
let server: Deno.HttpServer | undefined;
let hasListened = false;

const FAILED = JSON.stringify({ code: "WORKER_ERROR", message: "Function exited due to an error (please check logs)" });

function errorResponse(error: unknown): Response {
  log("error", inspected(error));
  return new RealResponse(FAILED, { status: 500, headers: { "content-type": "application/json" } });
}

/** Convert an object that resembles a Response (status, headers, body) to a Response of the runtime. */
async function toNative(foreign: any): Promise<Response> {
  if (foreign instanceof RealResponse) return foreign;
  const isResponse = typeof foreign === "object" && foreign !== null && Number.isInteger(foreign.status) &&
    typeof foreign.headers === "object" && foreign.headers !== null;
  if (!isResponse) throw new TypeError("The handler did not return a Response.");
  if (foreign.bodyUsed) throw new TypeError("The body of the Response that the handler returned was read already.");
  const headers = new RealHeaders();
  for (const [name, value] of headerFields(foreign.headers)) headers.append(name, value);
  const body = NO_BODY.includes(foreign.status) ? null : await bodyOf(foreign);
  return new RealResponse(body, { status: foreign.status, statusText: foreign.statusText || "", headers });
}

const NO_BODY = [101, 204, 205, 304];

/** Return the fields of headers of any library; several cookies stay separate fields. */
function headerFields(headers: any): [string, string][] {
  if (typeof headers.raw === "function") { // node-fetch
    return Object.entries(headers.raw()).flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, String(value)]));
  }
  let all: [string, string][] = [];
  if (typeof headers[Symbol.iterator] === "function") all = [...headers] as [string, string][];
  else if (typeof headers.forEach === "function") headers.forEach((value: string, name: string) => all.push([name, value]));
  else all = Object.entries(headers);
  const cookies: string[] = typeof headers.getSetCookie === "function" ? headers.getSetCookie() : [];
  if (cookies.length === 0) return all;
  return [...all.filter(([name]) => name.toLowerCase() !== "set-cookie"), ...cookies.map((cookie): [string, string] => ["set-cookie", cookie])];
}

/** Return the body of a foreign Response in a form that the runtime accepts: a stream, or its bytes. */
async function bodyOf(foreign: any): Promise<BodyInit | null> {
  const body = foreign.body;
  if (body === null) return null;
  if (typeof body === "string" || body instanceof RealStream || body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof Blob) {
    return body as BodyInit;
  }
  if (typeof body?.[Symbol.asyncIterator] === "function") return RealStream.from(bytes(body));
  if (typeof body?.getReader === "function") return RealStream.from(bytes(readAll(body.getReader())));
  if (typeof foreign.arrayBuffer === "function") return new Uint8Array(await foreign.arrayBuffer());
  if (typeof foreign.text === "function") return await foreign.text();
  if (body === undefined) return null;
  throw new TypeError("The handler returned a Response whose body cannot be read.");
}

async function* readAll(reader: any): AsyncGenerator<unknown> {
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel?.();
  }
}

async function* bytes(pieces: AsyncIterable<unknown>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const piece of pieces) {
    if (typeof piece === "string") yield encoder.encode(piece);
    else if (piece instanceof ArrayBuffer) yield new Uint8Array(piece);
    else if (ArrayBuffer.isView(piece)) yield new Uint8Array(piece.buffer as ArrayBuffer, piece.byteOffset, piece.byteLength);
    else throw new TypeError("The body of the Response holds what is neither text nor bytes.");
  }
}

function listening(): void {
  hasListened = true;
  write("listening");
}

function parseArguments(args: unknown[]): { handler?: Handler; options: Options } {
  const [first, second] = args as [Options | Handler, Handler | undefined];
  if (typeof first === "function") return { handler: first, options: (second ?? {}) as Options };
  const options = first ?? {};
  return { handler: second ?? options.handler ?? options.fetch, options };
}

function serve(...args: unknown[]): Deno.HttpServer {
  const { handler, options } = parseArguments(args);
  if (typeof handler !== "function") throw new TypeError("A handler function must be provided.");
  if (server) throw new Error("The function serves already: a function has one handler.");

  async function answer(request: Request, info: Deno.ServeHandlerInfo): Promise<Response> {
    const id = request.headers.get("x-request-id") ?? "";
    return await current.run(id, async () => {
      try {
        return await toNative(await handler!(withPublicUrl(request), info));
      } catch (error) {
        if (typeof options.onError === "function") {
          try {
            return await toNative(await options.onError(error));
          } catch (again) {
            return errorResponse(again);
          }
        }
        return errorResponse(error);
      }
    });
  }

  server = realServe({ path: SOCKET, onListen: listening, onError: errorResponse } as any, answer as any) as any;
  options.onListen?.({ transport: "tcp", hostname: "0.0.0.0", port: 8000 });
  return server!;
}

Object.defineProperty(Deno, "serve", { configurable: true, enumerable: true, writable: true, value: serve });

// Responses of a server of node:http that are not finished.
const unanswered = new Set<unknown>();

if (SERVES_NODE) {
  const { default: http } = await import("node:http");
  const realListen = http.Server.prototype.listen;
  http.Server.prototype.listen = function (this: any, ...args: any[]) {
    this.prependListener("request", (request: any, response: any) => {
      current.enterWith(request.headers["x-request-id"] ?? "");
      unanswered.add(response);
      response.once("close", () => unanswered.delete(response));
    });
    this.once("listening", listening);
    server = { shutdown: () => new Promise((done) => this.close(() => done(undefined))) } as any;
    return realListen.call(this, { path: SOCKET }, args.find((argument) => typeof argument === "function"));
  } as any;
}

addEventListener("load", async () => {
  if (server) return;
  const exported = (await import(Deno.mainModule)).default;
  if (typeof exported?.fetch === "function") serve((request, info) => exported.fetch(request, info));
  else if (typeof exported === "function") serve(exported);
  else if (!hasListened) {
    log("error", "The function serves nothing: call Deno.serve(handler), or export default { fetch }.");
    Deno.exit(1);
  }
});

// Work after a response, and shutdown

const awaited = new Set<Promise<unknown>>();

scope.EdgeRuntime = {
  waitUntil<T>(promise: Promise<T>): Promise<T> {
    const settled: Promise<unknown> = Promise.resolve(promise).catch((error) => log("error", inspected(error)))
      .finally(() => awaited.delete(settled));
    awaited.add(settled);
    return promise;
  },
};

// A worker thread does not fit into the address space limit of a process (sandbox/confinement.py): the whole process would crash.
scope.Worker = class {
  constructor() {
    throw new Deno.errors.NotSupported("Web Workers are not available here: a function has as many processes as it takes.");
  }
};

// Nothing that a function stores may outlive its process, and it cannot write files (host/file_rules.py). Libraries check
// whether these names exist and use their fallbacks.
for (const name of ["caches", "localStorage"]) delete scope[name];

// Deno 2.9 connects to a SOCKS proxy without checking the address that its name resolves to, so a name could lead to a denied
// address. HTTP proxies are checked against `--deny-net`; so only these are allowed. The function shares this realm and may replace
// any global later, so everything that this check needs is read into constants now.

const PROXIES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
  .flatMap((name) => { const value = Deno.env.get(name); return value ? [{ __proto__: null, name, value } as any] : []; });
const realClient = (Deno as any).createHttpClient;
const { get: getVariable, set: setVariable } = Deno.env;
const RealURL = globalThis.URL;
const { apply } = Reflect;
const hrefOf = Object.getOwnPropertyDescriptor(RealURL.prototype, "href")!.get!;
const protocolOf = Object.getOwnPropertyDescriptor(RealURL.prototype, "protocol")!.get!;
const { includes } = String.prototype;

/** Return the address of a proxy whose scheme was checked. The option is read once: a getter could return another value later. */
function proxyAddress(option: unknown): string {
  const text = `${option}`;
  const url = new RealURL(apply(includes, text, ["://"]) ? text : `http://${text}`);
  const protocol = apply(protocolOf, url, []);
  if (protocol !== "http:" && protocol !== "https:") throw new Deno.errors.NotSupported("A proxy of a function is a proxy of HTTP.");
  return apply(hrefOf, url, []);
}

/** Copy options into an object without a prototype: missing ones must not be found on a changed Object.prototype. */
function pick(from: any, names: string[]): any {
  const copy: any = { __proto__: null };
  for (let at = 0; at < names.length; at++) {
    const value = from?.[names[at]];
    if (value !== undefined) copy[names[at]] = value;
  }
  return copy;
}

function clientOptions(input: any): any {
  const options = pick(input, ["caCerts", "proxy", "cert", "key", "http1", "http2", "poolMaxIdlePerHost", "poolIdleTimeout", "allowHost", "localAddress"]);
  if (options.proxy == null) return options;
  const proxy = pick(options.proxy, ["transport", "url", "basicAuth", "hostname", "port"]);
  if (proxy.url !== undefined) proxy.url = proxyAddress(proxy.url);
  proxy.transport = `${proxy.transport ?? "http"}`;
  if (proxy.transport !== "http" && proxy.transport !== "https" && proxy.transport !== "tcp") {
    throw new Deno.errors.NotSupported("A proxy of a function is a proxy of HTTP.");
  }
  options.proxy = proxy;
  return options;
}

if (PROXIES.length) await realFetch("data:,"); // creates the client of `fetch` now, with the current variables
Object.defineProperty(Deno, "createHttpClient", {
  configurable: false,
  enumerable: true,
  writable: false,
  value: function createHttpClient(options: any): unknown {
    const copy = clientOptions(options);
    for (let at = 0; at < PROXIES.length; at++) {
      if (apply(getVariable, Deno.env, [PROXIES[at].name]) !== PROXIES[at].value) apply(setVariable, Deno.env, [PROXIES[at].name, PROXIES[at].value]);
    }
    return apply(realClient, Deno, [copy]);
  },
});

scope.Supabase = {
  ai: {
    Session: class {
      constructor() {
        throw new Error("Supabase.ai is not available here: call a model over HTTP instead.");
      }
    },
  },
};

addEventListener("unhandledrejection", (event) => {
  if (!hasListened || event.defaultPrevented) return; // before that the runtime reports it, and the start has failed
  event.preventDefault();
  log("error", `Unhandled rejection: ${inspected(event.reason)}`);
  // A handler of node:http gives no promise back: what it rejects with leaves its request unanswered for ever.
  if (unanswered.size) Deno.exit(1);
});
addEventListener("error", (event) => {
  if (!hasListened || event.defaultPrevented) return;
  event.preventDefault();
  log("error", `Uncaught ${inspected(event.error)}`);
});

let isAnnounced = false, isShuttingDown = false;

function announce(reason: string): void {
  if (isAnnounced) return;
  isAnnounced = true;
  dispatchEvent(new CustomEvent("beforeunload", { cancelable: true, detail: { reason } }));
}

async function shutDown(reason: string): Promise<void> {
  if (isShuttingDown) return;
  isShuttingDown = true;
  announce(reason);
  await server?.shutdown();
  while (awaited.size) await Promise.allSettled([...awaited]);
  Deno.exit(0); // which fires `unload`
}

Deno.addSignalListener("SIGTERM", () => announce("early_drop"));
Deno.addSignalListener("SIGUSR2", () => shutDown("early_drop"));
Deno.addSignalListener("SIGXCPU", () => shutDown("cpu"));
