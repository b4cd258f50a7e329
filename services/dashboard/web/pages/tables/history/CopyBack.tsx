import { useChange, useOperation } from "../../../api/hooks.ts";
import { Button } from "../../../components/Button.tsx";
import { Dialog } from "../../../components/Dialog.tsx";
import { QueryView } from "../../../components/states.tsx";
import { formatTime } from "../../../format.ts";
import type { CopiedRow, DescribedTable, RowOfPage } from "../../../generated/operations.ts";
import { texts as shellTexts } from "../../../texts.ts";
import { Shown } from "../ConflictDialog.tsx";
import { historyTexts as texts } from "./texts.ts";
import { textOf } from "./versions.ts";

/** Shows what making rows as they were overwrites, and does it when it is confirmed. */
export function CopyBack({ table, moment, keys, onClose }: {
  table: DescribedTable;
  moment: string;
  keys: readonly (string | RowOfPage["key"])[];
  onClose: () => void;
}) {
  const rows = { schema: table.schema, table: table.name, moment, keys: [...keys] };
  const trial = useOperation("history.copy_rows", { ...rows, only_tries: true }, { staleAfter: 0 });
  const copy = useChange("history.copy_rows", {
    invalidates: ["history.", "rows."],
    doneText: ({ rows: copied }) => texts.copied(changesOf(copied).length),
    onDone: onClose,
    showsError: true,
  });
  const changes = changesOf(trial.data?.rows ?? []);
  return (
    <Dialog
      title={texts.copyTitle(formatTime(moment))}
      isOpen
      onClose={onClose}
      error={copy.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          {changes.length > 0 && (
            <Button
              variant="primary"
              icon="restore"
              isPending={copy.isPending}
              onPress={() => copy.mutate({ ...rows, expected: trial.data?.state ?? "" })}
            >
              {texts.copy(changes.length)}
            </Button>
          )}
        </>
      }
    >
      <QueryView query={trial}>
        {({ rows: compared }) => (
          <>
            <p className="soft">{changes.length === 0 ? texts.copyNone : texts.copyText}</p>
            {compared.map((row) => <Change key={row.key} row={row} />)}
          </>
        )}
      </QueryView>
    </Dialog>
  );
}

function changesOf(rows: readonly CopiedRow[]): CopiedRow[] {
  return rows.filter(({ action }) => action !== "none");
}

function Change({ row: { key, action, before, after } }: { row: CopiedRow }) {
  const columns = Object.keys({ ...before, ...after });
  return (
    <section className="tables-history-change">
      <h3>
        <code>{key}</code> {texts.copyActions[action]}
      </h3>
      {columns.length > 0 && (
        <div className="tables-scroll" tabIndex={0} role="region" aria-label={texts.choose(key)}>
          <table className="tables-compare">
            <thead>
              <tr>
                <th>{texts.column}</th>
                <th>{texts.copyNow}</th>
                <th>{texts.copyThen}</th>
              </tr>
            </thead>
            <tbody>
              {columns.map((column) => (
                <tr key={column}>
                  <th scope="row">{column}</th>
                  <td>{column in before && <Shown value={textOf(before[column])} />}</td>
                  <td>{column in after && <Shown value={textOf(after[column])} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
