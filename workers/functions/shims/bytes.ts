// std/bytes/mod.ts: the part that functions use.
export function concat(...parts: (Uint8Array | Uint8Array[])[]): Uint8Array {
  const listed = parts.flat() as Uint8Array[];
  const whole = new Uint8Array(listed.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of listed) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
export const equals = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);
export function indexOfNeedle(source: Uint8Array, needle: Uint8Array, start = 0): number {
  for (let at = Math.max(0, start); at + needle.length <= source.length; at++) {
    if (needle.every((byte, offset) => source[at + offset] === byte)) return at;
  }
  return -1;
}
export const includesNeedle = (source: Uint8Array, needle: Uint8Array, start = 0): boolean =>
  indexOfNeedle(source, needle, start) >= 0;
export const startsWith = (source: Uint8Array, prefix: Uint8Array): boolean =>
  equals(source.subarray(0, prefix.length), prefix);
export const endsWith = (source: Uint8Array, suffix: Uint8Array): boolean =>
  source.length >= suffix.length && equals(source.subarray(source.length - suffix.length), suffix);
