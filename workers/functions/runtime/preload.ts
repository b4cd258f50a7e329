// Runs in a function's process before the function's own module (deno run --preload).
//
// - Whatever address the function names, it listens on the socket that the pool chose, and only there.
// - Its handler gets a Request whose URL has the public scheme and host; over a unix socket Deno gives `http+unix:`.
// - What it prints leaves as frames, one a line: RS, then JSON [level, request id, text]. Other lines are the runtime's.
// - EdgeRuntime.waitUntil keeps the process alive after an answer; a signal begins its end: no new requests,
//   `beforeunload` with the reason, then what is awaited, then `unload`.
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
  return new Response(FAILED, { status: 500, headers: { "content-type": "application/json" } });
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
        const response = await handler!(published(request), info);
        if (!(response instanceof Response)) throw new TypeError("The handler did not return a Response.");
        return response;
      } catch (error) {
        if (typeof options.onError === "function") {
          try {
            return await options.onError(error);
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

let isEnding = false;

async function end(reason: string): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  dispatchEvent(new CustomEvent("beforeunload", { cancelable: true, detail: { reason } }));
  await server?.shutdown();
  while (awaited.size) await Promise.allSettled([...awaited]);
  Deno.exit(0); // which fires `unload`
}

Deno.addSignalListener("SIGTERM", () => end("early_drop"));
Deno.addSignalListener("SIGUSR2", () => end("wall_clock"));
Deno.addSignalListener("SIGXCPU", () => end("cpu"));
