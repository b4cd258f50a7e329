/** The time range as parameters of a saved query: $1 is its beginning, $2 its end. */

/** Texts in quotes and comments, in which $1 is no parameter. */
const quoted =
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|\$([a-zA-Z_]\w*)?\$[\s\S]*?\$\1\$|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** Return the values of the parameters that a statement uses: none, the beginning, or both, as ISO 8601. */
export function rangeParameters(sql: string, endMs: number, rangeS: number): string[] {
  const used = sql.replaceAll(quoted, " ");
  const count = /\$2(?!\d)/.test(used) ? 2 : /\$1(?!\d)/.test(used) ? 1 : 0;
  return [endMs - rangeS * 1_000, endMs].slice(0, count).map((time) => new Date(time).toISOString());
}
