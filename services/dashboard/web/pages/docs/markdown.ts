/** Markdown of the documentation as blocks: what these pages use of it, and no HTML. Pure. */

export type Block =
  | { kind: "heading"; level: number; text: string }
  | { kind: "code"; text: string }
  | { kind: "table"; rows: readonly (readonly string[])[] }
  | { kind: "list"; items: readonly string[] }
  | { kind: "text"; text: string };

/** A part of a line: text, code, or a link with its address. */
export interface Span {
  text: string;
  isCode: boolean;
  href: string | null;
}

/** Return the blocks of a page. */
export function blocksOf(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!;
    const heading = /^(#{1,4}) (.+)$/.exec(line);
    const takeWhile = (fits: (next: string) => boolean): string[] => {
      const first = at;
      while (at < lines.length && fits(lines[at]!)) at++;
      return lines.slice(first, at);
    };
    if (line.trim() === "") at++;
    else if (line.startsWith("```")) {
      at++;
      blocks.push({ kind: "code", text: takeWhile((next) => !next.startsWith("```")).join("\n") });
      at++;
    } else if (heading) {
      at++;
      blocks.push({ kind: "heading", level: heading[1]!.length, text: heading[2]! });
    } else if (line.startsWith("|")) {
      const rows = takeWhile((next) => next.startsWith("|")).filter((row) => !/^\|[-:| ]+\|$/.test(row));
      blocks.push({ kind: "table", rows: rows.map(cellsOf) });
    } else if (/^[-*] /.test(line)) {
      const items = takeWhile((next) => /^([-*] |\s+\S)/.test(next));
      blocks.push({ kind: "list", items: items.join("\n").split(/^[-*] /m).slice(1).map(joined) });
    } else {
      blocks.push({
        kind: "text",
        text: joined(takeWhile((next) => !/^(\s*$|```|#{1,4} |\||[-*] )/.test(next)).join("\n")),
      });
    }
  }
  return blocks;
}

/** Return the parts of a line; bold marks are left out, pictures are their text. */
export function spansOf(line: string): readonly Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (const match of line.matchAll(/`([^`]+)`|!?\[([^\]]*)\]\(([^)\s]+)\)/g)) {
    spans.push({ text: plain(line.slice(from, match.index)), isCode: false, href: null });
    if (match[1] !== undefined) spans.push({ text: match[1], isCode: true, href: null });
    else spans.push({ text: plain(match[2]!), isCode: false, href: match[0].startsWith("!") ? null : match[3]! });
    from = match.index + match[0].length;
  }
  spans.push({ text: plain(line.slice(from)), isCode: false, href: null });
  return spans.filter(({ text }) => text !== "");
}

function cellsOf(row: string): string[] {
  return row.replace(/^\||\|\s*$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function joined(text: string): string {
  return text.split("\n").map((line) => line.trim()).join(" ").trim();
}

function plain(text: string): string {
  return text.replaceAll("**", "");
}
