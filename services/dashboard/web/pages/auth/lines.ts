/** Lists that are typed one a line. Pure. */

/** Return the lines of a text without blanks around them; empty ones are left out. */
export function linesOf(text: string): readonly string[] {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}

/** Return the first line that is not an address with a scheme. */
export function wrongAddress(lines: readonly string[]): string | undefined {
  return lines.find((line) => !/^[a-z][a-z\d+.-]*:\S/i.test(line));
}
