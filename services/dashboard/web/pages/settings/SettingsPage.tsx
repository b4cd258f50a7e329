import { lazy } from "react";
import { useMay } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { PageTabs } from "../../components/PageTabs.tsx";
import { settingsTexts as texts } from "./texts.ts";
import "./settings.css";

const parts = {
  values: lazy(() => import("./Values.tsx")),
  keys: lazy(() => import("./Keys.tsx")),
  certificate: lazy(() => import("./Certificate.tsx")),
  administrators: lazy(() => import("./Administrators.tsx")),
  roles: lazy(() => import("./Roles.tsx")),
  tokens: lazy(() => import("./Tokens.tsx")),
  account: lazy(() => import("./Account.tsx")),
};
const withAudit = { ...parts, audit: lazy(() => import("./Audit.tsx")) };

/** The platform's settings, keys and administrators, one's own account, and what administrators did. */
export default function SettingsPage() {
  const mayAudit = useMay("audit.list");
  return (
    <>
      <PageHeader title={texts.title} />
      <PageTabs path="settings" label={texts.title} parts={mayAudit ? withAudit : parts} titles={texts.tabs} />
    </>
  );
}
