import { formatAgo, formatTime } from "../format.ts";

/** How long ago something was, with the exact time when the mouse rests on it and for screen readers. */
export function Time({ value }: { value: string | number | null }) {
  if (value === null) return <span className="faint">{formatAgo(null)}</span>;
  const exact = formatTime(value);
  const iso = typeof value === "number" ? new Date(value * 1_000).toISOString() : value;
  return <time dateTime={iso} title={exact}>{formatAgo(value)}</time>;
}
