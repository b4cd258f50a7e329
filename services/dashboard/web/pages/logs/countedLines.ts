import { useOperation } from "../../api/hooks.ts";
import type { LogSearchInput } from "../../generated/operations.ts";

const mostBars = 90;

/** The numbers of lines by time; the page asks for them while their chart is being loaded, and both share one answer. */
export function useCountedLines(args: LogSearchInput) {
  return useOperation(
    "logs.search",
    { ...args, limit: 1, histogram: mostBars },
    { keepsPrevious: true, staleAfter: Infinity },
  );
}
