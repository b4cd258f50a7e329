import { useGo } from "../../address.tsx";
import { ApiError } from "../../api/errors.ts";
import { useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { useKept } from "../../components/kept.ts";
import { EmptyState, ErrorNote } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { useState } from "react";
import { assistantTexts } from "../assistant/texts.ts";
import { Plan } from "./Plan.tsx";
import { ResultView } from "./ResultView.tsx";
import { sqlTexts as texts } from "./texts.ts";
import type { Outcome } from "./useSqlRun.tsx";

/** What is below the editor: the error, the plan, or the results of the statements, the last one first in view. */
export function Results({ outcome }: { outcome: Outcome | undefined }) {
  if (!outcome) return <EmptyState icon="terminal" title={texts.firstRun}>{texts.firstRunText}</EmptyState>;
  return (
    <>
      {outcome.error !== undefined && <Failure outcome={outcome} />}
      {outcome.plan && <Plan explained={outcome.plan} />}
      {outcome.results.length > 0 && <Statements outcome={outcome} />}
      {outcome.transaction.startsWith("rolled back") && <p className="sql-done soft">{outcome.transaction}</p>}
    </>
  );
}

function Failure({ outcome }: { outcome: Outcome }) {
  const { error } = outcome;
  const { line, column } = error instanceof ApiError ? error.body : {};
  return (
    <div className="sql-failure">
      <ErrorNote error={error} />
      {error instanceof ApiError && <AskAssistant sql={outcome.sql} message={error.message} />}
      {typeof line === "number" && typeof column === "number" && <p className="soft">{texts.failedAt(line, column)}</p>}
    </div>
  );
}

/** Takes the text and its error to the assistant, where there is one; nothing is sent before the administrator sends it. */
function AskAssistant({ sql, message }: { sql: string; message: string }) {
  const setting = useOperation("settings.list", { prefix: "assistant.enabled" }, { staleAfter: 60_000 });
  const [, setDraft] = useKept("assistant:draft", () => "");
  const go = useGo();
  if (setting.data?.settings[0]?.value !== true) return null;
  return (
    <Button
      size="small"
      icon="bolt"
      onPress={() => {
        setDraft(() => assistantTexts.aboutError(sql, message));
        go("assistant");
      }}
    >
      {assistantTexts.askAbout}
    </Button>
  );
}

function Statements({ outcome }: { outcome: Outcome }) {
  const { results } = outcome;
  const [chosen, setChosen] = useState(String(results.length - 1));
  if (results.length === 1) return <ResultView result={results[0]!} outcome={outcome} />;
  return (
    <div className="sql-statements">
      <Tabs
        label={texts.results}
        selected={chosen}
        onSelect={setChosen}
        tabs={results.map((result, index) => ({
          id: String(index),
          title: texts.statement(result.line, result.tag),
          content: <ResultView result={result} outcome={outcome} />,
        }))}
      />
    </div>
  );
}
