import { lazy } from "react";
import { PageHeader } from "../../components/basics.tsx";
import { PageTabs } from "../../components/PageTabs.tsx";
import { performanceTexts as texts } from "./texts.ts";
import "./performance.css";

const parts = {
  advisors: lazy(() => import("./Advisors.tsx")),
  statements: lazy(() => import("./Statements.tsx")),
  sessions: lazy(() => import("./Sessions.tsx")),
  indexes: lazy(() => import("./Indexes.tsx")),
  tables: lazy(() => import("./Sizes.tsx")),
};

/** What is wrong with the database, what it spends its time on, what runs now, and how large it is. */
export default function PerformancePage() {
  return (
    <>
      <PageHeader title={texts.title} />
      <PageTabs path="performance" label={texts.title} parts={parts} titles={texts.tabs} />
    </>
  );
}
