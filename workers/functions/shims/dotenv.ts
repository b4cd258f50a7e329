// std/dotenv/mod.ts: the platform has read `.env` already, so there is nothing to load but what it set.
export function load(): Promise<Record<string, string>> {
  return Promise.resolve(Deno.env.toObject());
}
export const loadSync = (): Record<string, string> => Deno.env.toObject();
export const config = loadSync;
export { parse } from "./dotenv_parse.ts";
