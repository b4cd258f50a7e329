import { isRole } from "@/roles.ts";

const claims = (req: Request) => {
  const [, payload] = (req.headers.get("Authorization") ?? "").replace(/^Bearer /, "").split(".");
  return payload ? JSON.parse(atob(payload.replace(/-/g, "+").replace(/_/g, "/"))) : {};
};

Deno.serve(async (req) => {
  const { user_id, tenant_id, role } = await req.json();
  if (claims(req).role !== "service_role") return Response.json({ error: "not allowed" }, { status: 403 });
  if (!isRole(role)) return Response.json({ error: "unknown role" }, { status: 422 });
  const answer = await fetch(`${Deno.env.get("SUPABASE_URL")}/rest/v1/user_roles`, {
    method: "POST",
    headers: {
      apikey: Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")!,
      "Content-Profile": "core",
      "Content-Type": "application/json",
      Prefer: "resolution=merge-duplicates",
    },
    body: JSON.stringify({ user_id, tenant_id, role }),
  });
  return new Response(null, { status: answer.status });
});
