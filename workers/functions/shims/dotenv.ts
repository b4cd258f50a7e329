// std/dotenv/mod.ts: the platform has already read `.env` into the environment, so `load` returns the environment.
export function load(): Promise<Record<string, string>> {
  return Promise.resolve(Deno.env.toObject());
}
export const loadSync = (): Record<string, string> => Deno.env.toObject();
export const config = loadSync;
export { parse } from "./dotenv_parse.ts";
