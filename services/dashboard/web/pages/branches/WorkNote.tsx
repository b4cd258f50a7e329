import { Card } from "../../components/basics.tsx";
import { Note } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { BranchWork } from "../../generated/operations.ts";
import { branchesTexts } from "./texts.ts";

const texts = branchesTexts.work;

/** The work under way with its reports, or why the last one failed. */
export function WorkNote({ work }: { work: BranchWork | undefined }) {
  if (!work || work.state === "done") return null;
  if (work.state === "failed") {
    return (
      <Note kind="warn">
        <p>
          <strong>{texts.failed[work.action](work.name)}</strong> <Time value={work.ended_at ?? work.started_at} />
        </p>
        <Lines work={work} />
      </Note>
    );
  }
  return (
    <Card>
      <div className="branches-part">
        <p role="status" className="branches-running">
          <span className="spinner" aria-hidden="true" /> <strong>{texts.running[work.action](work.name)}</strong>
        </p>
        <p className="soft">{texts.text}</p>
        <Lines work={work} />
      </div>
    </Card>
  );
}

function Lines({ work }: { work: BranchWork }) {
  const lines = work.lines ?? [];
  if (lines.length === 0) return null;
  return (
    <ul className="branches-lines" aria-label={texts.lines}>
      {lines.slice(-6).map((line, index) => <li key={index}>{line}</li>)}
    </ul>
  );
}
