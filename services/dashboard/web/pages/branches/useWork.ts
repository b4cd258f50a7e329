import { useFollowedWork } from "../../api/followWork.ts";
import { useMay } from "../../api/hooks.ts";
import { toast } from "../../components/toasts.ts";
import type { BranchWork } from "../../generated/operations.ts";
import { branchesTexts as texts } from "./texts.ts";

/** Return the work on a branch under way, or the last one; follows it, and reads the list again when it has ended. */
export function useWork(): BranchWork | undefined {
  return useFollowedWork<BranchWork>("branches.status", {
    identity: (work) => work.id,
    invalidates: ["branches.list"],
    onDone: (work) => toast.done(texts.work.done[work.action](work.name)),
    isEnabled: useMay("branches.status", false),
  });
}
