import { useMemo, useState } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock, KeyValue } from "../../components/basics.tsx";
import { type Column, DataTable, type Sort } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { formatBytes, formatNumber } from "../../format.ts";
import type { IndexStatistics, ScannedTable } from "../../generated/operations.ts";
import { OpenFinding } from "./Advisors.tsx";
import { Findings } from "./Findings.tsx";
import { IndexProposals } from "./IndexProposals.tsx";
import { sorted } from "./sorted.ts";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.indexes;
const names = texts.columns;
const rules = ["unused_index", "duplicate_index", "unindexed_foreign_keys"];

/** Indexes that are missing, unused or there twice, and all of them with their sizes. */
export default function Indexes() {
  const missing = useOperation("statistics.missing_indexes", {});
  const findings = useOperation("advisors.list", { level: "INFO", category: "PERFORMANCE" });
  return (
    <>
      <Card title={texts.advised} isFlush>
        <QueryView query={findings}>
          {({ findings: all }) => {
            const rows = all.filter(({ name }) => rules.includes(name));
            if (rows.length === 0) return <p className="soft performance-none">{texts.noAdvised}</p>;
            return (
              <>
                <Findings label={texts.advised} findings={rows} />
                <OpenFinding findings={rows} />
              </>
            );
          }}
        </QueryView>
      </Card>
      <IndexProposals />
      <Card title={texts.missing} isFlush>
        <QueryView
          query={missing}
          isEmpty={(rows) => rows.length === 0}
          empty={<p className="soft performance-none">{texts.noMissing}</p>}
        >
          {(rows) => (
            <>
              <p className="soft performance-none">{texts.missingHint}</p>
              <DataTable
                label={texts.missing}
                columns={scannedColumns}
                rows={rows}
                keyOf={({ schema, name }) => `${schema}.${name}`}
              />
            </>
          )}
        </QueryView>
      </Card>
      <AllIndexes />
    </>
  );
}

const valuesOf: { [column: string]: (row: IndexStatistics) => string | number } = {
  name: ({ name }) => name,
  table: ({ schema, table }) => `${schema}.${table}`,
  scans: ({ scans }) => scans,
  size: ({ bytes }) => bytes ?? -1,
};

function AllIndexes() {
  const [search, changeSearch] = useSearch();
  const indexes = useOperation("statistics.indexes", {});
  const [sort, setSort] = useState<Sort>({ column: "size", isDescending: true });
  const find = search["find"] ?? "";
  const rows = useMemo(
    () => sorted((indexes.data ?? []).filter((row) => hasWord(row, find)), sort, valuesOf),
    [indexes.data, sort, find],
  );
  const open = rows.find((row) => keyOf(row) === search["index"]);
  return (
    <Card
      title={texts.all}
      actions={<SearchField label={texts.find} value={find} onChange={(word) => changeSearch({ find: word })} />}
      isFlush
    >
      <QueryView
        query={indexes}
        isEmpty={(all) => all.length === 0}
        empty={<EmptyState title={texts.none} />}
      >
        {() => (
          <DataTable
            label={texts.all}
            columns={columns}
            rows={rows}
            keyOf={keyOf}
            sort={sort}
            onSort={setSort}
            openKey={search["index"] ?? null}
            onOpen={(row) => changeSearch({ index: keyOf(row) }, false)}
          />
        )}
      </QueryView>
      {open && (
        <Dialog title={open.name} isOpen size="side" onClose={() => changeSearch({ index: null })}>
          <CodeBlock label={texts.definition} code={open.definition} />
          <KeyValue
            entries={[
              [names.table, <code key="table">{open.schema}.{open.table}</code>],
              [names.scans, formatNumber(open.scans)],
              [names.size, open.bytes === null ? "–" : formatBytes(open.bytes)],
              [names.marks, <Marks key="marks" index={open} />],
            ]}
          />
        </Dialog>
      )}
    </Card>
  );
}

function hasWord({ schema, table, name }: IndexStatistics, word: string): boolean {
  return `${schema}.${table} ${schema}.${name}`.toLowerCase().includes(word.trim().toLowerCase());
}

function keyOf({ schema, name }: IndexStatistics): string {
  return `${schema}.${name}`;
}

function Marks({ index }: { index: IndexStatistics }) {
  return (
    <span className="performance-marks">
      {!index.is_valid && <Badge tone="bad">{texts.invalid}</Badge>}
      {index.is_unique && <Badge>{texts.unique}</Badge>}
      {index.scans === 0 && !index.is_unique && <Badge tone="warn">{texts.unused}</Badge>}
    </span>
  );
}

const count = (value: number) => <span className="number">{formatNumber(value)}</span>;

const columns: readonly Column<IndexStatistics>[] = [
  {
    id: "name",
    title: names.name,
    cell: ({ name }) => <code className="cut">{name}</code>,
    isSortable: true,
    width: "minmax(10rem, 1.5fr)",
  },
  {
    id: "table",
    title: names.table,
    cell: ({ schema, table }) => <code className="cut soft">{schema}.{table}</code>,
    isSortable: true,
    isMinor: true,
  },
  { id: "marks", title: names.marks, cell: (index) => <Marks index={index} />, width: "9rem", isMinor: true },
  { id: "scans", title: names.scans, cell: ({ scans }) => count(scans), isSortable: true, width: "6rem", align: "end" },
  {
    id: "size",
    title: names.size,
    cell: ({ bytes }) => <span className="number">{bytes === null ? "–" : formatBytes(bytes)}</span>,
    isSortable: true,
    width: "6rem",
    align: "end",
  },
];

const scannedColumns: readonly Column<ScannedTable>[] = [
  { id: "name", title: names.table, cell: ({ schema, name }) => <code className="cut">{schema}.{name}</code> },
  { id: "rows", title: names.rows, cell: ({ rows }) => count(rows), align: "end", isMinor: true },
  { id: "whole", title: names.whole, cell: ({ sequential_scans }) => count(sequential_scans), align: "end" },
  { id: "read", title: names.rowsRead, cell: ({ rows_read }) => count(rows_read), align: "end", isMinor: true },
  { id: "index", title: names.byIndex, cell: ({ index_scans }) => count(index_scans), align: "end" },
];
