import { useEffect, useRef } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { invalidate, useMay, useOperation } from "../../api/hooks.ts";
import { toast } from "../../components/toasts.ts";
import type { BranchWork } from "../../generated/operations.ts";
import { branchesTexts as texts } from "./texts.ts";

const whileRunningMs = 1_000;
const whileIdleMs = 10_000;

/** Return the work on a branch under way, or the last one; follows it, and reads the list again when it has ended. */
export function useWork(): BranchWork | undefined {
  const mayFollow = useMay("branches.status", false);
  const status = useOperation("branches.status", {}, { refreshEvery: whileIdleMs, isEnabled: mayFollow });
  const last = status.data?.[0];
  const isRunning = last?.state === "running";
  const client = useQueryClient();
  const refetch = useRef(status.refetch);
  refetch.current = status.refetch;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => void refetch.current(), whileRunningMs);
    return () => clearInterval(timer);
  }, [isRunning]);
  const seen = useRef<BranchWork | undefined>(undefined);
  useEffect(() => {
    const before = seen.current;
    seen.current = last;
    if (before === undefined || last === undefined) return;
    if (before.id === last.id && before.state === last.state) return;
    void invalidate(client, ["branches.list"]);
    if (last.state === "done") toast.done(texts.work.done[last.action](last.name));
  }, [last?.id, last?.state]);
  return last;
}
