// std/http/server.ts: the `serve` from before Deno.serve. Address, port and hostname are ignored: the platform chooses the socket.
type Handler = (request: Request, info: any) => Response | Promise<Response>;
type Init = { signal?: AbortSignal; onError?: (error: unknown) => Response | Promise<Response>; onListen?: (at: any) => void };

export async function serve(handler: Handler, options: Init = {}): Promise<void> {
  const connected = (info: any) => ({ localAddr: { transport: "tcp", hostname: "0.0.0.0", port: 8000 }, ...info });
  await Deno.serve(options as any, (request: Request, info: any) => handler(request, connected(info))).finished;
}
