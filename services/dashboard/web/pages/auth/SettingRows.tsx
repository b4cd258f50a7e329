/** Settings as rows: what it does, its value, where that comes from; switches act at once, others open beside the page. */

import { useSearch } from "../../address.tsx";
import { useChange, useMe } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Switch } from "../../components/Field.tsx";
import type { SettingEntry, SettingsList } from "../../generated/operations.ts";
import { EditSetting } from "../settings/EditSetting.tsx";
import { SourceBadge, valueOf } from "../settings/settingValue.tsx";
import { entriesOf, labelOf, type SettingGroup } from "./groups.ts";
import { authTexts as texts } from "./texts.ts";

const invalidates = ["settings.", "auth.", "mail.templates"] as const;

/** Groups of settings, each on a surface of its own, and the one that is open. */
export function SettingGroups({ data, groups }: { data: SettingsList; groups: readonly SettingGroup[] }) {
  return (
    <>
      {groups.map((group) => (
        <Card key={group.id} title={texts.groups[group.id]} isFlush>
          <SettingRows data={data} group={group} />
        </Card>
      ))}
      <OpenSetting data={data} />
    </>
  );
}

/** The rows of one group. The caller shows `OpenSetting` once beside all of its rows. */
export function SettingRows({ data, group }: { data: SettingsList; group: SettingGroup }) {
  const prefix = group.keys.length === 1 ? group.keys[0]!.replace(/[^.]*$/, "") : "auth.";
  return (
    <ul className="auth-rows">
      {entriesOf(data.settings, group).map((entry) => (
        <SettingRow key={entry.key} entry={entry} version={data.version} label={labelOf(entry.key, prefix)} />
      ))}
    </ul>
  );
}

/** The setting that the address names, beside the page. */
export function OpenSetting({ data }: { data: SettingsList }) {
  const [search, changeSearch] = useSearch();
  const open = data.settings.find(({ key }) => key === search["setting"]);
  const close = () => changeSearch({ setting: null });
  return open ? <EditSetting key={open.key} entry={open} version={data.version} onClose={close} /> : null;
}

function SettingRow({ entry, version, label }: { entry: SettingEntry; version: number; label: string }) {
  const [, changeSearch] = useSearch();
  const { rights } = useMe();
  const change = useChange("settings.change", { invalidates, doneText: texts.changed(entry.key) });
  const reset = useChange("settings.reset", { invalidates, doneText: texts.wasReset(entry.key) });
  const mayChange = entry.is_live && !entry.environment?.is_set &&
    (rights === "owner" || (rights === "developer" && !entry.needs_owner));
  return (
    <li className="auth-row">
      <div className="auth-row-name">
        <div>{label}</div>
        <div className="hint">
          {entry.documentation ? <Documentation text={entry.documentation} /> : <code>{entry.key}</code>}
        </div>
      </div>
      <div className="auth-row-value">
        {typeof entry.value === "boolean"
          ? (
            <Switch
              isSelected={entry.value}
              isDisabled={!mayChange || change.isPending}
              onChange={(isOn) => change.mutate({ version, values: { [entry.key]: isOn } })}
            >
              <span className="for-readers">{label}:</span> {entry.value ? texts.on : texts.off}
            </Switch>
          )
          : valueOf(entry)}
      </div>
      <div className="auth-row-source">
        <SourceBadge source={entry.source} />
        {mayChange && entry.database?.is_set && (
          <Button
            size="small"
            variant="quiet"
            aria-label={texts.resetOf(entry.key)}
            isPending={reset.isPending}
            onPress={() => reset.mutate({ version, keys: [entry.key] })}
          >
            {texts.reset}
          </Button>
        )}
        <Button
          size="small"
          variant="quiet"
          aria-label={texts.changeOf(entry.key)}
          onPress={() => changeSearch({ setting: entry.key })}
        >
          {texts.change}
        </Button>
      </div>
    </li>
  );
}

/** The sentence that explains a setting; what stands between backticks is code. */
function Documentation({ text }: { text: string }) {
  return text.split("`").map((part, index) => index % 2 === 1 ? <code key={index}>{part}</code> : part);
}
