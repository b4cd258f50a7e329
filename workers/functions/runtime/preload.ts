// Runs in a function's process before the function's own module (deno run --preload).
//
// - Whatever address the function names, it listens on the socket that the pool chose, and only there.
// - Its handler gets a Request whose URL has the public scheme and host; over a unix socket Deno gives `http+unix:`.
// - What it prints leaves as frames, one a line: RS, then JSON [level, request id, text]. Other lines are the runtime's.
// - EdgeRuntime.waitUntil keeps the process alive after an answer. Its end has two signals: SIGTERM fires `beforeunload`
//   with the reason while requests that it was given go on; SIGUSR2 says that there are none: no new ones are taken, what
//   is awaited settles, then `unload`.
// - A Response of another library (a polyfill, an npm package that brings its own) becomes one of the runtime.
// - `export default { fetch }` is served when the module has been read and nothing serves.

import { AsyncLocalStorage } from "node:async_hooks";

type Handler = (request: Request, info: Deno.ServeHandlerInfo) => Response | Promise<Response>;
type Options = { handler?: Handler; fetch?: Handler; onError?: (error: unknown) => Response | Promise<Response>; onListen?: (at: unknown) => void };

const scope = globalThis as any;
const take = (name: string): string => {
  const value = Deno.env.get(name) ?? "";
  Deno.env.delete(name);
  return value;
};

const SOCKET = take("HEADWATER_FUNCTION_SOCKET");
const SERVES_NODE = take("HEADWATER_FUNCTION_NODE") !== "";
for (const name of ["DENO_DIR", "DENO_NO_UPDATE_CHECK", "NO_COLOR", "PATH", "DENO_NODE_SHIM_ACTIVE"]) Deno.env.delete(name);

// Printing

const current = new AsyncLocalStorage<string>();
const LEVELS = ["debug", "info", "warning", "error"];
const LONGEST_TEXT = 10_000;
const encoder = new TextEncoder();

