import { ApiError } from "../../api/errors.ts";
import { Tabs } from "../../components/basics.tsx";
import { EmptyState, ErrorNote } from "../../components/states.tsx";
import { useState } from "react";
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
      {typeof line === "number" && typeof column === "number" && <p className="soft">{texts.failedAt(line, column)}</p>}
    </div>
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
