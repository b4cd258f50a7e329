/** Values as literals of the languages that code is shown in. Pure. */

/** Return a value as SQL; a list becomes a Postgres array, an object JSON. */
export function sqlLiteral(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "'{}'" : `array[${value.map(sqlLiteral).join(", ")}]`;
  return `'${(typeof value === "string" ? value : JSON.stringify(value)).replaceAll("'", "''")}'`;
}

/** Return a value as Dart: JSON, in which `$` would begin an expression. */
export function dartLiteral(value: unknown): string {
  return JSON.stringify(value).replaceAll("$", "\\$");
}

/** Return a value as Python. */
export function pythonLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${pythonLiteral(inner)}`);
    return `{${members.join(", ")}}`;
  }
  return value === true ? "True" : value === false ? "False" : value === null ? "None" : JSON.stringify(value);
}
