// Third parties have no token: the signature is what counts (verify_jwt = false).
import { SignatureError, verify } from "../_shared/payments.ts";

const url = Deno.env.get("SUPABASE_URL")!;
const key = Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")!;

type Event = { id: string; type: string; data: { object: Record<string, unknown> } };

const upsert = (table: string, row: unknown) =>
  fetch(`${url}/rest/v1/${table}`, {
    method: "POST",
    headers: {
      apikey: key,
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      Prefer: "resolution=merge-duplicates",
    },
    body: JSON.stringify(row),
  });

Deno.serve(async (request) => {
  const body = await request.text();
  try {
    const secret = Deno.env.get("STRIPE_WEBHOOK_SIGNING_SECRET");
    if (!secret) throw new Error("STRIPE_WEBHOOK_SIGNING_SECRET is not set");
    const event = (await verify(body, request.headers.get("Stripe-Signature"), secret)) as Event;
    switch (event.type) {
      case "product.created":
      case "product.updated":
        await upsert("products", event.data.object);
        break;
      case "price.created":
      case "price.updated":
        await upsert("prices", event.data.object);
        break;
      default:
        console.warn(`unhandled event ${event.type}`);
    }
    return new Response(JSON.stringify({ received: true }), { status: 200 });
  } catch (error) {
    const status = error instanceof SignatureError ? 400 : 500;
    return new Response((error as Error).message, { status });
  }
});
