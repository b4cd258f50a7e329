import { useMemo, useState } from "react";
import { CopyButton } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { type Cells, isNumeric, type Rows } from "./result.ts";
import { sqlTexts as texts } from "./texts.ts";

interface NumberedRow {
  index: number;
  cells: Cells;
}

const measuredRows = 40;
const longestShown = 300;

/** Rows of a result, of which only the visible ones are in the page; Enter or a click shows a row whole. */
export function ResultGrid({ result, label = texts.results, height = "100%" }: {
  result: Rows;
  label?: string;
  height?: string;
}) {
  const [open, setOpen] = useState<NumberedRow | null>(null);
  const rows = useMemo(() => result.rows.map((cells, index) => ({ index, cells })), [result.rows]);
  const columns = useMemo(() => columnsOf(result), [result.columns, result.rows.length > 0]);
  return (
    <>
      <DataTable
        label={label}
        columns={columns}
        rows={rows}
        keyOf={(row) => String(row.index)}
        onOpen={setOpen}
        openKey={open ? String(open.index) : null}
        rowHeight={29}
        height={height}
      />
      {open && (
        <Dialog title={texts.rowTitle(open.index + 1)} isOpen onClose={() => setOpen(null)} size="side">
          <dl className="sql-row">
            {result.columns.map((column, index) => (
              <div key={index}>
                <dt>
                  {column.name} <span className="faint">{column.type}</span>
                  {open.cells[index] !== null && <CopyButton text={open.cells[index] ?? ""} />}
                </dt>
                <dd className="code">
                  <Value text={open.cells[index] ?? null} />
                </dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}

function Value({ text, longest }: { text: string | null; longest?: number }) {
  if (text === null) return <span className="faint sql-null">{texts.isNull}</span>;
  return <>{longest !== undefined && text.length > longest ? `${text.slice(0, longest)}…` : text}</>;
}

function columnsOf({ columns, rows }: Rows): Column<NumberedRow>[] {
  const first = rows.slice(0, measuredRows);
  const shown = columns.map((column, index): Column<NumberedRow> => {
    const longest = first.reduce((most, row) => Math.max(most, row[index]?.length ?? 4), 0);
    const characters = Math.min(42, Math.max(longest, column.name.length, column.type.length * 0.8, 6));
    return {
      id: String(index),
      title: (
        <>
          {column.name} <span className="sql-type">{column.type}</span>
        </>
      ),
      name: column.name,
      cell: (row) => <Value text={row.cells[index] ?? null} longest={longestShown} />,
      width: `${Math.round(characters * 5 + 24 + column.type.length) / 10}rem`,
      ...(isNumeric(column.type) ? { align: "end" as const } : {}),
    };
  });
  const number: Column<NumberedRow> = {
    id: "row",
    title: "#",
    cell: (row) => <span className="faint">{row.index + 1}</span>,
    width: "3.5rem",
    align: "end",
  };
  return [number, ...shown];
}
