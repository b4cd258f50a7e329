Deno.serve(async (req) => {
  const { scheduled_at } = await req.json();
  return new Response(`nightly of ${scheduled_at ?? "now"}`);
});
