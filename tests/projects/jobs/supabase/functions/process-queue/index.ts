const base = `${Deno.env.get("SUPABASE_URL")}/rest/v1/rpc`;
const headers = {
  apikey: Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")!,
  Authorization: `Bearer ${Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")}`,
  "Content-Type": "application/json",
  "Content-Profile": "pgmq_public",
};

async function call(name: string, body: unknown) {
  const answer = await fetch(`${base}/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.json();
}

Deno.serve(async () => {
  const most = Number(Deno.env.get("BATCH_SIZE") ?? 1);
  const messages = await call("read", { queue_name: "mail", sleep_seconds: 30, n: most });
  for (const { msg_id, message } of messages) {
    console.info("mail to", message.to);
    await call("archive", { queue_name: "mail", message_id: msg_id });
  }
  return Response.json({ done: messages.length });
});
