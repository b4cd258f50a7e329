import { useState } from "react";
import { useChange, useMe } from "../../api/hooks.ts";
import { Badge, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field, Switch } from "../../components/Field.tsx";
import { Note } from "../../components/states.tsx";
import type { JsonValue, SettingEntry } from "../../generated/operations.ts";
import { settingsTexts } from "./texts.ts";
import { SourceBadge, valueOf } from "./settingValue.tsx";

const texts = settingsTexts.values;

/** One setting beside the list: its meaning, the value of each source, and its change. */
export function EditSetting(
  { entry, version, onClose }: { entry: SettingEntry; version: number; onClose: () => void },
) {
  const me = useMe();
  const isText = typeof entry.value === "string" || entry.value === null || entry.is_secret;
  const [text, setText] = useState(
    isText ? entry.is_secret ? "" : String(entry.value ?? "") : JSON.stringify(entry.value),
  );
  const [isOn, setOn] = useState(entry.value === true);
  const options = { invalidates: ["settings."] as const, showsError: true };
  const change = useChange("settings.change", { ...options, doneText: texts.changed(entry.key), onDone: onClose });
  const reset = useChange("settings.reset", { ...options, doneText: texts.wasReset(entry.key), onDone: onClose });
  const value = typeof entry.value === "boolean" ? isOn : isText ? text : parsed(text);
  const refusal = refusalOf(entry, me.rights);
  return (
    <Dialog
      title={entry.key}
      isOpen
      size="side"
      onClose={onClose}
      onSubmit={() => value !== undefined && change.mutate({ version, values: { [entry.key]: value } })}
      error={change.error ?? reset.error}
      footer={refusal === "" && (
        <>
          {entry.database?.is_set && (
            <Button
              isPending={reset.isPending}
              onPress={() => reset.mutate({ version, keys: [entry.key] })}
            >
              {texts.reset}
            </Button>
          )}
          <Button type="submit" variant="primary" isPending={change.isPending} isDisabled={value === undefined}>
            {texts.save}
          </Button>
        </>
      )}
    >
      <p>{entry.documentation}</p>
      <p className="settings-marks">
        <Badge>{entry.type}</Badge>
        <Badge tone={entry.is_live ? "good" : "neutral"}>{entry.is_live ? texts.live : texts.restart}</Badge>
        {entry.needs_owner && <Badge tone="warn">{texts.owner}</Badge>}
      </p>
      {refusal
        ? <Note>{refusal}</Note>
        : typeof entry.value === "boolean"
        ? <Switch isSelected={isOn} onChange={setOn}>{texts.on}</Switch>
        : (
          <Field
            label={texts.newValue}
            type={entry.is_secret ? "password" : "text"}
            value={text}
            onChange={setText}
            isCode
            hint={isText ? undefined : texts.asJson}
            error={value === undefined ? texts.badJson : undefined}
          />
        )}
      <h3>{texts.each}</h3>
      <KeyValue
        entries={(["environment", "database", "file"] as const).map((source) => {
          const set = entry[source];
          const shown = set?.is_set
            ? (
              <>
                {valueOf({ ...entry, value: set.value, is_set: true })} <span className="faint">{set.place}</span>
              </>
            )
            : <span className="faint">{texts.notSet}</span>;
          return [<SourceBadge key={source} source={source} />, shown] as const;
        })}
      />
      <KeyValue entries={[[texts.variable, <code key="variable">{entry.variable}</code>]]} />
    </Dialog>
  );
}

function refusalOf(entry: SettingEntry, rights: string): string {
  if (entry.environment?.is_set) return texts.fixed;
  if (!entry.is_live) return texts.needsRestart;
  return rights === "reader" || (entry.needs_owner && rights !== "owner") ? texts.noRight : "";
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
