// std/http/mod.ts and @std/http: the part that functions use.
export * from "./http_server.ts";
export * from "./http_status.ts";
export * from "./http_cookie.ts";
