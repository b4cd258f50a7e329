import { pagesOf } from "~/paths.ts";

Deno.serve(async (req) => {
  const { record } = (await req.json()) as { record?: { slug: string; section?: string } };
  if (!record) return Response.json({ error: "no record" }, { status: 400 });
  return Response.json({ revalidated: pagesOf(record.slug, record.section) });
});
