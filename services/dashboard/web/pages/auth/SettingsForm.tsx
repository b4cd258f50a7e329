import { useState } from "react";
import { run } from "../../api/client.ts";
import { useChange, useMe } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field, Switch } from "../../components/Field.tsx";
import { Note } from "../../components/states.tsx";
import type { JsonValue, SettingEntry, SettingsList } from "../../generated/operations.ts";
import { entriesOf, labelOf, type SettingGroup } from "./groups.ts";
import { authTexts } from "./texts.ts";

const texts = authTexts.form;
const invalidates = ["settings.", "auth.", "mail.templates"] as const;

/** What a test found: whether it worked, and in words why not. */
interface TestResult {
  isGood: boolean;
  message: string;
}

/** The two round trips that settings of auth can be tried by: the document of a provider, and an email to the administrator. */
export type SettingsTest = { kind: "provider"; name: string } | { kind: "email" };

/** All settings of a group in one form, saved in one change, and tried as they are stored. */
export default function SettingsForm({ title, data, group, test, onClose }: {
  title: string;
  data: SettingsList;
  /** A group of one prefix. */
  group: SettingGroup;
  /** Null where nothing can be tried; then the form closes when it is saved. */
  test: SettingsTest | null;
  onClose: () => void;
}) {
  const { rights } = useMe();
  const entries = entriesOf(data.settings, group).filter((entry) =>
    entry.is_live && !entry.environment?.is_set && (rights === "owner" || !entry.needs_owner)
  );
  const [typed, setTyped] = useState<{ readonly [key: string]: string | boolean }>({});
  const values = changedValues(entries, typed);
  const isDirty = values === null || Object.keys(values).length > 0;
  const save = useChange("settings.change", {
    invalidates,
    showsError: true,
    doneText: texts.saved,
    onDone: () => test ? setTyped({}) : onClose(),
  });
  const [result, setResult] = useState<TestResult | null>(null);
  const [isTesting, setTesting] = useState(false);
  const runTest = async () => {
    if (!test) return;
    setTesting(true);
    setResult(await resultOf(test).catch((error: Error) => ({ isGood: false, message: error.message })));
    setTesting(false);
  };
  return (
    <Dialog
      title={title}
      isOpen
      isDirty={isDirty}
      onClose={onClose}
      error={save.error}
      onSubmit={() => {
        setResult(null);
        if (values && isDirty) save.mutate({ version: data.version, values });
      }}
      footer={
        <>
          {test && (
            <Button isDisabled={isDirty} isPending={isTesting} onPress={() => void runTest()}>{texts.test}</Button>
          )}
          <Button type="submit" variant="primary" isDisabled={!isDirty || values === null} isPending={save.isPending}>
            {texts.save}
          </Button>
        </>
      }
    >
      {entries.map((entry) => (
        <SettingField
          key={entry.key}
          entry={entry}
          label={labelOf(entry.key, group.keys[0]!)}
          value={typed[entry.key] ?? textOf(entry)}
          onChange={(value) => setTyped((before) => ({ ...before, [entry.key]: value }))}
        />
      ))}
      {test && <p className="hint">{test.kind === "email" ? texts.emailHint : texts.providerHint}</p>}
      {result && <Note kind={result.isGood ? "good" : "warn"}>{result.message}</Note>}
    </Dialog>
  );
}

function SettingField({ entry, label, value, onChange }: {
  entry: SettingEntry;
  label: string;
  value: string | boolean;
  onChange: (value: string | boolean) => void;
}) {
  if (typeof value === "boolean") return <Switch isSelected={value} onChange={onChange}>{label}</Switch>;
  const isStored = entry.is_secret && entry.is_set && entry.value !== "";
  return (
    <Field
      label={label}
      type={entry.is_secret ? "password" : "text"}
      value={value}
      onChange={onChange}
      autoComplete={entry.is_secret ? "new-password" : "off"}
      isCode
      hint={isStored ? texts.keepsSecret : entry.documentation.replaceAll("`", "")}
      error={parsed(entry, value) === undefined ? authTexts.form.badJson : undefined}
    />
  );
}

function isText(entry: SettingEntry): boolean {
  return entry.is_secret || entry.value === null || typeof entry.value === "string";
}

/** A setting as its field begins. Secrets do not come here: their field is empty, and stays so unless it is changed. */
function textOf(entry: SettingEntry): string | boolean {
  if (typeof entry.value === "boolean") return entry.value;
  if (entry.is_secret) return "";
  return isText(entry) ? String(entry.value ?? "") : JSON.stringify(entry.value);
}

function parsed(entry: SettingEntry, value: string | boolean): JsonValue | undefined {
  if (typeof value === "boolean" || isText(entry)) return value;
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Return what differs from the settings; null if a value cannot be read. */
function changedValues(
  entries: readonly SettingEntry[],
  typed: { readonly [key: string]: string | boolean },
): { [key: string]: JsonValue } | null {
  const values: { [key: string]: JsonValue } = {};
  for (const entry of entries) {
    const value = typed[entry.key];
    if (value === undefined || value === textOf(entry)) continue;
    const next = parsed(entry, value);
    if (next === undefined) return null;
    values[entry.key] = next;
  }
  return values;
}

async function resultOf(test: SettingsTest): Promise<TestResult> {
  if (test.kind === "email") {
    const { to } = await run("mail.send_test", {});
    return { isGood: true, message: authTexts.emails.tested(to) };
  }
  const { is_usable, message } = await run("auth.check_provider", { name: test.name });
  const { usable, unusable } = authTexts.providers;
  return { isGood: is_usable, message: `${is_usable ? usable : unusable}. ${message}` };
}
