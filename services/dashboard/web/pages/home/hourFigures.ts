import { useOperation } from "../../api/hooks.ts";

/** The figures of the last hour, of all pools ("") or of one; the page and its charts share one answer. */
export function useHourFigures(pool: string) {
  return useOperation("platform.figures", { pool }, { refreshEvery: 30_000, keepsPrevious: true });
}
