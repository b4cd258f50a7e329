// std/encoding/hex.ts; the old functions `encode` and `decode` return bytes. Source: RFC 4648, section 8.
import { Buffer, bytes, Data, plain } from "./encoding_bytes.ts";

export const encodeHex = (data: Data): string => bytes(data).toString("hex");
export function decodeHex(text: string): Uint8Array {
  if (!/^(?:[\da-fA-F]{2})*$/.test(text)) throw new TypeError("Invalid hex string");
  return plain(Buffer.from(text, "hex"));
}
export const encode = (data: Data): Uint8Array => new TextEncoder().encode(encodeHex(data));
export const decode = (data: Uint8Array): Uint8Array => decodeHex(new TextDecoder().decode(data));
