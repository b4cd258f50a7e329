/** A name as SQL writes it: in quotes unless it is plain. */
export function quotedName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Split `schema.name` or `name` (in `public`); parts in double quotes may contain any sign. */
export function splitName(text: string): [string, string] {
  const match = /^\s*(?:("(?:[^"]|"")+"|[^".]+)\.)?("(?:[^"]|"")+"|[^".]+)\s*$/.exec(text);
  if (!match) return ["public", text.trim()];
  const plain = (part: string) => part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.trim();
  return [match[1] ? plain(match[1]) : "public", plain(match[2]!)];
}
