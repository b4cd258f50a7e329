import { post } from "./client.ts";
import { ApiError } from "./errors.ts";

interface SessionState {
  is_signed_in: boolean;
  needs_factor: boolean;
}

/** Throw what an operation would be refused with, where there is no session: browsers report such an answer as a fault of the page. */
export async function checkSession(): Promise<void> {
  let session: SessionState;
  try {
    session = await post("/session", {}) as SessionState;
  } catch (error) {
    // While a platform is being upgraded its workers may not know the path yet: the operation itself tells.
    if (error instanceof ApiError && error.status === 404) return;
    throw error;
  }
  if (!session.is_signed_in) throw refusal(401, "not_signed_in");
  if (session.needs_factor) throw refusal(403, "needs_factor");
}

function refusal(status: number, code: string): ApiError {
  return new ApiError(status, code, code, "", "", {});
}
