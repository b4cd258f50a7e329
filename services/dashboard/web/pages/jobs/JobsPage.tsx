/** Jobs: what runs by itself. Scheduled SQL, durable jobs, queues, webhooks of tables, and requests that SQL sends. */

import { lazy } from "react";
import { PageHeader } from "../../components/basics.tsx";
import { PageTabs } from "../../components/PageTabs.tsx";
import { jobsTexts as texts } from "./texts.ts";
import "./jobs.css";

const parts = {
  cron: lazy(() => import("./Scheduled.tsx")),
  durable: lazy(() => import("./DurableJobs.tsx")),
  queues: lazy(() => import("./Queues.tsx")),
  webhooks: lazy(() => import("./Webhooks.tsx")),
  events: lazy(() => import("./EventWebhooks.tsx")),
  requests: lazy(() => import("./Requests.tsx")),
};

export default function JobsPage() {
  return (
    <>
      <PageHeader title={texts.title} />
      <PageTabs path="jobs" label={texts.title} parts={parts} titles={texts.tabs} />
    </>
  );
}
