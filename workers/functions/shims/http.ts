// std/http/mod.ts and @std/http, as far as functions use them.
export * from "./http_server.ts";
export * from "./http_status.ts";
export * from "./http_cookie.ts";
