/**
 * Requests to the interfaces of applications (`/rest/v1`, `/graphql/v1`), as an application makes them: with the
 * publishable key, and as a user with a token of this user. Administrators have no other way into them: the session of
 * the dashboard counts at the management interface only.
 */

import { gatewayUrl } from "./address.ts";

/** The caller: anon with the publishable key alone (null), or a user. */
export type AppCaller = { id: string; name: string; token: string; endsAt: number } | null;

export interface AppRequest {
  /** `GET` unless given. */
  method?: string;
  /** Below the gateway: `/rest/v1/todos?select=*`. */
  path: string;
  headers?: { readonly [name: string]: string };
  body?: string;
}

export interface AppAnswer {
  status: number;
  headers: readonly (readonly [string, string])[];
  /** At most `mostBody` characters. */
  text: string;
  isCut: boolean;
  ms: number;
}

const mostBody = 1024 * 1024;

/** Send a request of an application and return its answer, whatever its status. Throws TypeError without an answer. */
export async function askAsApp(
  request: AppRequest,
  key: string,
  caller: AppCaller,
  signal?: AbortSignal,
): Promise<AppAnswer> {
  const began = performance.now();
  const response = await fetch(gatewayUrl + request.path, {
    method: request.method ?? "GET",
    headers: { ...appHeaders(key, caller), ...request.headers },
    credentials: "omit",
    cache: "no-store",
    ...(request.body === undefined ? {} : { body: request.body }),
    ...(signal ? { signal } : {}),
  });
  const { text, isCut } = await readText(response);
  return {
    status: response.status,
    headers: [...response.headers].sort(([a], [b]) => a.localeCompare(b)),
    text,
    isCut,
    ms: performance.now() - began,
  };
}

/** Return the headers that say who asks. */
export function appHeaders(key: string, caller: AppCaller): { [name: string]: string } {
  return { apikey: key, ...(caller ? { Authorization: `Bearer ${caller.token}` } : {}) };
}

async function readText(response: Response): Promise<{ text: string; isCut: boolean }> {
  if (!response.body) return { text: "", isCut: false };
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text, isCut: false };
    text += value;
    if (text.length > mostBody) {
      void reader.cancel();
      return { text: text.slice(0, mostBody), isCut: true };
    }
  }
}
