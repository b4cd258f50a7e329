import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Card, Figure, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes, formatNumber } from "../../format.ts";
import type { BackupList, BackupSummary } from "../../generated/operations.ts";
import { BackupPanel } from "./BackupPanel.tsx";
import { Progress } from "./Progress.tsx";
import { wordsOf } from "./schedule.ts";
import { ScheduleDialog } from "./ScheduleDialog.tsx";
import { texts as shellTexts } from "../../texts.ts";
import { backupsTexts as texts } from "./texts.ts";

/** Backups of the folder: the one under way, the schedule, and all that are there. */
export default function Folder() {
  const listed = useOperation("backups.list", {}, { refreshEvery: 30_000 });
  return (
    <>
      <Progress />
      <QueryView query={listed}>{(list) => <Backups list={list} />}</QueryView>
    </>
  );
}

function Backups({ list }: { list: BackupList }) {
  const [search, changeSearch] = useSearch();
  const open = search["backup"] ?? null;
  return (
    <>
      <Figures list={list} />
      <Schedule list={list} />
      <Card title={texts.list.title} isFlush>
        {list.backups.length === 0
          ? <EmptyState icon="archive" title={texts.list.none}>{texts.list.noneText}</EmptyState>
          : (
            <DataTable
              label={texts.list.title}
              columns={columns}
              rows={list.backups}
              keyOf={({ name }) => name}
              openKey={open}
              onOpen={({ name }) => changeSearch({ backup: name, plan: null }, false)}
            />
          )}
      </Card>
      {open !== null && (
        <BackupPanel
          key={open}
          name={open}
          backup={list.backups.find(({ name }) => name === open) ?? null}
          onClose={() => changeSearch({ backup: null, plan: null })}
        />
      )}
    </>
  );
}

function Figures({ list }: { list: BackupList }) {
  const [newest] = list.backups;
  const bytes = list.backups.reduce((sum, { database_bytes, blob_bytes }) => sum + database_bytes + blob_bytes, 0);
  return (
    <div className="figures">
      <Figure
        label={texts.figures.last}
        value={newest ? <Time value={newest.made_at} /> : "–"}
        hint={newest ? formatBytes(newest.database_bytes + newest.blob_bytes) : texts.figures.none}
        tone={newest ? "neutral" : "warn"}
      />
      <Figure
        label={texts.figures.stored}
        value={formatBytes(bytes)}
        hint={texts.figures.count(list.backups.length)}
      />
      <Figure
        label={texts.figures.next}
        value={list.next_run_at == null ? "–" : <Time value={list.next_run_at} />}
        hint={list.schedule === "" ? texts.figures.noSchedule : texts.figures.kept(list.kept)}
      />
    </div>
  );
}

function Schedule({ list }: { list: BackupList }) {
  const [isChanging, setChanging] = useState(false);
  const mayChange = useMay("settings.change");
  const { schedule } = list;
  return (
    <Card
      title={texts.schedule.title}
      actions={mayChange && <Button size="small" onPress={() => setChanging(true)}>{texts.schedule.change}</Button>}
    >
      <KeyValue
        entries={[
          [
            texts.schedule.isMade,
            schedule === "" ? <span key="when" className="soft">{texts.schedule.never}</span> : (
              <span key="when">
                {wordsOf(schedule)} <code className="faint">{schedule}</code>
                <span className="hint backups-line">{texts.schedule.kept(list.kept)}</span>
              </span>
            ),
          ],
          [
            texts.list.folder,
            <span key="folder">
              <code>{list.folder}</code>
              <span className="hint backups-line">
                <CodeWords text={texts.list.folderHint} />
              </span>
            </span>,
          ],
        ]}
      />
      {isChanging && <ScheduleDialog onClose={() => setChanging(false)} />}
    </Card>
  );
}

const columns: readonly Column<BackupSummary>[] = [
  {
    id: "made",
    title: texts.list.made,
    cell: ({ name, made_at }) => (
      <span className="cut">
        <Time value={made_at} /> <code className="faint">{name}</code>
      </span>
    ),
    width: "minmax(10rem, 1.6fr)",
  },
  {
    id: "database",
    title: texts.list.database,
    cell: ({ database_bytes }) => <span className="number">{formatBytes(database_bytes)}</span>,
    width: "6rem",
    align: "end",
  },
  {
    id: "objects",
    title: texts.list.objects,
    cell: ({ blobs, blob_bytes }) => (
      <span className="number">{texts.list.objectCount(formatNumber(blobs), formatBytes(blob_bytes))}</span>
    ),
    width: "8rem",
    align: "end",
  },
  {
    id: "contents",
    title: texts.list.contents,
    cell: ({ contents }) =>
      contents == null ? <span className="faint">{texts.list.unknown}</span> : (
        <span className="cut">
          {texts.list.tables(formatNumber(contents.tables))}, {texts.list.users(formatNumber(contents.users))}
        </span>
      ),
    width: "minmax(8rem, 1fr)",
    isMinor: true,
  },
  {
    id: "version",
    title: texts.list.version,
    cell: ({ headwater }) => <span className="cut soft">{shellTexts.name} {headwater}</span>,
    width: "10rem",
    isMinor: true,
  },
];
