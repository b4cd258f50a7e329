import { useState } from "react";
import { useDelayed } from "../../api/delayed.ts";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Card, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { ErrorNote } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatTime } from "../../format.ts";
import type { DeployedSettings, FunctionSummary } from "../../generated/operations.ts";
import type { Draft } from "./draft.ts";
import { functionsTexts as texts } from "./texts.ts";

/** When it runs by itself, who may call, and its limits: part of the next version. */
export function FunctionSettings({ name, draft, onChange, summary, mayEdit }: {
  name: string;
  draft: Draft;
  onChange: (changes: Partial<Draft>) => void;
  summary: FunctionSummary | undefined;
  mayEdit: boolean;
}) {
  const { settings } = draft;
  const change = (changes: Partial<DeployedSettings>) => onChange({ settings: { ...settings, ...changes } });
  const field = (label: string, member: "entrypoint" | "import_map" | "schedule" | "timezone", hint?: string) => (
    <Field
      label={label}
      value={settings[member]}
      onChange={(value) => change({ [member]: value })}
      isDisabled={!mayEdit}
      isCode
      {...(hint ? { hint } : {})}
    />
  );
  const amount = (label: string, member: "memory_mb" | "cpu_ms" | "timeout_s") => (
    <Amount
      label={label}
      value={settings[member]}
      onChange={(value) => change({ [member]: value })}
      isDisabled={!mayEdit}
    />
  );
  return (
    <>
      <p className="soft functions-lead">{texts.settingsHint}</p>
      <Card title={texts.schedule}>
        <div className="functions-form">
          <div className="functions-pair">
            {field(texts.schedule, "schedule", texts.scheduleHint)}
            {field(texts.timezone, "timezone")}
          </div>
          {settings.schedule && <Meaning schedule={settings.schedule} timezone={settings.timezone} />}
          {summary?.schedule && <Runs name={name} summary={summary} />}
        </div>
      </Card>
      <Card title={texts.tabs.settings}>
        <div className="functions-form">
          <Checkbox
            isSelected={settings.verify_jwt}
            onChange={(verify_jwt) => change({ verify_jwt })}
            isDisabled={!mayEdit}
          >
            {texts.verify}
          </Checkbox>
          <Checkbox isSelected={settings.enabled} onChange={(enabled) => change({ enabled })} isDisabled={!mayEdit}>
            {texts.enabled}
          </Checkbox>
          <div className="functions-pair">
            {field(texts.entrypoint, "entrypoint", texts.entrypointHint)}
            {field(texts.importMap, "import_map", texts.importMapHint)}
            {amount(texts.memory, "memory_mb")}
            {amount(texts.cpu, "cpu_ms")}
            {amount(texts.timeout, "timeout_s")}
          </div>
        </div>
      </Card>
    </>
  );
}

function Amount({ label, value, onChange, isDisabled }: {
  label: string;
  value: number | null;
  onChange: (value: number | null) => void;
  isDisabled: boolean;
}) {
  const [text, setText] = useState(value === null ? "" : String(value));
  const isBad = text.trim() !== "" && !/^[1-9][0-9]{0,8}$/.test(text.trim());
  const edit = (next: string) => {
    setText(next);
    if (next.trim() === "") onChange(null);
    else if (/^[1-9][0-9]{0,8}$/.test(next.trim())) onChange(Number(next));
  };
  return (
    <Field
      label={label}
      value={text}
      onChange={edit}
      inputMode="numeric"
      hint={texts.asPlatform}
      error={isBad ? texts.badNumber : undefined}
      isDisabled={isDisabled}
    />
  );
}

function Meaning({ schedule, timezone }: { schedule: string; timezone: string }) {
  const delayed = useDelayed(`${schedule}\n${timezone}`).split("\n");
  const described = useOperation(
    "jobs.describe_schedule",
    { schedule: delayed[0]!, timezone: delayed[1] || "UTC" },
    { isEnabled: Boolean(delayed[0]) },
  );
  if (described.error) return <ErrorNote error={described.error} />;
  if (!described.data) return null;
  const { words, next_runs } = described.data;
  return (
    <KeyValue
      entries={[
        [texts.means, words],
        [texts.next, next_runs.slice(0, 3).map((at) => formatTime(at)).join("; ") || "–"],
      ]}
    />
  );
}

function Runs({ name, summary }: { name: string; summary: FunctionSummary }) {
  const runNow = useChange("functions.run_now", { doneText: texts.ranNow, invalidates: ["functions.list"] });
  const mayRun = useMay("functions.run_now");
  return (
    <>
      <KeyValue entries={[[texts.lastRun, <Time key="last" value={summary.scheduled_at} />]]} />
      {mayRun && (
        <div>
          <Button icon="play" isDisabled={runNow.isPending} onPress={() => runNow.mutate({ name })}>
            {texts.runNow}
          </Button>
        </div>
      )}
    </>
  );
}
