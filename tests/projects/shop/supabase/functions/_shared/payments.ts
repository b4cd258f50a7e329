const encoder = new TextEncoder();

export class SignatureError extends Error {}

/** Verify `t=...,v1=...` against the body as it was sent. */
export async function verify(body: string, header: string | null, secret: string): Promise<unknown> {
  const parts = new Map((header ?? "").split(",").map((part) => part.split("=", 2) as [string, string]));
  const [time, signature] = [parts.get("t"), parts.get("v1")];
  if (!time || !signature) throw new SignatureError("no signature");
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const made = await crypto.subtle.sign("HMAC", key, encoder.encode(`${time}.${body}`));
  const hex = Array.from(new Uint8Array(made), (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (hex !== signature) throw new SignatureError("wrong signature");
  return JSON.parse(body);
}
