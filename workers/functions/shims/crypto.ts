// std/crypto/mod.ts: Web Crypto, with a `digest` that also supports the algorithms of node:crypto.
import { createHash } from "node:crypto";
import { timingSafeEqual } from "./crypto_timing_safe_equal.ts";

const web = globalThis.crypto;
const WEB = new Set(["SHA-1", "SHA-256", "SHA-384", "SHA-512"]);
const NODE: Record<string, string> = {
  "MD5": "md5", "RIPEMD-160": "ripemd160", "SHA-224": "sha224", "SHA3-224": "sha3-224", "SHA3-256": "sha3-256",
  "SHA3-384": "sha3-384", "SHA3-512": "sha3-512", "BLAKE2B": "blake2b512", "BLAKE2S": "blake2s256",
};

async function whole(data: any): Promise<Uint8Array> {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const pieces: Uint8Array[] = [];
  for await (const piece of data) pieces.push(await whole(piece));
  return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
}

async function digest(algorithm: string | { name: string }, data: any): Promise<ArrayBuffer> {
  const name = (typeof algorithm === "string" ? algorithm : algorithm.name).toUpperCase();
  const bytes = await whole(data);
  if (WEB.has(name)) return await web.subtle.digest(name, bytes as BufferSource);
  if (!(name in NODE)) throw new TypeError(`The digest ${name} is not available here.`);
  return new Uint8Array(createHash(NODE[name]).update(bytes).digest()).buffer;
}

function bound(target: any, own: Record<string, unknown>): any {
  return new Proxy(target, {
    get: (_, name) => {
      if (typeof name === "string" && name in own) return own[name];
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

export const crypto = bound(web, { subtle: bound(web.subtle, { digest, timingSafeEqual }) });
export { timingSafeEqual };
