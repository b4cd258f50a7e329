import { useState } from "react";
import { ApiError } from "../../../api/errors.ts";
import { useChange, useMay, useOperation } from "../../../api/hooks.ts";
import { Button } from "../../../components/Button.tsx";
import { confirm } from "../../../components/Dialog.tsx";
import { EmptyState, Note, QueryView } from "../../../components/states.tsx";
import { formatTime } from "../../../format.ts";
import type { DescribedTable, RowOfPage, RowVersion } from "../../../generated/operations.ts";
import { AsOf } from "./AsOf.tsx";
import { CopyBack } from "./CopyBack.tsx";
import { HistorySwitch } from "./HistorySwitch.tsx";
import { historyTexts as texts } from "./texts.ts";
import { Version } from "./Version.tsx";
import "./history.css";

const firstVersions = 50;
const mostVersions = 1_000;
/** Versions come from the log of the database, about a second after a change. */
const readAgainMs = 3_000;

/** The versions of a row, the newest first; where the table has no history, what switches it on. */
export default function RowHistory({ table, rowKey, onUndone }: {
  table: DescribedTable;
  rowKey: RowOfPage["key"];
  onUndone: (version: RowVersion) => void;
}) {
  const [limit, setLimit] = useState(firstVersions);
  const name = { schema: table.schema, table: table.name };
  const history = useOperation("history.versions", { ...name, key: rowKey, limit }, {
    refreshEvery: readAgainMs,
    keepsPrevious: true,
    staleAfter: 0,
  });
  const mayUndo = useMay("history.undo");
  const mayCopy = useMay("history.copy_rows");
  const [copied, setCopied] = useState<string | null>(null);
  const undo = useChange("history.undo", { invalidates: ["history.", "rows."], doneText: texts.undone });
  const onUndo = async (version: RowVersion) => {
    if (version.operation === "insert" && !await isDeletionConfirmed()) return;
    undo.mutate({ ...name, version: version.version }, { onSuccess: () => onUndone(version) });
  };
  if (history.error instanceof ApiError && history.error.code === "no_history") {
    return (
      <EmptyState title={texts.off} icon="clock">
        <p>{texts.offHint}</p>
        <HistorySwitch table={table} days={null} />
      </EmptyState>
    );
  }
  return (
    <QueryView
      query={history}
      isEmpty={({ versions, gaps }) => versions.length === 0 && gaps.length === 0}
      empty={<EmptyState title={texts.none} icon="clock">{texts.noneHint}</EmptyState>}
    >
      {(page) => {
        const { versions, gaps, is_on: isOn, is_cut: isCut } = page;
        return (
          <>
            {!isOn && <Note kind="warn">{texts.stopped}</Note>}
            <AsOf history={page} onCopy={mayCopy && isOn ? setCopied : null} />
            {copied !== null && (
              <CopyBack
                table={table}
                moment={copied}
                keys={[rowKey]}
                onClose={() => setCopied(null)}
              />
            )}
            <ol className="tables-versions" aria-label={texts.versions}>
              {versions.map((version) => (
                <Version
                  key={version.version}
                  version={version}
                  onUndo={mayUndo ? () => void onUndo(version) : null}
                  isPending={undo.isPending}
                />
              ))}
            </ol>
            {gaps.map((gap) => <Note key={gap.at} kind="warn">{texts.gap(formatTime(gap.at), gap.reason)}</Note>)}
            {isCut && (limit < mostVersions
              ? <Button size="small" onPress={() => setLimit(mostVersions)}>{texts.older}</Button>
              : <p className="soft">{texts.most}</p>)}
          </>
        );
      }}
    </QueryView>
  );
}

function isDeletionConfirmed(): Promise<boolean> {
  return confirm({ title: texts.undoInsert, body: texts.undoInsertText, action: texts.undoInsertAction });
}
