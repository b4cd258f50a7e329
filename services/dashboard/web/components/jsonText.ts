/** Return the object that a text of JSON stands for, or null if it is none. */
export function parsedObject(text: string): { [name: string]: unknown } | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? value as { [name: string]: unknown } : null;
  } catch {
    return null;
  }
}
