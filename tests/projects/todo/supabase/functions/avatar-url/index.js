Deno.serve(async (req) => {
  const { user } = await req.json().catch(() => ({}));
  const path = user ? `${user}/avatar.png` : "defaults/red.svg";
  return new Response(JSON.stringify({ url: `${Deno.env.get("SUPABASE_URL")}/storage/v1/object/public/avatars/${path}` }), {
    headers: { "Content-Type": "application/json" },
  });
});
