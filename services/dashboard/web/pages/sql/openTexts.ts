/** The open texts and the history of runs: kept in the browser, apart for each administrator. */

import { useCallback } from "react";
import { useKept } from "../../components/kept.ts";
import { sqlTexts as texts } from "./texts.ts";

export interface OpenText {
  id: string;
  sql: string;
  /** The snippet that it was opened from or saved as. */
  snippet?: string;
}

export interface PastRun {
  sql: string;
  at: string;
  role: string;
  isDone: boolean;
  ms: number | null;
}

const mostRuns = 100;
const longestKept = 20_000;

/** Return a random name that is not a secret; `crypto.randomUUID` is missing on pages without TLS. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return the title of a text: its snippet's name, or its first words. */
export function titleOf(text: OpenText): string {
  if (text.snippet) return text.snippet;
  const words = text.sql.split("\n").map((line) => line.trim()).find((line) => line && !line.startsWith("--")) ?? "";
  return words.length > 28 ? `${words.slice(0, 27)}…` : words || texts.untitled;
}

/** Return the open texts, never none, and what changes them. */
export function useOpenTexts() {
  const [open, change] = useKept<OpenText[]>("sql:texts", () => [{ id: randomId(), sql: "" }]);
  const edit = useCallback(
    (id: string, changes: Partial<OpenText>) =>
      change((all) => all.map((text) => text.id === id ? { ...text, ...changes } : text)),
    [],
  );
  const add = useCallback((text: Omit<OpenText, "id">) => {
    const id = randomId();
    change((all) => [...all, { id, ...text }]);
    return id;
  }, []);
  const close = useCallback((id: string) =>
    change((all) => {
      const rest = all.filter((text) => text.id !== id);
      return rest.length > 0 ? rest : [{ id: randomId(), sql: "" }];
    }), []);
  return { open, edit, add, close };
}

/** Return the runs in this browser, the newest first, and what notes one or forgets all. */
export function usePastRuns() {
  const [runs, change] = useKept<PastRun[]>("sql:history", () => []);
  const note = useCallback((run: PastRun) => {
    const kept = { ...run, sql: run.sql.slice(0, longestKept) };
    change((all) => [kept, ...all.filter((earlier) => earlier.sql !== kept.sql)].slice(0, mostRuns));
  }, []);
  return { runs, note, clear: () => change(() => []) };
}
