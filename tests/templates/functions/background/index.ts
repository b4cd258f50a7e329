// Answers at once and goes on working.
async function work(id: string) {
  await new Promise((done) => setTimeout(done, 50));
  console.log(`finished ${id}`);
}

addEventListener("beforeunload", (event) => {
  console.log(`ends because of ${(event as CustomEvent).detail?.reason}`);
});

Deno.serve(async (req) => {
  const { id } = await req.json();
  // @ts-ignore: the platform's own
  EdgeRuntime.waitUntil(work(id));
  return Response.json({ accepted: id }, { status: 202 });
});
