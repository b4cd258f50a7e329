/** The lines of the list: pages of a search, and before them those that arrive while the list is followed. */

import { useEffect, useMemo, useRef, useState } from "react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { run } from "../../api/client.ts";
import { isStopped } from "../../api/errors.ts";
import type { LogLineView, LogSearchInput } from "../../generated/operations.ts";

const pageSize = 200;
const mostLive = 5_000;
const retryMs = 3_000;

/** Return the pages of a search, the newest lines first. They are not read again by themselves. */
export function useSearchedLines(args: LogSearchInput) {
  return useInfiniteQuery({
    queryKey: ["logs.search", "pages", args],
    queryFn: ({ pageParam, signal }) => run("logs.search", { ...args, limit: pageSize, cursor: pageParam }, { signal }),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next || undefined,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

export interface LiveLines {
  /** The newest first. */
  lines: readonly LogLineView[];
  /** Lines that could not be followed because too many came at once. */
  hasGap: boolean;
  error: unknown;
}

const nothing: LiveLines = { lines: [], hasGap: false, error: null };

/** Follow new lines while `isOn`. Those that arrive during a pause come when it ends. Another filter begins anew. */
export function useLiveLines(args: LogSearchInput, isOn: boolean): LiveLines {
  const [live, setLive] = useState(nothing);
  const cursor = useRef("");
  const { since: _since, until: _until, ...filters } = args;
  const key = JSON.stringify(filters);
  useEffect(() => {
    cursor.current = "";
    setLive(nothing);
  }, [key]);
  useEffect(() => {
    if (!isOn) return;
    const stop = new AbortController();
    void follow(JSON.parse(key) as LogSearchInput, cursor, setLive, stop.signal);
    return () => stop.abort();
  }, [key, isOn]);
  return live;
}

async function follow(
  filters: LogSearchInput,
  cursor: { current: string },
  setLive: (change: (live: LiveLines) => LiveLines) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const arrived = await run("logs.tail", { ...filters, cursor: cursor.current }, { signal });
      if (signal.aborted) return;
      cursor.current = arrived.next;
      if (arrived.lines.length === 0 && !arrived.is_gap) {
        setLive((live) => live.error ? { ...live, error: null } : live);
        continue;
      }
      const newest = [...arrived.lines].reverse();
      setLive((live) => ({
        lines: arrived.is_gap ? newest : [...newest, ...live.lines].slice(0, mostLive),
        hasGap: arrived.is_gap,
        error: null,
      }));
    } catch (error) {
      if (isStopped(error)) return;
      setLive((live) => ({ ...live, error }));
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

/** Return live and searched lines as one list, each line once. */
export function useJoined(live: readonly LogLineView[], searched: readonly LogLineView[]): readonly LogLineView[] {
  return useMemo(() => {
    if (live.length === 0) return searched;
    const ids = new Set(searched.map(({ id }) => id));
    return [...live.filter(({ id }) => !ids.has(id)), ...searched];
  }, [live, searched]);
}
