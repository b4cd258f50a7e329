// Opened from a mail: nobody is signed in yet.
import { corsHeaders } from "shared/cors.ts";
import { rest } from "shared/rest.ts";

Deno.serve(async (req) => {
  const token = new URL(req.url).searchParams.get("token");
  if (!token) return new Response("missing token", { status: 400, headers: corsHeaders });
  const { status, data } = await rest(req, "rpc/accept_invitation", {
    method: "POST",
    body: JSON.stringify({ invitation_token: token }),
  });
  return Response.json(data, { status, headers: corsHeaders });
});
