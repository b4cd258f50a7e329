import { Badge, type Tone } from "../../components/basics.tsx";
import { formatBytes, formatSpan } from "../../format.ts";
import type { StreamedTable } from "../../generated/operations.ts";
import { streamsTexts as texts } from "./texts.ts";

const tones: Readonly<Record<StreamedTable["state"], Tone>> = {
  waiting: "neutral",
  snapshot: "accent",
  following: "good",
  away: "bad",
  rejected: "bad",
  paused: "warn",
};

/** How the copy of a table does, in a word. */
export function StreamState({ table: { state, is_paused: isPaused } }: { table: StreamedTable }) {
  if (isPaused && state !== "paused") return <Badge tone="warn">{texts.pausing}</Badge>;
  return <Badge tone={tones[state]}>{texts.states[state]}</Badge>;
}

/** How far the target is behind, in time and in bytes of the database's log. */
export function behindOf({ behind_s: seconds, behind_bytes: bytes }: StreamedTable): string {
  return seconds === null || bytes === null ? "–" : `${formatSpan(seconds)}, ${formatBytes(bytes)}`;
}

/** The name of a table with its schema. */
export function nameOf({ schema, table }: StreamedTable): string {
  return `${schema}.${table}`;
}
