import { useState } from "react";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Figure } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Loading, Note, QueryView } from "../../components/states.tsx";
import { formatBytes, formatNumber, formatPercent } from "../../format.ts";
import type { IndexTrial as TrialResult } from "../../generated/operations.ts";
import { ApplyFix } from "./ApplyFix.tsx";
import { PlanTree } from "./PlanTree.tsx";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.trial;

interface IndexTrialProps {
  schema: string;
  table: string;
  columns: readonly string[];
  /** The statement that the index is to help; null: a lookup by its columns. */
  statement: string | null;
  definition: string;
  onClose: () => void;
}

/** An index that is proposed: what it changes, tried on a copy of rows, and its SQL as a migration. */
export function IndexTrial({ schema, table, columns, statement, definition, onClose }: IndexTrialProps) {
  const [isAsked, setAsked] = useState(false);
  const mayTry = useMay("statistics.try_index");
  const trial = useOperation("statistics.try_index", { schema, table, columns: [...columns], statement }, {
    isEnabled: isAsked,
    staleAfter: Infinity,
  });
  const fix = trial.data ? `-- ${summaryOf(trial.data)}\n${definition}` : definition;
  return (
    <>
      {mayTry && (
        <section className="performance-part">
          <h3>{texts.title}</h3>
          <p className="soft">{statement === null ? texts.lookup : texts.text}</p>
          {isAsked
            ? (
              <QueryView query={trial} loading={<Loading label={texts.trying} />}>
                {(result) => <Result result={result} />}
              </QueryView>
            )
            : (
              <span>
                <Button icon="play" onPress={() => setAsked(true)}>{texts.try}</Button>
              </span>
            )}
        </section>
      )}
      <section className="performance-part">
        <h3>{texts.migration}</h3>
        <ApplyFix key={fix} fix={fix} name={`index_${table}_${columns.join("_")}`} onClose={onClose} />
      </section>
    </>
  );
}

function Result({ result }: { result: TrialResult }) {
  return (
    <>
      <div className="figures">
        <Figure label={texts.before} value={costOf(result.cost_before)} />
        <Figure label={texts.after} value={costOf(result.cost_after)} tone={result.is_used ? "good" : "neutral"} />
        <Figure label={texts.gain} value={formatPercent(result.gain, 0)} />
        <Figure
          label={texts.size}
          value={formatBytes(result.index_bytes)}
          hint={texts.tableSize(formatBytes(result.table_bytes), formatNumber(result.rows))}
        />
      </div>
      {!result.is_used && <Note kind="warn">{texts.notUsed}</Note>}
      {result.sampled < 1 && <Note>{texts.sampled(formatPercent(result.sampled))}</Note>}
      <details>
        <summary>{texts.plans}</summary>
        <h4>{texts.before}</h4>
        <PlanTree label={texts.before} node={result.before} />
        <h4>{texts.after}</h4>
        <PlanTree label={texts.after} node={result.after} />
      </details>
    </>
  );
}

/** What a trial gave, as a line of a migration. It is in English, as the rest of such a file. */
function summaryOf({ cost_before, cost_after, index_bytes, sampled }: TrialResult): string {
  const on = sampled < 1 ? `a sample of ${Math.round(sampled * 100)} % of the rows` : "a copy of the rows";
  return `Tried on ${on}: cost ${Math.round(cost_before)} without, ${Math.round(cost_after)} with the index; about ${
    Math.round(index_bytes / 1024)
  } KiB.`;
}

function costOf(cost: number): string {
  return formatNumber(cost < 100 ? Math.round(cost * 10) / 10 : Math.round(cost));
}
