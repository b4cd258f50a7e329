// std/encoding/base64url.ts, with the old and the new function names. Source: RFC 4648, section 5.
import { Buffer, bytes, Data, plain } from "./encoding_bytes.ts";

export const encodeBase64Url = (data: Data): string => bytes(data).toString("base64url");
export function decodeBase64Url(text: string): Uint8Array {
  if (!/^[\w-]*=*$/.test(text) || text.replace(/=+$/, "").length % 4 === 1) throw new TypeError("Illegal base64url string");
  return plain(Buffer.from(text, "base64url"));
}
export { decodeBase64Url as decode, encodeBase64Url as encode };
