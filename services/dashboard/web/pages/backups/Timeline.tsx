import { formatTime } from "../../format.ts";
import type { StoredBase } from "../../generated/operations.ts";
import { backupsTexts } from "./texts.ts";

const texts = backupsTexts.continuous;

/** The moments that can be restored as a bar, with a mark for each base backup. */
export function Timeline({ oldest, until, bases }: { oldest: number; until: number; bases: readonly StoredBase[] }) {
  const span = Math.max(1, until - oldest);
  const marks = bases.map(({ ended_at }) => Math.min(1, Math.max(0, (ended_at - oldest) / span)));
  return (
    <figure className="backups-timeline">
      <div
        className="backups-bar"
        role="img"
        aria-label={texts.timeline(formatTime(oldest), formatTime(until), bases.length)}
      >
        {marks.map((place, index) => (
          <span key={index} className="backups-mark" style={{ insetInlineStart: `${place * 100}%` }} />
        ))}
      </div>
      <figcaption className="backups-ends">
        <span>{texts.from} {formatTime(oldest)}</span>
        <span>{texts.until} {formatTime(until)}</span>
      </figcaption>
    </figure>
  );
}
