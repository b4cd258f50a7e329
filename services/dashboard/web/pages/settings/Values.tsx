/** Every setting: the value in force, where it comes from, and a change that applies at once where that is possible. */

import { useMemo } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Card, Toolbar } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Checkbox, SearchField } from "../../components/Field.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import type { SettingEntry, SettingsList } from "../../generated/operations.ts";
import { EditSetting } from "./EditSetting.tsx";
import { SourceBadge, valueOf } from "./settingValue.tsx";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.values;

export default function Values() {
  const all = useOperation("settings.list", {});
  return <QueryView query={all}>{(data) => <List data={data} />}</QueryView>;
}

function List({ data }: { data: SettingsList }) {
  const [search, changeSearch] = useSearch();
  const text = search["find"] ?? "";
  const isOnlySet = search["set"] === "yes";
  const rows = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return data.settings.filter((entry) => {
      const searched = `${entry.key} ${entry.documentation}`.toLowerCase();
      return (!isOnlySet || entry.source !== "default") && words.every((word) => searched.includes(word));
    });
  }, [data, text, isOnlySet]);
  const open = data.settings.find((entry) => entry.key === search["open"]);
  return (
    <>
      {data.fault && <Note kind="warn">{texts.fault} {data.fault}</Note>}
      {data.file_fault && <Note kind="warn">{texts.fileFault} {data.file_fault}</Note>}
      <Card isFlush>
        <Toolbar label={texts.filters}>
          <SearchField label={texts.search} value={text} onChange={(find) => changeSearch({ find })} />
          <Checkbox isSelected={isOnlySet} onChange={(isOn) => changeSearch({ set: isOn ? "yes" : null })}>
            {texts.onlySet}
          </Checkbox>
          <span className="soft number" role="status">{texts.count(rows.length, data.settings.length)}</span>
        </Toolbar>
        <DataTable
          label={settingsTexts.tabs.values}
          columns={columns}
          rows={rows}
          keyOf={({ key }) => key}
          openKey={open?.key ?? null}
          onOpen={({ key }) => changeSearch({ open: key })}
        />
      </Card>
      {open && (
        <EditSetting
          key={open.key}
          entry={open}
          version={data.version}
          onClose={() => changeSearch({ open: null })}
        />
      )}
    </>
  );
}

const columns: readonly Column<SettingEntry>[] = [
  { id: "key", title: texts.key, cell: ({ key }) => <code className="cut">{key}</code>, width: "minmax(9rem, 1.4fr)" },
  { id: "value", title: texts.value, cell: (entry) => <span className="cut">{valueOf(entry)}</span> },
  {
    id: "source",
    title: texts.source,
    cell: (entry) => <SourceBadge source={entry.source} />,
    width: "9rem",
    isMinor: true,
  },
];
