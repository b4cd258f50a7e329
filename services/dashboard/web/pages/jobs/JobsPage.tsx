/** Jobs: what runs by itself. Scheduled SQL, durable jobs, queues, webhooks of tables, and requests that SQL sends. */

import { lazy, Suspense } from "react";
import { useGo, useSubpath } from "../../address.tsx";
import { PageHeader, Tabs } from "../../components/basics.tsx";
import { Loading } from "../../components/states.tsx";
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
const ids = Object.keys(parts) as (keyof typeof parts)[];

export default function JobsPage() {
  const [part] = useSubpath();
  const go = useGo();
  return (
    <>
      <PageHeader title={texts.title} />
      <Tabs
        label={texts.title}
        selected={ids.find((id) => id === part) ?? "cron"}
        onSelect={(id) => go(`jobs/${id}`)}
        tabs={ids.map((id) => {
          const Content = parts[id];
          return {
            id,
            title: texts.tabs[id],
            content: (
              <Suspense fallback={<Loading />}>
                <Content />
              </Suspense>
            ),
          };
        })}
      />
    </>
  );
}
