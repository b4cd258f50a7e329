// @std/encoding: the encodings that functions use.
export { decodeBase64, encodeBase64 } from "./encoding_base64.ts";
export { decodeBase64Url, encodeBase64Url } from "./encoding_base64url.ts";
export { decodeHex, encodeHex } from "./encoding_hex.ts";
