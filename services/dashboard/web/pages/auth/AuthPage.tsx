import { lazy, Suspense } from "react";
import { useGo, useSubpath } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { Loading, Note, QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import type { SettingsList } from "../../generated/operations.ts";
import { Emails } from "./Emails.tsx";
import { limitGroups, signUpGroups } from "./groups.ts";
import { Hooks } from "./Hooks.tsx";
import { Providers } from "./Providers.tsx";
import { Redirects } from "./Redirects.tsx";
import { SettingGroups } from "./SettingRows.tsx";
import { authTexts as texts } from "./texts.ts";
import "./auth.css";

const Applications = lazy(() => import("./Applications.tsx"));
const SingleSignOn = lazy(() => import("./SingleSignOn.tsx"));

/** How users sign up and in: providers, rules, redirects, limits, hooks, emails; every value with its source. */
export default function AuthPage() {
  const settings = useOperation("settings.list", { prefix: "auth" });
  return (
    <>
      <PageHeader title={texts.title}>{texts.lead}</PageHeader>
      <QueryView query={settings}>{(data) => <Parts data={data} />}</QueryView>
    </>
  );
}

function Parts({ data }: { data: SettingsList }) {
  const [part] = useSubpath();
  const go = useGo();
  const tabs = [
    { id: "providers", title: texts.tabs.providers, content: <Providers data={data} /> },
    { id: "sign-up", title: texts.tabs.signUp, content: <SettingGroups data={data} groups={signUpGroups} /> },
    { id: "redirects", title: texts.tabs.redirects, content: <Redirects data={data} /> },
    { id: "limits", title: texts.tabs.limits, content: <SettingGroups data={data} groups={limitGroups} /> },
    { id: "hooks", title: texts.tabs.hooks, content: <Hooks data={data} /> },
    { id: "emails", title: texts.tabs.emails, content: <Emails data={data} /> },
    {
      id: "applications",
      title: texts.tabs.applications,
      content: (
        <Suspense fallback={<Loading />}>
          <Applications data={data} />
        </Suspense>
      ),
    },
    {
      id: "sso",
      title: texts.tabs.sso,
      content: (
        <Suspense fallback={<Loading />}>
          <SingleSignOn data={data} />
        </Suspense>
      ),
    },
  ];
  return (
    <>
      {data.fault && <Note kind="warn">{texts.fault} {data.fault}</Note>}
      <Tabs
        label={texts.title}
        tabs={tabs}
        selected={tabs.find(({ id }) => id === part)?.id ?? "providers"}
        onSelect={(id) => go(`auth/${id}`)}
      />
    </>
  );
}
