// std/http/cookie.ts: cookies of requests and responses. Source: RFC 6265, sections 4 and 5.
export interface Cookie {
  name: string;
  value: string;
  expires?: Date | number;
  maxAge?: number;
  domain?: string;
  path?: string;
  secure?: boolean;
  httpOnly?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
  partitioned?: boolean;
  unparsed?: string[];
}

export function getCookies(headers: Headers): Record<string, string> {
  const found: Record<string, string> = {};
  for (const pair of headers.get("cookie")?.split(";") ?? []) {
    const [name, ...value] = pair.split("=");
    if (name.trim()) found[name.trim()] = value.join("=").trim();
  }
  return found;
}

function line(cookie: Cookie): string {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(cookie.name)) throw new SyntaxError(`Invalid cookie name: "${cookie.name}".`);
  if (/[\s",;\\\x00-\x1f\x7f]/.test(cookie.value)) throw new SyntaxError(`Invalid cookie value of "${cookie.name}".`);
  const parts = [`${cookie.name}=${cookie.value}`];
  const isHost = cookie.name.startsWith("__Host-");
  if (cookie.secure || isHost || cookie.name.startsWith("__Secure-")) parts.push("Secure");
  if (cookie.httpOnly) parts.push("HttpOnly");
  if (cookie.partitioned) parts.push("Partitioned");
  if (cookie.maxAge !== undefined) parts.push(`Max-Age=${cookie.maxAge}`);
  if (cookie.domain && !isHost) parts.push(`Domain=${cookie.domain}`);
  if (cookie.sameSite) parts.push(`SameSite=${cookie.sameSite}`);
  if (isHost) parts.push("Path=/");
  else if (cookie.path) parts.push(`Path=${cookie.path}`);
  if (cookie.expires !== undefined) parts.push(`Expires=${new Date(cookie.expires).toUTCString()}`);
  return [...parts, ...(cookie.unparsed ?? [])].join("; ");
}

export function setCookie(headers: Headers, cookie: Cookie): void {
  headers.append("Set-Cookie", line(cookie));
}

export function deleteCookie(headers: Headers, name: string, attributes: Partial<Cookie> = {}): void {
  setCookie(headers, { ...attributes, name, value: "", expires: new Date(0) });
}

export function getSetCookies(headers: Headers): Cookie[] {
  return headers.getSetCookie().map((text) => {
    const [first, ...rest] = text.split(";").map((part) => part.trim());
    const at = first.indexOf("=");
    const cookie: Cookie = { name: first.slice(0, at), value: first.slice(at + 1) };
    for (const part of rest) {
      const [key, ...values] = part.split("=");
      const value = values.join("=");
      switch (key.toLowerCase()) {
        case "expires": cookie.expires = new Date(value); break;
        case "max-age": cookie.maxAge = Number(value); break;
        case "domain": cookie.domain = value; break;
        case "path": cookie.path = value; break;
        case "secure": cookie.secure = true; break;
        case "httponly": cookie.httpOnly = true; break;
        case "partitioned": cookie.partitioned = true; break;
        case "samesite": cookie.sameSite = value as Cookie["sameSite"]; break;
        default: (cookie.unparsed ??= []).push(part);
      }
    }
    return cookie;
  });
}
