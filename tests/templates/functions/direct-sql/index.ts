// Straight to Postgres, as its owner.
import postgres from "https://deno.land/x/postgresjs@v3.4.4/mod.js";

const sql = postgres(Deno.env.get("SUPABASE_DB_URL")!, { prepare: false, max: 2 });

Deno.serve(async (req) => {
  const { limit = 2 } = await req.json();
  const rows = await sql`select title from public.function_notes order by title limit ${limit}`;
  return Response.json({ rows: rows.map((row) => row.title) });
});
