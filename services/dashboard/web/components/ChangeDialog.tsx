import { useState } from "react";
import { Link } from "../address.tsx";
import { ApiError } from "../api/errors.ts";
import type { Arguments } from "../api/client.ts";
import { useChange, useOperation } from "../api/hooks.ts";
import { defineTexts } from "../texts.ts";
import { texts as shared } from "../texts.ts";
import { AccessPreview } from "./AccessPreview.tsx";
import { CodeBlock } from "./basics.tsx";
import { Button } from "./Button.tsx";
import { Dialog } from "./Dialog.tsx";
import { Field } from "./Field.tsx";
import { Note, QueryView } from "./states.tsx";
import { toast } from "./toasts.ts";

const texts = defineTexts("changes", {
  lead: "This runs once as role postgres, is recorded, and becomes a file of the project folder.",
  leadWithoutFile: (reason: string) =>
    `This runs once as role postgres and is recorded in the database. No file is written, for ${reason}.`,
  sql: "SQL of the change",
  name: "Name of the migration",
  apply: "Apply and save",
  applyOnly: "Apply",
  applied: "Applied",
  done: (path: string) => `Applied and saved as ${path}`,
  pending: "Migrations of the project folder",
  despite: "Apply it all the same",
  back: "Back",
  noFile: (reason: string) => `Applied; no file was written: ${reason}`,
});

/** Its texts, for translations. */
export type ChangeDialogTexts = typeof texts;

export type Change = Arguments<"schema.apply">["changes"][number];

/** Changes of the schema as SQL, with what they warn of, before they are applied and saved as a migration. */
export function ChangeDialog({ title, name: first, changes, typeName, isOverForm, onClose, onDone }: {
  title: string;
  /** What the migration is called unless the administrator changes it. */
  name: string;
  changes: readonly Change[];
  /** The administrator types this name first: for what destroys data. */
  typeName?: string;
  /** The form that the changes come from is open below, and has what was typed. */
  isOverForm?: boolean;
  onClose: () => void;
  onDone?: () => void;
}) {
  const [name, setName] = useState(first);
  const [typed, setTyped] = useState("");
  const isNamed = typeName === undefined || typed.trim() === typeName;
  const plan = useOperation("schema.plan", { changes: [...changes] });
  const apply = useChange("schema.apply", {
    invalidates: ["catalog.", "policies.", "migrations.", "rows.", "schema.", "realtime."],
    showsError: true,
    onDone: ({ migration: { file } }) => {
      toast.done(
        file.is_written
          ? texts.done(file.path)
          : plan.data?.file_obstacle
          ? texts.applied
          : texts.noFile(file.reason ?? ""),
      );
      (onDone ?? onClose)();
    },
  });
  const isPending = apply.error instanceof ApiError && apply.error.code === "pending_migrations";
  const submit = (isDespite: boolean) => {
    if (!plan.data || !isNamed) return;
    apply.mutate({ name: name.trim(), changes: [...changes], ...(isDespite ? { despite_pending: true } : {}) });
  };
  return (
    <Dialog
      title={title}
      isOpen
      onClose={onClose}
      isDismissable={false}
      isDirty={false}
      onSubmit={() => submit(false)}
      error={apply.error}
      footer={
        <>
          {isPending && (
            <>
              <Link to="schema/migrations">{texts.pending}</Link>
              <Button onPress={() => submit(true)}>{texts.despite}</Button>
            </>
          )}
          <Button onPress={onClose}>{isOverForm ? texts.back : shared.actions.cancel}</Button>
          <Button
            type="submit"
            variant={plan.data?.warnings.some((warning) => warning.level === "danger") ? "danger" : "primary"}
            isDisabled={!plan.data || !name.trim() || !isNamed || apply.isPending}
          >
            {plan.data?.file_obstacle ? texts.applyOnly : texts.apply}
          </Button>
        </>
      }
    >
      <QueryView query={plan}>
        {({ text, warnings, file_obstacle: obstacle }) => (
          <>
            <PlanLead obstacle={obstacle} />
            {warnings.map((warning, index) => (
              <Note key={index} kind={warning.level === "notice" ? "info" : "warn"}>{warning.message}</Note>
            ))}
            <CodeBlock label={texts.sql} code={text} />
            <AccessPreview text={text} />
            <Field label={texts.name} value={name} onChange={setName} />
            {typeName !== undefined && (
              <Field
                label={shared.confirm.typeName(typeName)}
                value={typed}
                onChange={setTyped}
                autoComplete="off"
                isCode
                hasFocus
              />
            )}
          </>
        )}
      </QueryView>
    </Dialog>
  );
}

/** What becomes of a change: it is recorded, and a file where the platform can write one. */
export function PlanLead({ obstacle }: { obstacle: string | null }) {
  return <p className="soft">{obstacle === null ? texts.lead : texts.leadWithoutFile(obstacle)}</p>;
}
