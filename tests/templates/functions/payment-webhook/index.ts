// A webhook whose sender signs "<time>.<body>" with a shared secret, as payment services do.
import { createHmac, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";

const secret = Deno.env.get("WEBHOOK_SECRET")!;

function isGenuine(header: string, body: string): boolean {
  const parts = Object.fromEntries(header.split(",").map((part) => part.split("=") as [string, string]));
  const expected = createHmac("sha256", secret).update(`${parts.t}.${body}`).digest("hex");
  const given = Buffer.from(parts.v1 ?? "", "utf8");
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected, "utf8"));
}

Deno.serve(async (req) => {
  const body = await req.text();
  if (!isGenuine(req.headers.get("Stripe-Signature") ?? "", body)) {
    return new Response("Bad signature", { status: 400 });
  }
  const event = JSON.parse(body);
  console.log(`Event ${event.type}`);
  return Response.json({ received: true, type: event.type });
});
