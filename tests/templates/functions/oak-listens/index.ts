// Oak that listens by itself; the port is the platform's business.
import { Application } from "jsr:@oak/oak@17";

const app = new Application();
app.use((context) => {
  context.response.status = 201;
  context.response.body = `asked by ${context.request.method}`;
});
await app.listen({ port: 8000 });
