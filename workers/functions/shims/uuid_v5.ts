// std/uuid/v5.ts. Source: RFC 9562, section 5.5.
export const validate = (id: string): boolean =>
  /^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i.test(id);

export async function generate(namespace: string, data: Uint8Array): Promise<string> {
  const space = Uint8Array.from(namespace.replaceAll("-", "").match(/../g) ?? [], (pair) => parseInt(pair, 16));
  if (space.length !== 16) throw new TypeError("The namespace is no UUID.");
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-1", new Uint8Array([...space, ...data]))).slice(0, 16);
  bytes[6] = (bytes[6] & 0x0f) | 0x50;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
