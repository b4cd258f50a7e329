// Oak's router, handed each request.
import { Application, Router } from "https://deno.land/x/oak@v12.6.1/mod.ts";

const router = new Router();
router.get("/oak-app", (context) => {
  context.response.body = { greeting: `Hello ${context.request.url.searchParams.get("name") ?? "Oak"}` };
});

const app = new Application();
app.use(router.routes());
app.use(router.allowedMethods());

Deno.serve(async (req) => (await app.handle(req)) ?? new Response("Not found", { status: 404 }));
