// A WebSocket that counts what it hears.
Deno.serve((req) => {
  if ((req.headers.get("upgrade") ?? "").toLowerCase() !== "websocket") {
    return new Response("request isn't trying to upgrade to WebSocket.", { status: 400 });
  }
  const { socket, response } = Deno.upgradeWebSocket(req);
  let count = 0;
  socket.onopen = () => socket.send("welcome");
  socket.onmessage = (event) => socket.send(`${++count}: ${event.data}`);
  socket.onerror = (event) => console.log("socket errored:", event);
  return response;
});
