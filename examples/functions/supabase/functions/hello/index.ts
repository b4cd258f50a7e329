// The smallest function: a name in, a greeting out.
import "jsr:@supabase/functions-js/edge-runtime.d.ts";

Deno.serve(async (req) => {
  const { name = "world" } = (await req.json().catch(() => null)) ?? {};

  return new Response(JSON.stringify({ message: `Hello ${name}!` }), {
    headers: { "Content-Type": "application/json", "Connection": "keep-alive" },
  });
});
