// Tokens of a model as server-sent events, as they come.
Deno.serve(async (req) => {
  const { prompt } = await req.json();
  const words = `You said: ${prompt}`.split(" ");
  const encoder = new TextEncoder();
  const stream = new ReadableStream({
    async start(controller) {
      for (const word of words) {
        const delta = JSON.stringify({ choices: [{ delta: { content: `${word} ` } }] });
        controller.enqueue(encoder.encode(`data: ${delta}\n\n`));
        await new Promise((done) => setTimeout(done, 5));
      }
      controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      controller.close();
    },
  });
  return new Response(stream, { headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" } });
});
