import { Badge } from "../../components/basics.tsx";
import type { EventWebhook } from "../../generated/operations.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.events;

/** What a webhook is about, in short. */
export function sourceOf({ source, schema, table, bucket }: EventWebhook): string {
  return source === "rows" ? `${schema}.${table}` : bucket ?? source;
}

/** How a webhook does, in a word. */
export function WebhookState({ webhook }: { webhook: EventWebhook }) {
  if (webhook.is_paused) return <Badge tone="warn">{texts.paused}</Badge>;
  return webhook.problem === "" ? <Badge tone="good">{texts.sends}</Badge> : <Badge tone="bad">{texts.faulty}</Badge>;
}
