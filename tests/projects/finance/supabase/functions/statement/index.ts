import { encodeHex } from "@std/encoding/hex";

Deno.serve(async (req: Request) => {
  const { account, month } = await req.json();
  const answer = await fetch(`${Deno.env.get("SUPABASE_URL")}/rest/v1/rpc/statement`, {
    method: "POST",
    headers: {
      apikey: Deno.env.get("SUPABASE_ANON_KEY")!,
      Authorization: req.headers.get("Authorization")!,
      "Content-Type": "application/json",
      "Content-Profile": "ledger",
      Accept: "text/csv",
    },
    body: JSON.stringify({ account, month }),
  });
  const csv = await answer.text();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(csv));
  return new Response(csv, {
    status: answer.status,
    headers: { "Content-Type": "text/csv", "X-Digest": encodeHex(new Uint8Array(digest)) },
  });
});
