/** Errors of requests: what a view needs to show them. */

import { texts } from "../texts.ts";

/** An answer that is an error: a stable code, what happened, what to do, and the id by which logs find the request. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly requestId: string,
    /** All members of the answer: SQL errors have `position`, `details`; conflicts have the row as it is now. */
    readonly body: { readonly [name: string]: unknown },
  ) {
    super(message);
  }
}

/** The platform did not answer: no network, or it is being restarted. */
export class OfflineError extends Error {
  override name = "OfflineError";

  constructor() {
    super(texts.errors.offline);
  }
}

/** The administrator closed the dialog that asks for a confirmation. */
export class ConfirmationDeclined extends Error {
  override name = "ConfirmationDeclined";

  constructor() {
    super(texts.errors.notConfirmed);
  }
}

/** Return the error that a response stands for. */
export async function errorOf(response: Response): Promise<ApiError> {
  let body: { [name: string]: unknown } = {};
  try {
    const parsed: unknown = await response.json();
    if (typeof parsed === "object" && parsed !== null) body = parsed as { [name: string]: unknown };
  } catch {
    // A proxy answered with a page of its own.
  }
  const text = (name: string, otherwise: string) => typeof body[name] === "string" ? body[name] as string : otherwise;
  return new ApiError(
    response.status,
    text("code", `http_${response.status}`),
    text("message", texts.errors.withoutMessage(response.status)),
    text("hint", ""),
    response.headers.get("x-request-id") ?? "",
    body,
  );
}

/** Return whether an error says that the administrator may not do this. */
export function isNoRight(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "no_right" || error.code === "read_only_token");
}

/** Return whether an error is nothing to report: the administrator stopped it. */
export function isStopped(error: unknown): boolean {
  return error instanceof ConfirmationDeclined || (error instanceof DOMException && error.name === "AbortError");
}
