import { lazy, Suspense } from "react";
import { useGo, useSubpath } from "../../address.tsx";
import { PageHeader, Tabs } from "../../components/basics.tsx";
import { Loading } from "../../components/states.tsx";
import { performanceTexts as texts } from "./texts.ts";
import "./performance.css";

const parts = {
  advisors: lazy(() => import("./Advisors.tsx")),
  statements: lazy(() => import("./Statements.tsx")),
  sessions: lazy(() => import("./Sessions.tsx")),
  indexes: lazy(() => import("./Indexes.tsx")),
  tables: lazy(() => import("./Sizes.tsx")),
};
type Part = keyof typeof parts;
const ids = Object.keys(parts) as Part[];

/** What is wrong with the database, what it spends its time on, what runs now, and how large it is. */
export default function PerformancePage() {
  const [part] = useSubpath();
  const go = useGo();
  return (
    <>
      <PageHeader title={texts.title} />
      <Tabs
        label={texts.title}
        selected={ids.find((id) => id === part) ?? "advisors"}
        onSelect={(id) => go(`performance/${id}`)}
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
