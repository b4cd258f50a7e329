import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { KeyboardEvent, MouseEvent } from "react";
import { useMedia } from "../api/hooks.ts";
import { texts } from "../texts.ts";
import { Checkbox } from "./Field.tsx";
import { Icon } from "./Icon.tsx";

export interface Column<T> {
  id: string;
  title: ReactNode;
  /** What the column is called, if the title is not a text. */
  name?: string;
  cell: (row: T) => ReactNode;
  /** A width of CSS grid: "12rem", "minmax(8rem, 2fr)", with a least width in rem; one share of the rest unless given. */
  width?: string;
  /** The head is a button that sorts. */
  isSortable?: boolean;
  align?: "start" | "end";
  /** Left out on narrow screens. */
  isMinor?: boolean;
}

export interface Sort {
  column: string;
  isDescending: boolean;
}

export interface DataTableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  /** Enter or a click on the row. */
  onOpen?: (row: T) => void;
  /** The key of the row that is shown beside the table. */
  openKey?: string | null;
  sort?: Sort | null;
  onSort?: (sort: Sort) => void;
  /** With it rows can be ticked; the keys of the ticked ones. */
  selection?: ReadonlySet<string>;
  onSelect?: (keys: ReadonlySet<string>) => void;
  /** Called when the last rows come into view. */
  onEnd?: () => void;
  rowHeight?: number;
  /** The height of the table; it fills the page unless given. */
  height?: string;
}

const defaultWidth = "minmax(6rem, 1fr)";

/**
 * A table of any number of rows, of which only the visible ones are in the page. Arrows, Home, End and Page keys move,
 * Enter opens, Space ticks. For a grid whose cells are edited see the page `tables`.
 */
export function DataTable<T>(props: DataTableProps<T>) {
  const { rows, keyOf, onOpen, selection, onSelect, rowHeight = 33 } = props;
  const isNarrow = useMedia("(max-width: 40rem)");
  const columns = useMemo(
    () => isNarrow ? props.columns.filter((column) => !column.isMinor) : props.columns,
    [props.columns, isNarrow],
  );
  const frame = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const lastIndex = items[items.length - 1]?.index ?? -1;
  useEffect(() => {
    if (lastIndex >= 0 && lastIndex >= rows.length - 5) props.onEnd?.();
  }, [lastIndex, rows.length]);
  const tracks = [...(selection ? ["2.25rem"] : []), ...columns.map((column) => column.width ?? defaultWidth)];
  const template = tracks.join(" ");
  const leastWidth = `${tracks.reduce((sum, track) => sum + leastOf(track), 0)}rem`;

  const go = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setActive(next);
    virtual.scrollToIndex(next);
    requestAnimationFrame(() => frame.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus());
  };
  const toggle = (row: T) => {
    if (!selection || !onSelect) return;
    const next = new Set(selection);
    if (!next.delete(keyOf(row))) next.add(keyOf(row));
    onSelect(next);
  };
  const onKeyDown = (event: KeyboardEvent, row: T, index: number) => {
    if (event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor((frame.current?.clientHeight ?? 0) / rowHeight) - 2);
    const moves: { [key: string]: number } = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: rows.length - 1,
    };
    if (event.key in moves) go(moves[event.key]!);
    else if (event.key === "Enter" && onOpen) onOpen(row);
    else if (event.key === " " && selection) toggle(row);
    else return;
    event.preventDefault();
  };
  const isAllSelected = selection !== undefined && rows.length > 0 && rows.every((row) => selection.has(keyOf(row)));
  const current = Math.min(active, Math.max(0, rows.length - 1));

  return (
    <div
      ref={frame}
      className="data-table"
      role="grid"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-multiselectable={selection ? true : undefined}
      style={props.height ? { height: props.height } : undefined}
    >
      <div
        className="data-head"
        role="row"
        aria-rowindex={1}
        style={{ gridTemplateColumns: template, minWidth: leastWidth }}
      >
        {selection && (
          <div role="columnheader" className="data-cell">
            <Checkbox
              label={texts.table.selectAll}
              isSelected={isAllSelected}
              isIndeterminate={!isAllSelected && selection.size > 0}
              onChange={(isOn) => onSelect?.(isOn ? new Set(rows.map(keyOf)) : new Set())}
            />
          </div>
        )}
        {columns.map((column) => <HeadCell key={column.id} column={column} sort={props.sort} onSort={props.onSort} />)}
      </div>
      {rows.length === 0 && (
        <div role="row" className="data-none">
          <div role="gridcell">{texts.table.empty}</div>
        </div>
      )}
      <div role="rowgroup" className="data-body" style={{ height: virtual.getTotalSize(), minWidth: leastWidth }}>
        {items.map((item) => {
          const row = rows[item.index]!;
          const key = keyOf(row);
          return (
            <div
              key={key}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={selection ? selection.has(key) : props.openKey === key ? true : undefined}
              data-index={item.index}
              className={`data-row${props.openKey === key ? " data-open" : ""}${onOpen ? " data-opens" : ""}`}
              tabIndex={item.index === current ? 0 : -1}
              style={{ gridTemplateColumns: template, height: rowHeight, transform: `translateY(${item.start}px)` }}
              onFocus={() => setActive(item.index)}
              onKeyDown={(event) => onKeyDown(event, row, item.index)}
              onClick={(event) => isPlainClick(event) && onOpen?.(row)}
            >
              {selection && (
                <div role="gridcell" className="data-cell">
                  <Checkbox
                    label={texts.table.selectRow}
                    isSelected={selection.has(key)}
                    onChange={() => toggle(row)}
                  />
                </div>
              )}
              {columns.map((column) => (
                <div key={column.id} role="gridcell" className={cellClass(column)}>{column.cell(row)}</div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** The least width of a track in rem, so that all rows are as wide as the widest needs to be. */
function leastOf(track: string): number {
  return Number(/([\d.]+)rem/.exec(track)?.[1] ?? 6);
}

function HeadCell<T>(
  { column, sort, onSort }: {
    column: Column<T>;
    sort: Sort | null | undefined;
    onSort: ((sort: Sort) => void) | undefined;
  },
) {
  const isSorted = sort?.column === column.id;
  const direction = isSorted ? (sort.isDescending ? "descending" : "ascending") : "none";
  const next = { column: column.id, isDescending: isSorted && !sort.isDescending };
  return (
    <div
      role="columnheader"
      aria-sort={column.isSortable ? direction : undefined}
      className={cellClass(column)}
    >
      {column.isSortable && onSort
        ? (
          <button type="button" className="data-sort" onClick={() => onSort(next)}>
            <span className="cut">{column.title}</span>
            {isSorted && <Icon name={sort.isDescending ? "arrowDown" : "arrowUp"} size={12} />}
          </button>
        )
        : <span className="cut">{column.title}</span>}
      {column.name && <span className="for-readers">{column.name}</span>}
    </div>
  );
}

function cellClass<T>(column: Column<T>): string {
  return `data-cell${column.align === "end" ? " data-end" : ""}`;
}

/** Return whether a click was on the row itself, not on a button in it, nor the end of a selection of text. */
function isPlainClick(event: MouseEvent): boolean {
  const target = event.target as HTMLElement;
  return !target.closest("button, a, input, label, select, textarea") && !getSelection()?.toString();
}
