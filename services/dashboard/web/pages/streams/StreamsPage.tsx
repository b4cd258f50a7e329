/** Streams: tables that are copied to other systems. What is copied where is said by config.toml alone. */

import { pathOf, useGo, useSubpath } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Card, PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatNumber } from "../../format.ts";
import type { StreamedTable } from "../../generated/operations.ts";
import { StreamedTableView } from "./StreamedTableView.tsx";
import { behindOf, nameOf, StreamState } from "./StreamState.tsx";
import { streamsTexts as texts } from "./texts.ts";

const refreshMs = 5_000;

export default function StreamsPage() {
  const [stream, schema, table] = useSubpath();
  const go = useGo();
  const tables = useOperation("streams.list", {}, { refreshEvery: refreshMs });
  const open = tables.data?.find((each) => each.stream === stream && each.schema === schema && each.table === table);
  return (
    <>
      <PageHeader title={texts.title}>{texts.lead}</PageHeader>
      <QueryView
        query={tables}
        isEmpty={(rows) => rows.length === 0}
        empty={<EmptyState icon="wave" title={texts.none}>{texts.noneText}</EmptyState>}
      >
        {(rows) =>
          [...new Set(rows.map((each) => each.stream))].map((name) => (
            <Stream
              key={name}
              name={name}
              tables={rows.filter((each) => each.stream === name)}
            />
          ))}
      </QueryView>
      {open && <StreamedTableView table={open} onClose={() => go("streams")} />}
    </>
  );
}

function Stream({ name, tables }: { name: string; tables: readonly StreamedTable[] }) {
  const go = useGo();
  return (
    <Card
      title={name}
      isFlush
      actions={<StreamActions name={name} isPaused={tables.some((each) => each.is_paused)} />}
    >
      <DataTable
        label={name}
        columns={columns}
        rows={tables}
        keyOf={nameOf}
        onOpen={(each) => go(pathOf("streams", name, each.schema, each.table))}
        height={`${Math.min(tables.length, 16) * 33 + 36}px`}
      />
    </Card>
  );
}

function StreamActions({ name, isPaused }: { name: string; isPaused: boolean }) {
  const mayPause = useMay("streams.pause");
  const invalidates = ["streams."] as const;
  const pause = useChange("streams.pause", { invalidates, doneText: texts.paused });
  const resume = useChange("streams.resume", { invalidates, doneText: texts.resumed });
  if (!mayPause) return null;
  return (
    <Button size="small" onPress={() => (isPaused ? resume : pause).mutate({ stream: name })}>
      {isPaused ? texts.resume : texts.pause}
    </Button>
  );
}

const columns: readonly Column<StreamedTable>[] = [
  { id: "table", title: texts.table, cell: (each) => <span className="cut">{nameOf(each)}</span> },
  { id: "target", title: texts.target, width: "6rem", isMinor: true, cell: ({ kind }) => kind },
  { id: "state", title: texts.state, width: "9rem", cell: (each) => <StreamState table={each} /> },
  { id: "behind", title: texts.behind, width: "8rem", isMinor: true, cell: behindOf },
  {
    id: "rows",
    title: texts.rows,
    width: "7rem",
    align: "end",
    cell: ({ rows }) => <span className="number">{formatNumber(rows)}</span>,
  },
  {
    id: "written",
    title: texts.written,
    width: "7rem",
    isMinor: true,
    cell: ({ written_at: at }) => <Time value={at} />,
  },
  {
    id: "fault",
    title: texts.fault,
    width: "minmax(6rem, 2fr)",
    isMinor: true,
    cell: ({ problem }) => <span className="cut">{problem}</span>,
  },
];
