// Answers at /functions/v1/NAME. Imports of npm packages need no installation: import { z } from "npm:zod@3".
import "jsr:@supabase/functions-js/edge-runtime.d.ts";

Deno.serve(async (req) => {
  const { name } = await req.json().catch(() => ({ name: "world" }));

  return Response.json({ message: `Hello ${name}!` });
});
