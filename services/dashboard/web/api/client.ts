/**
 * The client of the management interface: operations by name, with the types that `scripts/dashboard-types` generates.
 *
 * Every request goes through `send`: it notices a session that ended, a platform that does not answer, and an operation
 * that needs a confirmation, which it asks for and then sends the request again.
 */

import type { ByteStream, Operations } from "../generated/operations.ts";
import { managementUrl } from "./address.ts";
import { ConfirmationDeclined, errorOf, OfflineError } from "./errors.ts";
import { isOnline, isSessionOver, requestConfirmation } from "./signals.ts";

export type OperationName = keyof Operations;
export type Arguments<N extends OperationName> = Operations[N]["arguments"];
export type Result<N extends OperationName> = Operations[N]["result"];
/** Operations whose result is a stream of bytes. */
export type StreamName = { [N in OperationName]: [Result<N>] extends [ByteStream] ? N : never }[OperationName];

export interface RequestOptions {
  signal?: AbortSignal;
  /** The data of an operation that takes a body, as `rows.import`. */
  upload?: Blob | string;
}

/** Run an operation and return its result. Throws ApiError, OfflineError, ConfirmationDeclined, or AbortError. */
export async function run<N extends OperationName>(
  name: N,
  args: Arguments<N>,
  options: RequestOptions = {},
): Promise<Result<N>> {
  const response = await send(name, args, options);
  return await response.json() as Result<N>;
}

/** Run an operation whose result is a stream; read `body`, or `blob()` for a file to save. Throws as `run`. */
export function openStream<N extends StreamName>(
  name: N,
  args: Arguments<N>,
  options: RequestOptions = {},
): Promise<Response> {
  return send(name, args, options);
}

/** Return the lines of a stream of NDJSON as they arrive. Throws as `run`. */
export async function* streamLines<N extends StreamName>(
  name: N,
  args: Arguments<N>,
  options: RequestOptions = {},
): AsyncGenerator<unknown, void, void> {
  yield* linesOf(await send(name, args, options));
}

/** Return the lines of a response of NDJSON as they arrive. */
export async function* linesOf(response: Response): AsyncGenerator<unknown, void, void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + (value ?? "")).split("\n");
      rest = done ? "" : lines.pop()!;
      for (const line of lines) if (line) yield JSON.parse(line);
      if (done) return;
    }
  } finally {
    await reader.cancel();
  }
}

/** Send a body to one of the paths of signing in, as `/sign-in`. Throws ApiError, OfflineError. */
export async function post(path: string, body: unknown): Promise<unknown> {
  const response = await exchange(path, JSON.stringify(body), {});
  if (!response.ok) throw await errorOf(response);
  return await response.json();
}

async function send(name: OperationName, args: unknown, options: RequestOptions): Promise<Response> {
  for (let attempt = 0;; attempt++) {
    const query = options.upload === undefined ? "" : `?arguments=${encodeURIComponent(JSON.stringify(args))}`;
    const response = await exchange(`/operations/${name}${query}`, options.upload ?? JSON.stringify(args), options);
    if (response.ok) return response;
    const error = await errorOf(response);
    // Other answers with 401 are about what was typed, as a wrong code of an authenticator app.
    if (error.code === "not_signed_in" || error.code === "needs_factor") isSessionOver.set(true);
    if (error.code !== "needs_confirmation" || attempt > 0) throw error;
    if (!await requestConfirmation(name)) throw new ConfirmationDeclined();
  }
}

/** Send a body to a path of the management interface, whatever its answer. Throws OfflineError, AbortError. */
export async function exchange(path: string, body: BodyInit, options: RequestOptions): Promise<Response> {
  try {
    const response = await fetch(managementUrl + path, {
      method: "POST",
      headers: { "content-type": typeof body === "string" ? "application/json" : "application/octet-stream" },
      body,
      credentials: "same-origin",
      redirect: "error",
      signal: options.signal ?? null,
    });
    // Between platform and browser stands a proxy that has nobody to ask, or the platform is starting.
    isOnline.set(response.status !== 502);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    isOnline.set(false);
    throw new OfflineError();
  }
}
