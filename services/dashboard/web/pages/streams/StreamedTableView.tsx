import { useChange, useMay } from "../../api/hooks.ts";
import { KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Note } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatNumber, formatTime } from "../../format.ts";
import type { StreamedTable } from "../../generated/operations.ts";
import { behindOf, nameOf, StreamState } from "./StreamState.tsx";
import { streamsTexts as texts } from "./texts.ts";

/** One table of a stream: how it does, what is wrong, and all rows once more. */
export function StreamedTableView({ table, onClose }: { table: StreamedTable; onClose: () => void }) {
  const name = nameOf(table);
  const mayCopy = useMay("streams.copy_again");
  const again = useChange("streams.copy_again", { invalidates: ["streams."], doneText: texts.againAsked });
  const onAgain = async () => {
    if (await confirm({ title: texts.again, body: texts.againText, names: [name], action: texts.again })) {
      again.mutate({ stream: table.stream, schema: table.schema, table: table.table });
    }
  };
  return (
    <Dialog
      title={name}
      isOpen
      size="side"
      onClose={onClose}
      footer={mayCopy && (
        <Button isDisabled={table.is_copied_again} onPress={() => void onAgain()}>{texts.again}</Button>
      )}
    >
      {table.problem !== "" && (
        <Note kind="warn">
          {table.problem}
          {table.problem_since !== null && <>({texts.since(formatTime(table.problem_since))})</>}
        </Note>
      )}
      {table.is_copied_again && <Note>{texts.isAsked}</Note>}
      <KeyValue
        entries={[
          [texts.state, <StreamState key="state" table={table} />],
          [texts.target, table.kind],
          [texts.behind, behindOf(table)],
          [texts.rows, formatNumber(table.rows)],
          [texts.written, <Time key="written" value={table.written_at} />],
          [texts.snapshots, texts.times(table.snapshots)],
          ...(table.snapshot_reason === "" ? [] : [[texts.snapshotReason, table.snapshot_reason] as const]),
        ]}
      />
    </Dialog>
  );
}
