// A form with a file: its digest and size come back.
import { encodeHex } from "jsr:@std/encoding/hex";

Deno.serve(async (req) => {
  const form = await req.formData();
  const file = form.get("file");
  if (!(file instanceof File)) return Response.json({ error: "no file" }, { status: 400 });
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return Response.json({ name: file.name, type: file.type, size: file.size, title: form.get("title"), sha256: encodeHex(digest) });
});
