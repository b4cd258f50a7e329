import { useState } from "react";
import { useChange, useMe, useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import { texts as shared } from "../../texts.ts";
import type { SettingsList } from "../../generated/operations.ts";
import { cronOf, days, type Plan, planOf, type Rhythm } from "./schedule.ts";
import { backupsTexts } from "./texts.ts";

const texts = backupsTexts.schedule;
const scheduleKey = "management.backup_schedule";
const keptKey = "management.backups_kept";
const rhythms = (["never", "hourly", "daily", "weekly", "other"] as const).map((id) => ({
  id,
  label: texts.choices[id],
}));

/** Change when backups are made by themselves, and how many are kept. It applies at once. */
export function ScheduleDialog({ onClose }: { onClose: () => void }) {
  const settings = useOperation("settings.list", { prefix: "management.backup" });
  if (settings.data) return <Loaded data={settings.data} onClose={onClose} />;
  return (
    <Dialog title={texts.change} isOpen size="small" onClose={onClose}>
      <QueryView query={settings}>{() => null}</QueryView>
    </Dialog>
  );
}

function Loaded({ data, onClose }: { data: SettingsList; onClose: () => void }) {
  const { rights } = useMe();
  const entries = data.settings.filter(({ key }) => key === scheduleKey || key === keptKey);
  const valueOf = (key: string) => entries.find((entry) => entry.key === key)?.value;
  const [plan, setPlan] = useState<Plan>(planOf(String(valueOf(scheduleKey) ?? "")));
  const [kept, setKept] = useState(String(valueOf(keptKey) ?? 7));
  const change = useChange("settings.change", {
    invalidates: ["settings.", "backups."],
    showsError: true,
    doneText: texts.changed,
    onDone: onClose,
  });
  const fixed = entries.filter(({ environment }) => environment?.is_set).map(({ variable }) => variable);
  const refusal = fixed.length > 0 ? texts.fixed(fixed.join(", ")) : rights === "owner" ? "" : texts.onlyOwner;
  const cron = cronOf(plan);
  const count = /^\d{1,6}$/.test(kept.trim()) ? Number(kept) : null;
  const isReady = cron !== null && count !== null;
  return (
    <Dialog
      title={texts.change}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() =>
        isReady && refusal === "" &&
        change.mutate({ version: data.version, values: { [scheduleKey]: cron, [keptKey]: count } })}
      error={change.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          {refusal === "" && (
            <Button type="submit" variant="primary" isPending={change.isPending} isDisabled={!isReady}>
              {texts.save}
            </Button>
          )}
        </>
      }
    >
      {refusal ? <Note>{refusal}</Note> : (
        <>
          <Select
            label={texts.when}
            choices={rhythms}
            value={plan.rhythm}
            onChange={(rhythm: Rhythm) => setPlan({ ...plan, rhythm })}
          />
          <Times plan={plan} isBad={cron === null} onChange={setPlan} />
          {plan.rhythm !== "never" && (
            <Field
              label={texts.keptCount}
              hint={texts.keptHint}
              value={kept}
              onChange={setKept}
              inputMode="numeric"
              error={count === null ? texts.badCount : undefined}
            />
          )}
        </>
      )}
    </Dialog>
  );
}

function Times({ plan, isBad, onChange }: { plan: Plan; isBad: boolean; onChange: (plan: Plan) => void }) {
  return (
    <>
      {plan.rhythm === "weekly" && (
        <Select
          label={texts.day}
          choices={days}
          value={plan.day}
          onChange={(day) => onChange({ ...plan, day })}
        />
      )}
      {(plan.rhythm === "daily" || plan.rhythm === "weekly") && (
        <Field
          label={texts.at}
          hint={texts.atHint}
          value={plan.time}
          onChange={(time) => onChange({ ...plan, time })}
          inputMode="text"
          error={isBad ? texts.badTime : undefined}
        />
      )}
      {plan.rhythm === "other" && (
        <Field
          label={texts.cron}
          hint={texts.cronHint}
          value={plan.cron}
          onChange={(cron) => onChange({ ...plan, cron })}
          isCode
        />
      )}
    </>
  );
}
