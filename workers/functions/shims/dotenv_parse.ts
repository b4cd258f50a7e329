// std/dotenv/parse.ts: `NAME=value` lines, quotes and comments; `$NAME` is replaced by an earlier value or an environment variable.
const LINE = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=[^\S\n]*(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\n#]*?))[^\S\n]*(?:#[^\n]*)?$/gm;

export function parse(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  const expanded = (value: string) =>
    value.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, long, short) => found[long ?? short] ?? Deno.env.get(long ?? short) ?? "");
  for (const [, name, single, double, bare] of text.replace(/\r\n/g, "\n").matchAll(LINE)) {
    if (single !== undefined) found[name] = single;
    else if (double !== undefined) {
      found[name] = expanded(double.replace(/\\([nrt"\\])/g, (_, sign) => ({ n: "\n", r: "\r", t: "\t" })[sign as string] ?? sign));
    } else found[name] = expanded((bare ?? "").trim());
  }
  return found;
}
