import { corsHeaders } from "../_shared/cors.ts";
import { rest } from "../_shared/rest.ts";

interface Invitation {
  organization_id: string;
  email: string;
  role?: "admin" | "member" | "billing";
}

Deno.serve(async (req: Request) => {
  if (req.method === "OPTIONS") {
    return new Response("ok", { headers: corsHeaders });
  }
  const headers = { ...corsHeaders, "Content-Type": "application/json" };
  try {
    const { organization_id, email, role } = (await req.json()) as Invitation;
    if (!organization_id || !email) throw new Error("organization_id and email are required");
    const { ok, data } = await rest(req, "invitations?select=id,email", {
      method: "POST",
      headers: { Prefer: "return=representation" },
      body: JSON.stringify({ organization_id, email, role }),
    });
    console.log(`invited by ${Deno.env.get("MAIL_FROM")}`);
    return new Response(JSON.stringify(data), { headers, status: ok ? 200 : 403 });
  } catch (error) {
    return new Response(JSON.stringify({ error: (error as Error).message }), { headers, status: 400 });
  }
});
