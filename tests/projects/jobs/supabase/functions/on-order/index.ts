type Payload = { type: "INSERT" | "UPDATE" | "DELETE"; table: string; schema: string; record: { id: number } | null; old_record: unknown };

Deno.serve(async (req) => {
  const payload: Payload = await req.json();
  const work = async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    console.log(`order ${payload.record?.id ?? "?"}: ${payload.type}`);
  };
  EdgeRuntime.waitUntil(work());
  return new Response(null, { status: 202 });
});
