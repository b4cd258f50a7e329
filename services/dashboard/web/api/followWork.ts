/** Follows work of the supervisor, which one operation returns: while it runs every second, else every ten. */

import { useEffect, useRef } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { invalidate, useOperation } from "./hooks.ts";
import type { OperationName } from "./client.ts";

const whileRunningMs = 1_000;
const whileIdleMs = 10_000;

interface Work {
  state: string;
}

/**
 * Return the work under way, or the last one. When another one is there, or it is in another state, the operations
 * `invalidates` are read again, and `onDone` is called if it is done.
 */
export function useFollowedWork<W extends Work>(
  operation: "backups.status" | "branches.status",
  { identity, invalidates, onDone, isEnabled = true }: {
    /** Names one piece of work. */
    identity: (work: W) => string;
    invalidates: readonly OperationName[];
    onDone: (work: W) => void;
    isEnabled?: boolean;
  },
): W | undefined {
  const status = useOperation(operation, {}, { refreshEvery: whileIdleMs, isEnabled });
  const last = status.data?.[0] as W | undefined;
  const isRunning = last?.state === "running";
  const client = useQueryClient();
  const refetch = useRef(status.refetch);
  refetch.current = status.refetch;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => void refetch.current(), whileRunningMs);
    return () => clearInterval(timer);
  }, [isRunning]);
  const seen = useRef<W | undefined>(undefined);
  useEffect(() => {
    const before = seen.current;
    seen.current = last;
    if (before === undefined || last === undefined) return;
    if (identity(before) === identity(last) && before.state === last.state) return;
    void invalidate(client, invalidates);
    if (last.state === "done") onDone(last);
  }, [last === undefined ? undefined : identity(last), last?.state]);
  return last;
}
