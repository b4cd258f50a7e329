import { Link, pathOf } from "../../../address.tsx";
import { Button } from "../../../components/Button.tsx";
import { Note } from "../../../components/states.tsx";
import { Time } from "../../../components/Time.tsx";
import { formatTime } from "../../../format.ts";
import type { RowVersion, VersionCause } from "../../../generated/operations.ts";
import { Shown } from "../ConflictDialog.tsx";
import type { TextValue } from "../values.ts";
import { historyTexts as texts } from "./texts.ts";
import { differencesOf, isUndoable, textOf } from "./versions.ts";

const mostShown = 2_000;

/** A version: what was done, when, by whom and by which request, what it changed, and its undoing. */
export function Version({ version, onUndo, isPending }: {
  version: RowVersion;
  /** Null where the administrator may not undo. */
  onUndo: (() => void) | null;
  isPending: boolean;
}) {
  const differences = differencesOf(version);
  const omitted = version.omitted ?? [];
  const formerKey = textOf(version.former_key);
  const hasBefore = version.operation !== "insert";
  const hasAfter = version.operation !== "delete";
  return (
    <li className="tables-version">
      <div className="tables-version-head">
        <strong>{texts.operations[version.operation] ?? version.operation}</strong>
        <Time value={version.at} />
        {onUndo && isUndoable(version) && (
          <span className="tables-version-undo">
            <Button size="small" icon="restore" isDisabled={isPending} onPress={onUndo}>{texts.undo}</Button>
          </span>
        )}
      </div>
      <Cause cause={version.cause} />
      {formerKey !== null && <p className="soft">{texts.formerKey(formerKey)}</p>}
      {differences.length > 0 && (
        <div
          className="tables-scroll"
          tabIndex={0}
          role="region"
          aria-label={texts.differences(formatTime(version.at))}
        >
          <table className="tables-compare">
            <thead>
              <tr>
                <th>{texts.column}</th>
                {hasBefore && <th>{hasAfter ? texts.before : texts.value}</th>}
                {hasAfter && <th>{hasBefore ? texts.after : texts.value}</th>}
              </tr>
            </thead>
            <tbody>
              {differences.map(({ column, before, after }) => (
                <tr key={column}>
                  <th scope="row">{column}</th>
                  {hasBefore && <ValueCell value={before ?? null} isBefore={hasAfter} />}
                  {hasAfter && <ValueCell value={after ?? null} />}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {omitted.length > 0 && <Note kind="warn">{texts.omitted(omitted.join(", "))}</Note>}
    </li>
  );
}

function ValueCell({ value, isBefore }: { value: TextValue; isBefore?: boolean }) {
  const shown = value !== null && value.length > mostShown ? `${value.slice(0, mostShown)}…` : value;
  return (
    <td className={isBefore ? "soft" : ""}>
      <Shown value={shown} />
    </td>
  );
}

/** Who wrote, and the way to the log lines of the request. */
function Cause({ cause }: { cause: VersionCause }) {
  return (
    <p className="soft tables-version-cause">
      <span>{texts.sources[cause.source] ?? cause.source}</span>
      {cause.by_trigger && <span>{texts.byTrigger}</span>}
      {cause.role && <span>{texts.as(cause.role)}</span>}
      {cause.sub && <Link to={pathOf("users", cause.sub)}>{texts.user(cause.sub)}</Link>}
      {cause.request && <code>{cause.request}</code>}
      {cause.login && <span>{texts.login(cause.login)}</span>}
      {cause.request_id && <Link to={pathOf("logs", "request", cause.request_id)}>{texts.logLines}</Link>}
    </p>
  );
}
