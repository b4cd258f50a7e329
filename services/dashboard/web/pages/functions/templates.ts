/** What a new function begins with. */

import type { DeployedSettings } from "../../generated/operations.ts";

export type TemplateId = "hello" | "webhook" | "scheduled";

const hello = `Deno.serve(async (request) => {
  const { name } = request.method === "POST" ? await request.json() : { name: "world" };
  console.log("greets", name);
  return Response.json({ message: \`Hello \${name}\` });
});
`;

const webhook = `// Set the secret WEBHOOK_SECRET; the sender puts it into the header x-webhook-secret.
Deno.serve(async (request) => {
  const secret = Deno.env.get("WEBHOOK_SECRET");
  if (!secret || request.headers.get("x-webhook-secret") !== secret) {
    return Response.json({ message: "The secret is missing or wrong" }, { status: 401 });
  }
  const event = await request.json();
  console.log("received", event.type);
  return Response.json({ received: true });
});
`;

const scheduled = `// The scheduler calls it by POST with { scheduled_at } and the service key.
Deno.serve(async (request) => {
  const { scheduled_at } = await request.json();
  console.log("scheduled for", scheduled_at);
  return new Response(null, { status: 204 });
});
`;

export const emptySettings: DeployedSettings = {
  enabled: true,
  verify_jwt: true,
  import_map: "",
  entrypoint: "",
  static_files: [],
  schedule: "",
  timezone: "UTC",
  memory_mb: null,
  cpu_ms: null,
  timeout_s: null,
  concurrency: null,
  max_instances: null,
  allow_net: null,
  database: null,
};

export const templates: { [id in TemplateId]: { code: string; settings: DeployedSettings } } = {
  hello: { code: hello, settings: emptySettings },
  webhook: { code: webhook, settings: { ...emptySettings, verify_jwt: false } },
  scheduled: { code: scheduled, settings: { ...emptySettings, schedule: "*/5 * * * *" } },
};
