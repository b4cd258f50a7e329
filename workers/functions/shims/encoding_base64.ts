// std/encoding/base64.ts, with the old and the new function names. Source: RFC 4648, section 4.
import { bytes, Data } from "./encoding_bytes.ts";

export const encodeBase64 = (data: Data): string => bytes(data).toString("base64");
export const decodeBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
export { decodeBase64 as decode, encodeBase64 as encode };
