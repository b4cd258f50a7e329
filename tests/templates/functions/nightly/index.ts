// Called by the clock: POST with {"scheduled_at"}.
Deno.serve(async (req) => {
  const { scheduled_at } = await req.json();
  const day = new Date(scheduled_at).toISOString().slice(0, 10);
  console.log(`report of ${day}`);
  return Response.json({ day });
});
