// From before Deno.serve: the standard library's server and its encodings.
import { serve } from "https://deno.land/std@0.168.0/http/server.ts";
import { encode } from "https://deno.land/std@0.168.0/encoding/base64.ts";
import "https://deno.land/std@0.168.0/dotenv/load.ts";

serve(async (req) => {
  const { name } = await req.json();
  return new Response(JSON.stringify({ greeting: `Hello ${name}`, encoded: encode(name) }), {
    headers: { "Content-Type": "application/json" },
  });
});
