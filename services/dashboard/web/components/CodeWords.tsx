/** A text with names and commands between backquotes, which are shown as code. */
export function CodeWords({ text }: { text: string }) {
  return text.split("`").map((part, index) => index % 2 ? <code key={index}>{part}</code> : part);
}
