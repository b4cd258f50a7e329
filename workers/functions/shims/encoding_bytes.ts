// Shared by the encodings: text is encoded as UTF-8.
import { Buffer } from "node:buffer";

export type Data = string | ArrayBuffer | Uint8Array;

export function bytes(data: Data): Buffer {
  if (typeof data === "string") return Buffer.from(data, "utf8");
  return data instanceof ArrayBuffer ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

export function plain(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer);
}

export { Buffer };
