// Answers at /functions/v1/NAME. Imports of npm packages need no installation: import { z } from "npm:zod@3".
import "jsr:@supabase/functions-js/edge-runtime.d.ts";

Deno.serve(async (req) => {
  const { name = "world" } = (await req.json().catch(() => null)) ?? {};

  return Response.json({ message: `Hello ${name}!` });
});
