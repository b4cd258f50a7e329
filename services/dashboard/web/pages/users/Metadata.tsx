import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { ErrorNote } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import type { JsonValue, ProjectUser, ProjectUserChangeInput } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { useUserChange } from "./change.ts";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.metadata;
type Members = { [name: string]: JsonValue };
type Part = "user_metadata" | "app_metadata";
const parts: readonly { part: Part; label: string; hint: string }[] = [
  { part: "user_metadata", label: texts.user, hint: texts.userHint },
  { part: "app_metadata", label: texts.app, hint: texts.appHint },
];

/** Both kinds of metadata as JSON. */
export function Metadata({ user, mayChange }: { user: ProjectUser; mayChange: boolean }) {
  return (
    <div className="users-parts">
      {parts.map(({ part, label, hint }) => (
        <MetadataPart
          key={part + JSON.stringify(user[part])}
          user={user}
          part={part}
          label={label}
          hint={hint}
          mayChange={mayChange}
        />
      ))}
    </div>
  );
}

function MetadataPart(
  { user, part, label, hint, mayChange }: {
    user: ProjectUser;
    part: Part;
    label: string;
    hint: string;
    mayChange: boolean;
  },
) {
  const before = membersOf(user[part]);
  const [text, setText] = useState(JSON.stringify(before, null, 2));
  const change = useUserChange("users.change", user.id, { showsError: true });
  const after = parsed(text);
  const changes = after && differences(before, after);
  const isChanged = changes !== null && Object.keys(changes).length > 0;
  const save = () => {
    if (!isChanged || !after) return;
    change.mutate(argumentsOf(user.id, part, changes), {
      onSuccess: () =>
        toast.done(texts.done, {
          action: {
            label: shellTexts.actions.undo,
            run: () => change.mutate(argumentsOf(user.id, part, differences(after, before))),
          },
        }),
    });
  };
  return (
    <section className="users-part">
      <h3>{label}</h3>
      <p className="hint">{hint}</p>
      <CodeEditor
        label={label}
        value={text}
        onChange={setText}
        onRun={save}
        language="json"
        isReadOnly={!mayChange}
        minHeight="6rem"
        maxHeight="18rem"
      />
      {after === null && <p className="field-error" role="alert">{texts.bad}</p>}
      <ErrorNote error={change.error} />
      {mayChange && (
        <p className="users-save">
          <Button
            size="small"
            isDisabled={!isChanged}
            isPending={change.isPending}
            aria-label={`${texts.save}: ${label}`}
            onPress={save}
          >
            {texts.save}
          </Button>
        </p>
      )}
    </section>
  );
}

function argumentsOf(id: string, part: Part, changes: Members): ProjectUserChangeInput {
  return part === "user_metadata" ? { id, user_metadata: changes } : { id, app_metadata: changes };
}

/** Return what is to be merged so that `before` becomes `after`: changed members, and null for those that are gone. */
function differences(before: Members, after: Members): Members {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name] ?? null]));
}

function membersOf(value: JsonValue): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function parsed(text: string): Members | null {
  try {
    const value = JSON.parse(text) as JsonValue;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
