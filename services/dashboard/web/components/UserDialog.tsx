import { useState } from "react";
import { useOperation } from "../api/hooks.ts";
import type { ProjectUserSummary } from "../generated/operations.ts";
import { callerTexts } from "./callerTexts.ts";
import { Dialog } from "./Dialog.tsx";
import { SearchField } from "./Field.tsx";
import { QueryView } from "./states.tsx";
import "./caller.css";

/** Chooses one of the users of the project. */
export function UserDialog({ title, text, onChoose, onClose }: {
  title: string;
  /** What happens with the chosen one. */
  text: string;
  onChoose: (user: ProjectUserSummary) => void;
  onClose: () => void;
}) {
  const [contains, setContains] = useState("");
  const users = useOperation("users.search", { contains, limit: 20 }, { keepsPrevious: true });
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <p className="soft">{text}</p>
      <SearchField label={callerTexts.findUser} value={contains} onChange={setContains} hasFocus />
      <QueryView
        query={users}
        isEmpty={({ rows }) => rows.length === 0}
        empty={<p className="soft" role="status">{callerTexts.noUser}</p>}
      >
        {({ rows }) => (
          <ul className="user-choices">
            {rows.map((user) => (
              <li key={user.id}>
                <button type="button" className="user-choice" onClick={() => onChoose(user)}>
                  <span className="cut">{user.email ?? user.phone ?? user.name ?? user.id}</span>
                  <code className="faint cut">{user.id}</code>
                </button>
              </li>
            ))}
          </ul>
        )}
      </QueryView>
    </Dialog>
  );
}
