/** A request to the data interface with the rights of the caller. */
export async function rest(req: Request, path: string, init: RequestInit = {}) {
  const answer = await fetch(`${Deno.env.get("SUPABASE_URL")}/rest/v1/${path}`, {
    ...init,
    headers: {
      apikey: Deno.env.get("SUPABASE_ANON_KEY") ?? "",
      Authorization: req.headers.get("Authorization") ?? "",
      "Content-Type": "application/json",
      ...init.headers,
    },
  });
  return { ok: answer.ok, status: answer.status, data: await answer.json().catch(() => null) };
}
