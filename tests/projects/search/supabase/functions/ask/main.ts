import { embedding } from "../_lib/embeddings.ts";

// Answers as events, a word at a time.
Deno.serve(async (req) => {
  const { question = "nothing" } = await req.json().catch(() => ({}));
  const vector = await embedding(question);
  const words = `You asked ${question}; it begins with ${vector[0].toFixed(3)}`.split(" ");
  const body = new ReadableStream({
    start(controller) {
      for (const word of words) controller.enqueue(new TextEncoder().encode(`data: ${word}\n\n`));
      controller.close();
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" } });
});