function write(frame: unknown): void {
  const bytes = encoder.encode(`\x1e${JSON.stringify(frame)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

function tell(level: string, text: string): void {
  write([level, current.getStore() ?? "", text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT) : text]);
}

const internals = (Deno as any)[(Deno as any).internal];
scope.console = new internals.Console((text: string, level: number) => tell(LEVELS[level] ?? "info", text.replace(/\n$/, "")));

function shown(error: unknown): string {
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

function published(request: Request): Request {
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
    value: () => published(realClone.call(request) as Request),
  });
  return request;
}

/** Give a request that can be copied and sent: the runtime reads the URL of a served one past our property. */
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

function failed(error: unknown): Response {
  tell("error", shown(error));
  return new RealResponse(FAILED, { status: 500, headers: { "content-type": "application/json" } });
}

/** Give a Response of the runtime for one that is only like it: status, headers, body. */
async function native(given: any): Promise<Response> {
  if (given instanceof RealResponse) return given;
  const isAlike = typeof given === "object" && given !== null && Number.isInteger(given.status) &&
    typeof given.headers === "object" && given.headers !== null;
  if (!isAlike) throw new TypeError("The handler did not return a Response.");
  if (given.bodyUsed) throw new TypeError("The body of the Response that the handler returned was read already.");
  const headers = new RealHeaders();
  for (const [name, value] of fields(given.headers)) headers.append(name, value);
  const body = NO_BODY.includes(given.status) ? null : await content(given);
  return new RealResponse(body, { status: given.status, statusText: given.statusText || "", headers });
}

const NO_BODY = [101, 204, 205, 304];

/** Give the fields of headers of any kind; several cookies stay several. */
function fields(headers: any): [string, string][] {
  if (typeof headers.raw === "function") { // node-fetch
    return Object.entries(headers.raw()).flatMap(([name, all]) => [all].flat().map((one): [string, string] => [name, String(one)]));
  }
  let found: [string, string][] = [];
  if (typeof headers[Symbol.iterator] === "function") found = [...headers] as [string, string][];
  else if (typeof headers.forEach === "function") headers.forEach((value: string, name: string) => found.push([name, value]));
  else found = Object.entries(headers);
  const cookies: string[] = typeof headers.getSetCookie === "function" ? headers.getSetCookie() : [];
  if (cookies.length === 0) return found;
  return [...found.filter(([name]) => name.toLowerCase() !== "set-cookie"), ...cookies.map((one): [string, string] => ["set-cookie", one])];
}

/** Give the body of a foreign Response in a form that the runtime takes: a stream as it is made, else its bytes. */
async function content(given: any): Promise<BodyInit | null> {
  const body = given.body;
  if (body === null) return null;
  if (typeof body === "string" || body instanceof RealStream || body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof Blob) {
    return body as BodyInit;
  }
  if (typeof body?.[Symbol.asyncIterator] === "function") return RealStream.from(bytes(body));
  if (typeof body?.getReader === "function") return RealStream.from(bytes(readAll(body.getReader())));
  if (typeof given.arrayBuffer === "function") return new Uint8Array(await given.arrayBuffer());
  if (typeof given.text === "function") return await given.text();
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

function asked(args: unknown[]): { handler?: Handler; options: Options } {
  const [first, second] = args as [Options | Handler, Handler | undefined];
  if (typeof first === "function") return { handler: first, options: (second ?? {}) as Options };
  const options = first ?? {};
  return { handler: second ?? options.handler ?? options.fetch, options };
}

function serve(...args: unknown[]): Deno.HttpServer {
  const { handler, options } = asked(args);
  if (typeof handler !== "function") throw new TypeError("A handler function must be provided.");
  if (server) throw new Error("The function serves already: a function has one handler.");

  async function answer(request: Request, info: Deno.ServeHandlerInfo): Promise<Response> {
    const id = request.headers.get("x-request-id") ?? "";
    return await current.run(id, async () => {
      try {
        return await native(await handler!(published(request), info));
      } catch (error) {
        if (typeof options.onError === "function") {
          try {
            return await native(await options.onError(error));
          } catch (again) {
            return failed(again);
          }
        }
        return failed(error);
      }
    });
  }

  server = realServe({ path: SOCKET, onListen: listening, onError: failed } as any, answer as any) as any;
  options.onListen?.({ transport: "tcp", hostname: "0.0.0.0", port: 8000 });
  return server!;
}

Object.defineProperty(Deno, "serve", { configurable: true, enumerable: true, writable: true, value: serve });

if (SERVES_NODE) {
  const { default: http } = await import("node:http");
  const realListen = http.Server.prototype.listen;
  http.Server.prototype.listen = function (this: any, ...args: any[]) {
    this.prependListener("request", (request: any) => current.enterWith(request.headers["x-request-id"] ?? ""));
    this.once("listening", listening);
    server = { shutdown: () => new Promise((done) => this.close(() => done(undefined))) } as any;
    return realListen.call(this, { path: SOCKET }, args.find((each) => typeof each === "function"));
  } as any;
}

addEventListener("load", async () => {
  if (server) return;
  const exported = (await import(Deno.mainModule)).default;
  if (typeof exported?.fetch === "function") serve((request, info) => exported.fetch(request, info));
  else if (typeof exported === "function") serve(exported);
  else if (!hasListened) {
    tell("error", "The function serves nothing: call Deno.serve(handler), or export default { fetch }.");
    Deno.exit(1);
  }
});

// What goes on behind an answer, and the end

const awaited = new Set<Promise<unknown>>();

scope.EdgeRuntime = {
  waitUntil<T>(promise: Promise<T>): Promise<T> {
    const settled: Promise<unknown> = Promise.resolve(promise).catch((error) => tell("error", shown(error)))
      .finally(() => awaited.delete(settled));
    awaited.add(settled);
    return promise;
  },
};

// A thread of its own has no room in the address space of a process (confine.py): it would end the whole of it.
scope.Worker = class {
  constructor() {
    throw new Deno.errors.NotSupported("Web Workers are not available here: a function has as many processes as it takes.");
  }
};

// Nothing that a function stores in its process may outlive it, and no file can be written (readable.py): libraries find
// these names missing, and use what they have for such places.
for (const name of ["caches", "localStorage"]) delete scope[name];

// A proxy of SOCKS is connected to without a look at the address that its name stands for (Deno 2.9), so a name could stand
// for what is closed. Proxies of HTTP are compared with `--deny-net`. Everything here is taken now: the function may replace it later.

const PROXIES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
  .flatMap((name) => { const value = Deno.env.get(name); return value ? [{ __proto__: null, name, value } as any] : []; });
const realClient = (Deno as any).createHttpClient;
const { get: getVariable, set: setVariable } = Deno.env;
const RealURL = globalThis.URL;
const { apply } = Reflect;
const hrefOf = Object.getOwnPropertyDescriptor(RealURL.prototype, "href")!.get!;
const protocolOf = Object.getOwnPropertyDescriptor(RealURL.prototype, "protocol")!.get!;
const { includes } = String.prototype;

/** The address of a proxy, as its scheme was judged: nothing reads the options a second time. */
function proxyAddress(given: unknown): string {
  const text = `${given}`;
  const url = new RealURL(apply(includes, text, ["://"]) ? text : `http://${text}`);
  const protocol = apply(protocolOf, url, []);
  if (protocol !== "http:" && protocol !== "https:") throw new Deno.errors.NotSupported("A proxy of a function is a proxy of HTTP.");
  return apply(hrefOf, url, []);
}

/** Copy what options have, into one without a prototype: what they lack is not looked for elsewhere. */
function picked(from: any, names: string[]): any {
  const copy: any = { __proto__: null };
  for (let at = 0; at < names.length; at++) {
    const value = from?.[names[at]];
    if (value !== undefined) copy[names[at]] = value;
  }
  return copy;
}

function clientOptions(given: any): any {
  const options = picked(given, ["caCerts", "proxy", "cert", "key", "http1", "http2", "poolMaxIdlePerHost", "poolIdleTimeout", "allowHost", "localAddress"]);
  if (options.proxy == null) return options;
  const proxy = picked(options.proxy, ["transport", "url", "basicAuth", "hostname", "port"]);
  if (proxy.url !== undefined) proxy.url = proxyAddress(proxy.url);
  proxy.transport = `${proxy.transport ?? "http"}`;
  if (proxy.transport !== "http" && proxy.transport !== "https" && proxy.transport !== "tcp") {
    throw new Deno.errors.NotSupported("A proxy of a function is a proxy of HTTP.");
  }
  options.proxy = proxy;
  return options;
}

if (PROXIES.length) await realFetch("data:,"); // the client of `fetch` is made once, by the variables of this moment
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
  if (!hasListened || event.defaultPrevented) return; // before that the runtime tells it, and the start has failed
  event.preventDefault();
  tell("error", `Unhandled rejection: ${shown(event.reason)}`);
});
addEventListener("error", (event) => {
  if (!hasListened || event.defaultPrevented) return;
  event.preventDefault();
  tell("error", `Uncaught ${shown(event.error)}`);
});

let isTold = false, isEnding = false;

function announce(reason: string): void {
  if (isTold) return;
  isTold = true;
  dispatchEvent(new CustomEvent("beforeunload", { cancelable: true, detail: { reason } }));
}

async function end(reason: string): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  announce(reason);
  await server?.shutdown();
  while (awaited.size) await Promise.allSettled([...awaited]);
  Deno.exit(0); // which fires `unload`
}

Deno.addSignalListener("SIGTERM", () => announce("early_drop"));
Deno.addSignalListener("SIGUSR2", () => end("early_drop"));
Deno.addSignalListener("SIGXCPU", () => end("cpu"));
