/** Dialogs that keep a text: as a snippet, as a migration. */

import { useState } from "react";
import { run } from "../../api/client.ts";
import { ApiError, isStopped } from "../../api/errors.ts";
import { useChange, useOperation } from "../../api/hooks.ts";
import { AccessPreview } from "../../components/AccessPreview.tsx";
import { CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { toast } from "../../components/toasts.ts";
import { texts as shared } from "../../texts.ts";
import { useQueryClient } from "@tanstack/react-query";
import { invalidate } from "../../api/hooks.ts";
import { sqlTexts as texts } from "./texts.ts";

interface SaveProps {
  sql: string;
  onClose: () => void;
}

/** Name a text and write it into the project folder; a snippet of the same name is replaced after a question. */
export function SaveSnippet({ sql, name: first, onClose, onSaved }: SaveProps & {
  name: string;
  onSaved: (name: string) => void;
}) {
  const [name, setName] = useState(first);
  const [error, setError] = useState<unknown>(null);
  const client = useQueryClient();
  const save = async () => {
    const trimmed = name.trim();
    try {
      await saveOver(trimmed, sql, trimmed === first);
    } catch (failure) {
      if (!isStopped(failure)) setError(failure);
      return;
    }
    await invalidate(client, ["snippets."]);
    toast.done(texts.snippetSaved(trimmed));
    onSaved(trimmed);
  };
  return (
    <Dialog
      title={texts.saveSnippet}
      isOpen
      onClose={onClose}
      size="small"
      onSubmit={() => void save()}
      error={error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!name.trim()}>{texts.save}</Button>
        </>
      }
    >
      <Field label={texts.snippetName} hint={texts.snippetHint} value={name} onChange={setName} hasFocus />
    </Dialog>
  );
}

async function saveOver(name: string, text: string, replaces: boolean): Promise<void> {
  try {
    await run("snippets.save", { name, text, replaces });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "snippet_exists") throw error;
    const question = { title: texts.replaceTitle(name), body: texts.replaceText, names: [name], action: texts.replace };
    if (!await confirm(question)) throw new DOMException("declined", "AbortError");
    await run("snippets.save", { name, text, replaces: true });
  }
}

/** Show the SQL, ask what it does, apply it as a migration of the project. */
export function SaveMigration({ sql, onClose }: SaveProps) {
  const [name, setName] = useState("");
  const migrations = useOperation("migrations.list", {});
  const apply = useChange("migrations.apply", {
    invalidates: ["migrations.", "catalog.", "policies.", "rows."],
    showsError: true,
    onDone: ({ file }) => {
      toast.done(file.is_written ? texts.migrationDone(file.path) : texts.migrationNoFile(file.reason ?? ""));
      onClose();
    },
  });
  return (
    <Dialog
      title={texts.migrationTitle}
      isOpen
      onClose={onClose}
      onSubmit={() => apply.mutate({ name: name.trim(), text: sql })}
      error={apply.error}
      isDismissable={false}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!name.trim() || apply.isPending}>
            {texts.applyMigration}
          </Button>
        </>
      }
    >
      <p className="soft">
        {migrations.data?.folder_is_known === false ? texts.migrationTextOnly : texts.migrationText}
      </p>
      <Field label={texts.migrationName} hint={texts.migrationHint} value={name} onChange={setName} hasFocus />
      <CodeBlock label={texts.migrationSql} code={sql} />
      <AccessPreview text={sql} />
    </Dialog>
  );
}
