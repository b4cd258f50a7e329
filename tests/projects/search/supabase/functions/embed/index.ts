import { embedding } from "../_lib/embeddings.ts";

const stopwords = new Set((await Deno.readTextFile(new URL("./stopwords.txt", import.meta.url))).trim().split("\n"));

export default {
  async fetch(req: Request): Promise<Response> {
    const { id, text = "" } = await req.json();
    const words = String(text).split(/\s+/).filter((word) => !stopwords.has(word));
    return Response.json({ id, embedding: await embedding(words.join(" ")) });
  },
};
