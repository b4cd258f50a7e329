// A handler as the default export.
export default {
  fetch(req: Request): Response {
    return Response.json({ path: new URL(req.url).pathname });
  },
};
