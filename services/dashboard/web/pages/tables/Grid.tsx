import { useVirtualizer } from "@tanstack/react-virtual";
import { type ClipboardEvent, type KeyboardEvent, type UIEvent, useEffect, useMemo, useRef, useState } from "react";
import type { RowOfPage, TableColumn } from "../../generated/operations.ts";
import { type Cell, rowHeight } from "./CheckMark.tsx";
import { type CellRange, cellRangeOf, rectangleOf } from "./cellRange.ts";
import type { ColumnsView } from "./columnsView.ts";
import { GridHead } from "./GridHead.tsx";
import { type GridCell, GridRow } from "./GridRow.tsx";
import { type PageSize, useKeptPlace } from "./keptPlace.ts";
import { editorOf, rowId } from "./values.ts";

const headHeight = 32;
const markWidth = 62;
/** So many rows are drawn before and after those in view. */
const overscan = 8;
/** So many rows before the end of what is loaded, more is read. */
const readsAhead = 60;

export interface GridProps {
  label: string;
  view: ColumnsView;
  rows: readonly RowOfPage[];
  /** What identifies the loaded pages and how many rows each has, to keep the place when pages come and go. */
  pages: readonly PageSize[];
  /** Changes when another view is shown: the grid then begins at its start, or at its end. */
  viewId: string;
  isAtEnd: boolean;
  sorts: readonly { column: string; isDescending: boolean }[];
  selection: ReadonlySet<string>;
  openId: string | null;
  onSort: (column: string, isAdded: boolean) => void;
  onSelect: (ids: ReadonlySet<string>) => void;
  onOpen: (row: RowOfPage) => void;
  mayEdit: (column: TableColumn) => boolean;
  onCommit: (row: RowOfPage, column: TableColumn, value: string | null) => void;
  onEditLarge: (row: RowOfPage, column: TableColumn) => void;
  /** `range`: the cells of a range; null if there is only the active cell. */
  onCopy: (cell: { row: RowOfPage; column: TableColumn | null } | null, range: CellRange | null) => string | null;
  onPaste: (text: string, row: RowOfPage | null, column: TableColumn | null, range: CellRange | null) => void;
  onFillDown: (range: CellRange) => void;
  onUndo: () => void;
  /** Show the last rows, or the first, of those that are not loaded. */
  onGo: (isAtEnd: boolean) => void;
  hasNext: boolean;
  hasPrevious: boolean;
  onNext: () => void;
  onPrevious: () => void;
}

