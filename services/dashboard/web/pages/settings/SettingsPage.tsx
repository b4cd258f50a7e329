import { lazy, Suspense } from "react";
import { useGo, useSubpath } from "../../address.tsx";
import { useMay } from "../../api/hooks.ts";
import { PageHeader, Tabs } from "../../components/basics.tsx";
import { Loading } from "../../components/states.tsx";
import { settingsTexts as texts } from "./texts.ts";
import "./settings.css";

const parts = {
  values: lazy(() => import("./Values.tsx")),
  keys: lazy(() => import("./Keys.tsx")),
  certificate: lazy(() => import("./Certificate.tsx")),
  administrators: lazy(() => import("./Administrators.tsx")),
  tokens: lazy(() => import("./Tokens.tsx")),
  account: lazy(() => import("./Account.tsx")),
  audit: lazy(() => import("./Audit.tsx")),
};
type Part = keyof typeof parts;

/** The platform's settings, keys and administrators, one's own account, and what administrators did. */
export default function SettingsPage() {
  const [part] = useSubpath();
  const go = useGo();
  const mayAudit = useMay("audit.list");
  const ids = (Object.keys(parts) as Part[]).filter((id) => id !== "audit" || mayAudit);
  const selected = ids.find((id) => id === part) ?? "values";
  return (
    <>
      <PageHeader title={texts.title} />
      <Tabs
        label={texts.title}
        selected={selected}
        onSelect={(id) => go(`settings/${id}`)}
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
