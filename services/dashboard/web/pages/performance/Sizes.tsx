import { useMemo, useState } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { type Column, DataTable, type Sort } from "../../components/DataTable.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes, formatNumber } from "../../format.ts";
import type { TableStatistics } from "../../generated/operations.ts";
import { OpenFinding } from "./Advisors.tsx";
import { Findings } from "./Findings.tsx";
import { sorted } from "./sorted.ts";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.tables;
const names = texts.columns;

/** Sizes of tables, their dead rows, and tables with much unused space. */
export default function Sizes() {
  const findings = useOperation("advisors.list", { level: "INFO", category: "PERFORMANCE" });
  const tables = useOperation("statistics.tables", {});
  const [sort, setSort] = useState<Sort>({ column: "total", isDescending: true });
  const [search, changeSearch] = useSearch();
  const find = search["find"] ?? "";
  const rows = useMemo(
    () => sorted((tables.data ?? []).filter((row) => hasWord(row, find)), sort, valuesOf),
    [tables.data, sort, find],
  );
  return (
    <>
      <Card title={texts.bloat} isFlush>
        <QueryView query={findings}>
          {({ findings: all }) => {
            const bloated = all.filter(({ name }) => name === "table_bloat");
            if (bloated.length === 0) return <p className="soft performance-none">{texts.noBloat}</p>;
            return (
              <>
                <Findings label={texts.bloat} findings={bloated} />
                <OpenFinding findings={bloated} />
              </>
            );
          }}
        </QueryView>
      </Card>
      <Card
        title={texts.title}
        actions={<SearchField label={texts.find} value={find} onChange={(word) => changeSearch({ find: word })} />}
        isFlush
      >
        <QueryView query={tables} isEmpty={(all) => all.length === 0} empty={<EmptyState title={texts.none} />}>
          {() => (
            <DataTable
              label={texts.title}
              columns={columns}
              rows={rows}
              keyOf={({ schema, name }) => `${schema}.${name}`}
              sort={sort}
              onSort={setSort}
            />
          )}
        </QueryView>
      </Card>
    </>
  );
}

function hasWord({ schema, name }: TableStatistics, word: string): boolean {
  return `${schema}.${name}`.toLowerCase().includes(word.trim().toLowerCase());
}

const valuesOf: { [column: string]: (row: TableStatistics) => string | number } = {
  name: ({ schema, name }) => `${schema}.${name}`,
  rows: ({ rows, live_rows }) => rows ?? live_rows,
  dead: ({ dead_rows }) => dead_rows,
  total: ({ bytes }) => bytes ?? -1,
  table: ({ table_bytes }) => table_bytes ?? -1,
  index: ({ index_bytes }) => index_bytes ?? -1,
};

const count = (value: number) => <span className="number">{formatNumber(value)}</span>;
const size = (bytes: number | null) => <span className="number">{bytes === null ? "–" : formatBytes(bytes)}</span>;

const columns: readonly Column<TableStatistics>[] = [
  {
    id: "name",
    title: names.name,
    cell: ({ schema, name, autovacuum }) => (
      <span className="cut">
        <code>{schema}.{name}</code> {!autovacuum && <Badge tone="warn">{texts.off}</Badge>}
      </span>
    ),
    isSortable: true,
    width: "minmax(10rem, 2fr)",
  },
  {
    id: "rows",
    title: names.rows,
    cell: ({ rows, live_rows }) => count(rows ?? live_rows),
    isSortable: true,
    align: "end",
  },
  {
    id: "dead",
    title: names.dead,
    cell: ({ dead_rows }) => count(dead_rows),
    isSortable: true,
    align: "end",
    isMinor: true,
  },
  { id: "total", title: names.total, cell: ({ bytes }) => size(bytes), isSortable: true, align: "end" },
  {
    id: "table",
    title: names.table,
    cell: ({ table_bytes }) => size(table_bytes),
    isSortable: true,
    align: "end",
    isMinor: true,
  },
  {
    id: "index",
    title: names.index,
    cell: ({ index_bytes }) => size(index_bytes),
    isSortable: true,
    align: "end",
    isMinor: true,
  },
  {
    id: "vacuumed",
    title: names.vacuumed,
    cell: ({ vacuumed_at }) => <Time value={vacuumed_at} />,
    align: "end",
    isMinor: true,
  },
  {
    id: "analyzed",
    title: names.analyzed,
    cell: ({ analyzed_at }) => <Time value={analyzed_at} />,
    align: "end",
    isMinor: true,
  },
];
