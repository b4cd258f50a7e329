import { Badge } from "../../components/basics.tsx";
import type { DurableRun } from "../../generated/operations.ts";
import { jobsTexts } from "./texts.ts";

/** What a run does or how it ended, in a word. */
export function DurableRunState({ status }: { status: DurableRun["status"] }) {
  const tone = status === "failed" ? "bad" : status === "done" ? "good" : "neutral";
  return <Badge tone={tone}>{jobsTexts.durable.states[status]}</Badge>;
}
