import { corsHeaders } from "cors";
import { SignatureError } from "payments";

Deno.serve((req) => {
  if (req.method === "OPTIONS") return new Response(null, { status: 204, headers: corsHeaders });
  if (!Deno.env.get("STRIPE_API_KEY")?.startsWith("sk_test_")) throw new SignatureError("no key");
  return Response.json({ url: "https://checkout.example/pay/cs_test_1" }, { headers: corsHeaders });
});
