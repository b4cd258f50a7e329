/** Running a text: the warning before, the run with its id, cancelling, the plan, the error with its place. */

import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { run } from "../../api/client.ts";
import { ApiError, isStopped } from "../../api/errors.ts";
import { invalidate } from "../../api/hooks.ts";
import { confirm } from "../../components/Dialog.tsx";
import { toast } from "../../components/toasts.ts";
import type { ExplainedStatement, StatementResult, ViewAsInput } from "../../generated/operations.ts";
import { type PastRun, randomId } from "./openTexts.ts";
import { rangeParameters } from "../reports/parameters.ts";
import { placeOf } from "./result.ts";
import { sqlTexts as texts } from "./texts.ts";

/** The time range of $1 and $2 here: the last day. Reports let one choose. */
const rangeS = 86_400;

export interface RunOptions {
  isReadOnly: boolean;
  viewAs: ViewAsInput | null;
  roleName: string;
  timeoutS: number | null;
}

/** What is shown below the editor. */
export interface Outcome {
  sql: string;
  /** Where the text stands in the editor. */
  from: number;
  results: readonly StatementResult[];
  transaction: string;
  ms: number | null;
  options: RunOptions;
  plan?: ExplainedStatement;
  error?: unknown;
  /** The place of the error in the editor. */
  errorAt?: number;
}

/** Return the outcome of each text by its id, and what runs, explains and cancels. */
export function useSqlRun(note: (run: PastRun) => void) {
  const [outcomes, setOutcomes] = useState<{ readonly [textId: string]: Outcome }>({});
  const [running, setRunning] = useState<string | null>(null);
  const runId = useRef("");
  const client = useQueryClient();

  const attempt = async (textId: string, base: Outcome, work: (id: string) => Promise<Partial<Outcome>>) => {
    const id = runId.current = randomId();
    setRunning(textId);
    let outcome = base;
    try {
      outcome = { ...base, ...await work(id) };
    } catch (error) {
      if (isStopped(error)) return;
      outcome = { ...base, ...failure(error, base) };
    } finally {
      setRunning(null);
    }
    setOutcomes((all) => ({ ...all, [textId]: outcome }));
    const { sql, options, error, ms } = outcome;
    note({ sql, at: new Date().toISOString(), role: options.roleName, isDone: error === undefined, ms });
  };

  const start = async (textId: string, text: { text: string; from: number }, options: RunOptions) => {
    const base = baseOf(text, options);
    await attempt(textId, base, async (id) => {
      if (!options.isReadOnly && !await mayDestroy(text.text)) throw new DOMException("declined", "AbortError");
      const done = await run("sql.run", {
        sql: text.text,
        id,
        read_only: options.isReadOnly,
        view_as: options.viewAs,
        timeout_s: options.timeoutS,
        parameters: options.isReadOnly ? rangeParameters(text.text, Date.now(), rangeS) : [],
      });
      if (!options.isReadOnly) void invalidate(client, ["catalog.", "rows.", "policies.", "migrations."]);
      return { results: done.results, transaction: done.transaction, ms: done.duration_ms };
    });
  };

  const explain = (textId: string, text: { text: string; from: number }, options: RunOptions, isAnalyzed: boolean) =>
    attempt(textId, baseOf(text, options), async (id) => {
      const plan = await run("sql.explain", {
        sql: text.text,
        id,
        analyze: isAnalyzed,
        read_only: options.isReadOnly,
        view_as: options.viewAs,
        timeout_s: options.timeoutS,
      });
      return { plan, ms: plan.execution_ms };
    });

  const cancel = async () => {
    try {
      const { sessions } = await run("sql.cancel", { id: runId.current });
      toast.info(sessions > 0 ? texts.cancelled : texts.ended);
    } catch (error) {
      toast.error(error);
    }
  };

  return { outcomes, running, start, explain, cancel };
}

function baseOf({ text, from }: { text: string; from: number }, options: RunOptions): Outcome {
  return { sql: text, from, results: [], transaction: "", ms: null, options };
}

function failure(error: unknown, base: Outcome): Partial<Outcome> {
  if (!(error instanceof ApiError)) return { error };
  const { line, column, results, outcome } = error.body;
  return {
    error,
    results: Array.isArray(results) ? results as StatementResult[] : [],
    transaction: typeof outcome === "string" ? outcome : "",
    ...(typeof line === "number" && typeof column === "number"
      ? { errorAt: base.from + placeOf(base.sql, line, column) }
      : {}),
  };
}

/** Ask before a text that destroys or locks; a text that cannot be split fails when it runs, with its place. */
async function mayDestroy(sql: string): Promise<boolean> {
  const { warnings } = await run("sql.check", { sql });
  if (warnings.length === 0) return true;
  const names = warnings.flatMap((warning) => warning.objects.map((object) => texts.about(object.name, object.rows)));
  return await confirm({
    title: texts.warnTitle,
    body: (
      <>
        <p>{texts.warnText}</p>
        <ul className="sql-warnings">
          {warnings.map((warning, index) => <li key={index}>{texts.warnLine(warning.line, warning.message)}</li>)}
        </ul>
      </>
    ),
    names: [...new Set(names)],
    action: texts.runAnyway,
  });
}
