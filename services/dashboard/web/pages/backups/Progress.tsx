import { useFollowedWork } from "../../api/followWork.ts";
import { Card } from "../../components/basics.tsx";
import { Note } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { Time } from "../../components/Time.tsx";
import type { BackupStatus } from "../../generated/operations.ts";
import { backupsTexts as texts } from "./texts.ts";

/** The backup under way with its reports, or why the last one failed. */
export function Progress() {
  const last = useFollowedWork<BackupStatus>("backups.status", {
    identity: (backup) => backup.name,
    invalidates: ["backups.list", "platform.health"],
    onDone: (backup) => toast.done(texts.done(backup.name)),
  });
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