/** The grid: one tab stop, arrows between cells, only the visible rows in the page. */
export function Grid(props: GridProps) {
  const { rows, pages, viewId, selection } = props;
  const { columns, places, widths, pinned } = props.view;
  const frame = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<Cell>({ row: 0, column: 0 });
  const [editing, setEditing] = useState<{ cell: Cell; typed: string | null } | null>(null);
  /** Where a range of cells begins, which reaches to the active cell; null without one. */
  const [corner, setCorner] = useState<Cell | null>(null);
  /** Where a range of selected rows begins: the row that was selected last by itself. */
  const anchor = useRef(0);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan,
    paddingStart: headHeight,
  });
  const items = virtual.getVirtualItems();
  // Rows are keyed by place, so that a scroll gives the elements of rows that left to those that came. The number of places only
  // grows: a row that is being edited keeps its element.
  const slots = useRef(1);
  slots.current = Math.max(
    slots.current,
    Math.ceil((virtual.scrollRect?.height ?? 0) / rowHeight) + 2 * overscan + 1,
    items.length,
  );
  const firstIndex = items[0]?.index ?? 0;
  const lastIndex = items.at(-1)?.index ?? -1;
  useKeptPlace(frame, pages, (moved) => {
    setActive((cell) => ({ ...cell, row: Math.max(-1, cell.row + moved) }));
    // Rows of the range may be there no more.
    setCorner(null);
  });
  useEffect(() => {
    if (rows.length === 0) return;
    if (lastIndex >= rows.length - readsAhead && props.hasNext) props.onNext();
    if (firstIndex <= readsAhead && props.hasPrevious) props.onPrevious();
  }, [firstIndex, lastIndex, rows, props.hasNext, props.hasPrevious]);
  const isEmpty = rows.length === 0;
  useEffect(() => {
    if (!frame.current || isEmpty) return;
    setEditing(null);
    setCorner(null);
    setActive((cell) => ({ ...cell, row: props.isAtEnd ? rows.length - 1 : 0 }));
    frame.current.scrollTop = props.isAtEnd ? frame.current.scrollHeight : 0;
  }, [viewId, isEmpty]);
  const cellsOf = useMemo(() => layoutOf(props.view), [props.view]);
  const template = `${markWidth}px ${widths.map((width) => `${width}px`).join(" ")} minmax(0, 1fr)`;
  const minWidth = widths.reduce((sum, width) => sum + width, markWidth);

  const cell = {
    row: Math.min(active.row, rows.length - 1),
    column: Math.min(active.column, columns.length - 1),
  };
  const hasRange = corner && cell.row >= 0 && cell.column >= 0 &&
    (corner.row !== cell.row || corner.column !== cell.column);
  const rectangle = hasRange ? rectangleOf(corner, cell) : null;
  const range = () => rectangle && cellRangeOf(rectangle, rows, columns, places);
  /** Make a cell the active one, which ends the range, or extends it to there. */
  const activate = (next: Cell, isExtended = false) => {
    setCorner(isExtended && cell.row >= 0 && cell.column >= 0 ? corner ?? cell : null);
    setActive(next);
    if (isExtended) frame.current?.focus({ preventScroll: true });
  };
  const scrollTo = ({ row, column }: Cell) => {
    const element = frame.current;
    if (!element) return;
    if (row >= 0) {
      const top = row * rowHeight;
      const room = element.clientHeight - headHeight - rowHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top > element.scrollTop + room) element.scrollTop = top - room;
    }
    if (column < 0) return;
    if (column < pinned) return;
    const fixed = widths.slice(0, pinned).reduce((sum, width) => sum + width, 0);
    const left = widths.slice(pinned, column).reduce((sum, width) => sum + width, 0);
    const space = element.clientWidth - markWidth - fixed - widths[column]!;
    if (left < element.scrollLeft) element.scrollLeft = left;
    else if (left > element.scrollLeft + space) element.scrollLeft = Math.min(left, left - space);
  };
  const move = (row: number, column: number, isExtended = false) => {
    const least = isExtended ? 0 : -1;
    const next = {
      row: Math.max(least, Math.min(rows.length - 1, row)),
      column: Math.max(least, Math.min(columns.length - 1, column)),
    };
    activate(next, isExtended);
    scrollTo(next);
  };
  const select = (row: RowOfPage, index: number, isRange = false) => {
    const next = new Set(selection);
    const id = rowId(row, index);
    if (isRange) {
      const [from, to] = [Math.min(anchor.current, index), Math.max(anchor.current, index)];
      for (let place = from; place <= to; place++) next.add(rowId(rows[place]!, place));
    } else {
      anchor.current = index;
      if (!next.delete(id)) next.add(id);
    }
    props.onSelect(next);
  };
  /** Move by a row, with the selection from where Shift was first held. */
  const extend = (step: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, cell.row + step));
    if (selection.size === 0) anchor.current = cell.row;
    select(rows[next]!, next, true);
    move(next, cell.column);
  };
  const selectAll = () =>
    props.onSelect(selection.size >= rows.length ? new Set() : new Set(rows.map((row, index) => rowId(row, index))));
  const edit = (place: Cell, typed: string | null = null) => {
    const row = rows[place.row];
    const column = columns[place.column];
    if (!row || !column || !props.mayEdit(column)) return;
    const value = row.cells[places[place.column]!] ?? null;
    const isLarge = ["json", "array", "reference"].includes(editorOf(column)) ||
      row.shortened.includes(places[place.column]!) || (value?.includes("\n") ?? false);
    if (isLarge) props.onEditLarge(row, column);
    else setEditing({ cell: place, typed });
  };
  const finish = (value: string | null | undefined, next: "stay" | "down" | "right" | "blur") => {
    if (!editing) return;
    const { cell: place } = editing;
    setEditing(null);
    const row = rows[place.row];
    const column = columns[place.column];
    if (row && column && value !== undefined && value !== row.cells[places[place.column]!]) {
      props.onCommit(row, column, value);
    }
    if (next === "blur") return;
    frame.current?.focus({ preventScroll: true });
    if (next === "down") move(place.row + 1, place.column);
    if (next === "right") move(place.row, place.column + 1);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor(((frame.current?.clientHeight ?? 0) - headHeight) / rowHeight) - 1);
    const row = rows[cell.row];
    const column = columns[cell.column];
    const withCtrl = event.ctrlKey || event.metaKey;
    const moves: { [key: string]: [number, number] } = {
      ArrowDown: [cell.row + 1, cell.column],
      ArrowUp: [cell.row - 1, cell.column],
      ArrowLeft: [cell.row, cell.column - 1],
      ArrowRight: [cell.row, cell.column + 1],
      PageDown: [cell.row + page, cell.column],
      PageUp: [Math.max(0, cell.row - page), cell.column],
      Home: withCtrl ? [0, cell.column] : [cell.row, 0],
      End: withCtrl ? [rows.length - 1, cell.column] : [cell.row, columns.length - 1],
    };
    const target = moves[event.key];
    const extendsRows = selection.size > 0 || cell.column < 0;
    if (withCtrl && event.key === "End" && props.hasNext) props.onGo(true);
    else if (withCtrl && event.key === "Home" && props.hasPrevious) props.onGo(false);
    else if (event.shiftKey && extendsRows && event.key === "ArrowDown" && row) extend(1);
    else if (event.shiftKey && extendsRows && event.key === "ArrowUp" && row) extend(-1);
    else if (target) move(...target, event.shiftKey && row !== undefined && column !== undefined);
    else if (withCtrl && event.key === "d" && rectangle) props.onFillDown(range()!);
    else if (withCtrl && event.key === "z") props.onUndo();
    else if (withCtrl && event.key === "a") selectAll();
    else if (event.key === "Enter" && cell.row < 0) column && props.onSort(column.name, event.shiftKey);
    else if (event.key === "Enter" && row && (event.shiftKey || cell.column < 0)) props.onOpen(row);
    else if (event.key === "Enter" || event.key === "F2") edit(cell);
    else if (event.key === " " && row) select(row, cell.row, event.shiftKey);
    else if (event.key === " " && cell.row < 0) selectAll();
    else if (event.key === "Escape" && corner) setCorner(null);
    else if (event.key === "Escape" && selection.size > 0) props.onSelect(new Set());
    else if (event.key === "Delete" && row && column && column.is_nullable && props.mayEdit(column)) {
      if (row.cells[places[cell.column]!] !== null) props.onCommit(row, column, null);
    } else if (event.key.length === 1 && !withCtrl && !event.altKey && event.key !== "?" && row && column) {
      if (!props.mayEdit(column)) return;
      edit(cell, event.key);
    } else return;
    event.preventDefault();
  };
  const onCopy = (event: ClipboardEvent) => {
    if (isInEditor(event) || getSelection()?.toString()) return;
    const row = rows[cell.row];
    const text = props.onCopy(row ? { row, column: columns[cell.column] ?? null } : null, range());
    if (text === null) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  const onPaste = (event: ClipboardEvent) => {
    if (isInEditor(event)) return;
    event.preventDefault();
    const text = event.clipboardData.getData("text/plain");
    props.onPaste(text, rows[cell.row] ?? null, columns[cell.column] ?? null, range());
  };
  // Rows keep the handlers of their first rendering; these find the newest ones.
  const handlers = useRef({ select, edit, finish, activate, onOpen: props.onOpen });
  handlers.current = { select, edit, finish, activate, onOpen: props.onOpen };
  const isShown = cell.row < 0 || (cell.row >= firstIndex && cell.row <= lastIndex);

  return (
    <div
      ref={frame}
      className="tables-grid"
      role="grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={-1}
      aria-colcount={columns.length + 1}
      aria-multiselectable
      aria-activedescendant={isShown ? `cell-${cell.row}-${cell.column}` : undefined}
      onScroll={markSideways}
      onKeyDown={onKeyDown}
      onCopy={onCopy}
      onPaste={onPaste}
    >
      <GridHead
        columns={cellsOf}
        model={props.view.model}
        template={template}
        activeColumn={cell.row < 0 ? cell.column : null}
        sorts={props.sorts}
        isAllSelected={rows.length > 0 && selection.size >= rows.length}
        isSomeSelected={selection.size > 0}
        onSelectAll={selectAll}
        onSort={(column, index, isAdded) => {
          activate({ row: -1, column: index });
          if (column.is_sortable) props.onSort(column.name, isAdded);
        }}
      />
      <div role="rowgroup" className="tables-body" style={{ height: rows.length * rowHeight, minWidth }}>
        {items.map(({ index }) => {
          const row = rows[index]!;
          const id = rowId(row, index);
          return (
            <GridRow
              key={index % slots.current}
              row={row}
              id={id}
              index={index}
              columns={cellsOf}
              template={template}
              activeColumn={cell.row === index ? cell.column : null}
              rangeFrom={rectangle && index >= rectangle.top && index <= rectangle.bottom ? rectangle.left : null}
              rangeTo={rectangle && index >= rectangle.top && index <= rectangle.bottom ? rectangle.right : null}
              editing={editing?.cell.row === index ? editing.cell.column : null}
              typed={editing?.cell.row === index ? editing.typed : null}
              isSelected={selection.has(id)}
              isOpen={props.openId === id}
              handlers={handlers}
            />
          );
        })}
      </div>
    </div>
  );
}

/**
 * Let what stays at the left do so only while the grid is scrolled sideways: each such cell is a layer of its own for the browser,
 * which a scroll through rows would pay for in every frame.
 */
function markSideways({ currentTarget: frame }: UIEvent<HTMLElement>): void {
  frame.classList.toggle("tables-sideways", frame.scrollLeft > 0);
}

/** Return the shown columns as the head and the rows draw them. */
function layoutOf({ columns, places, widths, pinned }: ColumnsView): GridCell[] {
  let left = markWidth;
  return columns.map((column, index) => {
    const cell = { column, place: places[index]!, left: index < pinned ? left : null };
    left += widths[index]!;
    return cell;
  });
}

/** Whether the clipboard is that of an editor in a cell. The target is where the last click was, not the grid. */
function isInEditor(event: ClipboardEvent): boolean {
  return (event.target as HTMLElement).closest("input, select, textarea") !== null;
}
