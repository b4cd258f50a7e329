import { Badge, JsonView } from "../../components/basics.tsx";
import { Time } from "../../components/Time.tsx";
import type { AuthAuditEntry } from "../../generated/operations.ts";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.audit;

/** The newest entries of auth's audit log that name the user. */
export function UserAudit({ entries }: { entries: readonly AuthAuditEntry[] }) {
  if (entries.length === 0) return <p className="soft">{texts.none}</p>;
  return (
    <ul className="users-entries">
      {entries.map((entry) => (
        <li key={entry.id} className="users-entry">
          <div className="users-entry-text">
            <div>
              <Badge>{entry.action}</Badge> {entry.actor}
            </div>
            <div className="hint">
              <Time value={entry.at} />
              {entry.address && (
                <>
                  {" · "}
                  <code>{entry.address}</code>
                </>
              )}
            </div>
            {hasMembers(entry.traits) && <JsonView value={entry.traits} label={entry.action ?? ""} depth={0} />}
          </div>
        </li>
      ))}
    </ul>
  );
}

function hasMembers(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
