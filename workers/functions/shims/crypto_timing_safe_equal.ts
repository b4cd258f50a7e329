// std/crypto/timing_safe_equal.ts: compare bytes in constant time.
import { timingSafeEqual as equal } from "node:crypto";

const view = (data: any): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);

export function timingSafeEqual(one: ArrayBufferView | ArrayBufferLike, other: ArrayBufferView | ArrayBufferLike): boolean {
  const [a, b] = [view(one), view(other)];
  return a.byteLength === b.byteLength && equal(a, b);
}
