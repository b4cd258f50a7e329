// Reads rows as the caller: the token goes on to the database, whose policies decide.
import { createClient } from "https://esm.sh/@supabase/supabase-js@2";

Deno.serve(async (req) => {
  const supabase = createClient(
    Deno.env.get("SUPABASE_URL") ?? "",
    Deno.env.get("SUPABASE_ANON_KEY") ?? "",
    { global: { headers: { Authorization: req.headers.get("Authorization")! } } },
  );
  const { data, error } = await supabase.from("function_notes").select("title").order("title");
  if (error) return Response.json({ error: error.message }, { status: 500 });
  return Response.json({ notes: data });
});
