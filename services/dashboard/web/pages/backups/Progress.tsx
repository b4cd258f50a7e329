import { useEffect, useRef } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { invalidate, useOperation } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { Note } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { Time } from "../../components/Time.tsx";
import type { BackupStatus } from "../../generated/operations.ts";
import { backupsTexts as texts } from "./texts.ts";

const whileRunningMs = 1_000;
const whileIdleMs = 10_000;

/** The backup under way with its reports, or why the last one failed. */
export function Progress() {
  const status = useOperation("backups.status", {}, { refreshEvery: whileIdleMs });
  const last = status.data?.[0];
  const isRunning = last?.state === "running";
  const client = useQueryClient();
  const refetch = useRef(status.refetch);
  refetch.current = status.refetch;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => void refetch.current(), whileRunningMs);
    return () => clearInterval(timer);
  }, [isRunning]);
  const seen = useRef<BackupStatus | undefined>(undefined);
  useEffect(() => {
    const before = seen.current;
    seen.current = last;
    if (before === undefined || last === undefined) return;
    if (before.name === last.name && before.state === last.state) return;
    void invalidate(client, ["backups.list", "platform.health"]);
    if (last.state === "done") toast.done(texts.done(last.name));
  }, [last?.name, last?.state]);
  if (!last || last.state === "done") return null;
  if (last.state !== "running") {
    return (
      <Note kind="warn">
        <p>
          <strong>{texts.failed(last.name)}</strong> <Time value={last.ended_at ?? last.started_at} />
        </p>
        <Lines status={last} />
      </Note>
    );
  }
  return (
    <Card>
      <div className="backups-progress">
        <p role="status" className="backups-running">
          <span className="spinner" aria-hidden="true" /> <strong>{texts.running(last.name)}</strong>
        </p>
        <p className="soft">
          {texts.started} <Time value={last.started_at} />. {texts.runningText}
        </p>
        <Lines status={last} />
      </div>
    </Card>
  );
}

function Lines({ status }: { status: BackupStatus }) {
  const lines = status.lines ?? [];
  if (lines.length === 0) return null;
  return (
    <ul className="backups-lines" aria-label={texts.output}>
      {lines.slice(-5).map((line, index) => <li key={index}>{line}</li>)}
    </ul>
  );
}
