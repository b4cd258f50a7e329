import { serve } from "https://deno.land/std@0.177.0/http/server.ts";

const WORDS = ["spam", "scam"];

// Called by a database webhook with the row that was inserted.
serve(async (req) => {
  const { record } = await req.json();
  const bad = WORDS.filter((word) => record?.message?.toLowerCase().includes(word));
  return new Response(JSON.stringify({ allowed: bad.length === 0, bad }), {
    headers: { "Content-Type": "application/json" },
  });
});
