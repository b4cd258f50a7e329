// Oak from its npm package, which is built for Node: its responses are converted to the runtime's, and it listens with Deno.serve.
import { Application as NodeApplication } from "npm:@oakserver/oak@14";

export * from "npm:@oakserver/oak@14";

export class Application extends (NodeApplication as any) {
  constructor(...args: any[]) {
    super(...args);
    const handle = this.handle;
    this.handle = async (...asked: any[]): Promise<Response | undefined> => {
      const made = await handle.apply(this, asked);
      if (!made || made instanceof Response) return made;
      return new Response(made.body, { status: made.status, statusText: made.statusText, headers: [...made.headers] });
    };
  }

  async listen(options: any = {}): Promise<void> {
    const answer = async (request: Request) => (await this.handle(request)) ?? new Response("Not Found", { status: 404 });
    await Deno.serve({ signal: options.signal }, answer).finished;
  }
}
