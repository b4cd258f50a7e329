// Several routes in one function; the base path is the function's name.
import { Hono } from "hono";
import { cors } from "hono/cors";
import { z } from "zod";

const Task = z.object({ title: z.string().min(1), done: z.boolean().default(false) });
const tasks = new Map<string, z.infer<typeof Task>>();
const app = new Hono().basePath("/hono-router");

app.use("*", cors());
app.get("/tasks", (c) => c.json([...tasks.values()]));
app.get("/tasks/:id", (c) => {
  const task = tasks.get(c.req.param("id"));
  return task ? c.json(task) : c.json({ error: "not found" }, 404);
});
app.put("/tasks/:id", async (c) => {
  const parsed = Task.safeParse(await c.req.json());
  if (!parsed.success) return c.json({ error: "invalid" }, 422);
  tasks.set(c.req.param("id"), parsed.data);
  return c.json(parsed.data, 201);
});

Deno.serve(app.fetch);
