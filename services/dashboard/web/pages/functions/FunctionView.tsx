import { useState } from "react";
import { Link, useGo, useSearch } from "../../address.tsx";
import { ApiError } from "../../api/errors.ts";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { EmptyState, ErrorState, Loading, Note } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { Code } from "./Code.tsx";
import { Deploy } from "./Deploy.tsx";
import { type Draft, draftOf, useDraft } from "./draft.ts";
import { StateBadge } from "./FunctionList.tsx";
import { Lines } from "./Lines.tsx";
import { Run } from "./Run.tsx";
import { FunctionSettings } from "./FunctionSettings.tsx";
import { functionsTexts as texts } from "./texts.ts";
import { Versions } from "./Versions.tsx";

const ids = ["code", "run", "versions", "logs", "settings"] as const;

/** One function: its files, calls, versions, log lines and settings. */
export function FunctionView({ name }: { name: string }) {
  const [draft, setDraft] = useDraft(name);
  const list = useOperation("functions.list", {}, { refreshEvery: 10_000 });
  const summary = list.data?.find((row) => row.name === name);
  // What is a draft alone has no files to ask for.
  const isDraftAlone = draft !== null && list.data !== undefined && summary === undefined;
  const source = useOperation("functions.files", { name, all_contents: true }, {
    staleAfter: 30_000,
    isEnabled: draft === null || summary !== undefined,
  });
  const [search, changeSearch] = useSearch();
  const [isDeploying, setDeploying] = useState(false);
  const mayDeploy = useMay("functions.deploy");
  const go = useGo();
  const remove = useChange("functions.delete", {
    invalidates: ["functions."],
    doneText: texts.deleted(name),
    onDone: () => go("functions"),
  });
  const isMissing = isDraftAlone || source.error instanceof ApiError && [404, 503].includes(source.error.status);
  if (source.data === undefined && !(draft && isMissing)) {
    return (
      <>
        <PageHeader title={name}>
          <Link to="functions">{texts.back}</Link>
        </PageHeader>
        {source.error ? <ErrorState error={source.error} onRetry={() => void source.refetch()} /> : <Loading />}
      </>
    );
  }
  const stored = isMissing || !source.data ? null : draftOf(source.data);
  const current: Draft = draft ?? stored!;
  const edit = (changes: Partial<Draft>) => {
    const next = { ...current, ...changes };
    setDraft(stored && JSON.stringify(next) === JSON.stringify(stored) ? null : next);
  };
  const discard = async () => {
    const question = { title: texts.discard, body: texts.discardText, names: [name], action: texts.discard };
    if (!await confirm(question)) return;
    setDraft(null);
    if (!stored) go("functions");
  };
  const onDelete = async () => {
    const question = {
      title: texts.deleteTitle,
      body: texts.deleteText,
      names: [name],
      typeName: name,
      action: texts.delete,
    };
    if (await confirm(question)) remove.mutate({ name });
  };
  const whenThere = (content: React.ReactNode) =>
    stored ? content : <EmptyState icon="function" title={texts.notDeployed}>{texts.notDeployedText}</EmptyState>;
  const contents = {
    code: (
      <Code
        name={name}
        draft={current}
        onChange={edit}
        onDeploy={() => draft && setDeploying(true)}
        mayEdit={mayDeploy}
      />
    ),
    run: whenThere(<Run name={name} />),
    versions: whenThere(<Versions name={name} />),
    logs: whenThere(<Lines name={name} />),
    settings: <FunctionSettings name={name} draft={current} onChange={edit} summary={summary} mayEdit={mayDeploy} />,
  };
  return (
    <>
      <PageHeader
        title={name}
        info={<StateBadge status={summary?.status ?? (stored ? "local" : "draft")} />}
        actions={mayDeploy && (
          <>
            {draft && <Button onPress={() => void discard()}>{texts.discard}</Button>}
            {summary?.status === "deployed" && (
              <Button icon="trash" onPress={() => void onDelete()}>{texts.delete}</Button>
            )}
            <Button
              variant="primary"
              icon="upload"
              isDisabled={!draft && stored?.base !== null}
              onPress={() => setDeploying(true)}
            >
              {texts.deploy}
            </Button>
          </>
        )}
      >
        <Link to="functions">{texts.back}</Link>
      </PageHeader>
      {draft && (
        <div className="functions-draft">
          <Note kind={stored && draft.base !== stored.base ? "warn" : "info"}>
            {!stored ? texts.draftNew : draft.base !== stored.base ? texts.older : texts.draft}
          </Note>
        </div>
      )}
      <Tabs
        label={name}
        selected={ids.find((id) => id === search["tab"]) ?? "code"}
        onSelect={(tab) => changeSearch({ tab: tab === "code" ? null : tab })}
        tabs={ids.map((id) => ({ id, title: texts.tabs[id], content: contents[id] }))}
      />
      {isDeploying && (
        <Deploy
          name={name}
          draft={current}
          onClose={() => setDeploying(false)}
          onDone={() => setDraft(null)}
        />
      )}
    </>
  );
}
