import { useSearch, useSubpath } from "../../address.tsx";
import { PageHeader } from "../../components/basics.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { FunctionList } from "./FunctionList.tsx";
import { FunctionView } from "./FunctionView.tsx";
import { Secrets } from "./Secrets.tsx";
import { functionsTexts as texts } from "./texts.ts";
import "./functions.css";

/** All functions and their secrets, or one function. */
export default function FunctionsPage() {
  const [name] = useSubpath();
  const [search, changeSearch] = useSearch();
  if (name !== undefined) return <FunctionView key={name} name={name} />;
  return (
    <>
      <PageHeader title={texts.title} />
      <Tabs
        label={texts.title}
        selected={search["tab"] === "secrets" ? "secrets" : "list"}
        onSelect={(tab) => changeSearch({ tab: tab === "list" ? null : tab })}
        tabs={[
          { id: "list", title: texts.tabs.list, content: <FunctionList /> },
          { id: "secrets", title: texts.tabs.secrets, content: <Secrets /> },
        ]}
      />
    </>
  );
}
