import { memo } from "react";
import { Icon } from "../../components/Icon.tsx";
import type { RowOfPage, TableColumn } from "../../generated/operations.ts";
import { CellEditor } from "./CellEditor.tsx";
import { type Cell, CheckMark, rowHeight } from "./CheckMark.tsx";
import { tablesTexts as texts } from "./texts.ts";
import { choiceOf, isAtRight, ownValue, type TextValue } from "./values.ts";

export interface RowHandlers {
  select: (row: RowOfPage, index: number, isRange: boolean) => void;
  edit: (cell: Cell) => void;
  finish: (value: string | null | undefined, next: "stay" | "down" | "right" | "blur") => void;
  /** Make a cell the active one; `isExtended`: the range of cells reaches to it. */
  activate: (cell: Cell, isExtended: boolean) => void;
  onOpen: (row: RowOfPage) => void;
}

/** A column that is shown. `place`: of its cells in a row of a page; `left`: its distance in px where it stays at the left. */
export interface GridCell {
  column: TableColumn;
  place: number;
  left: number | null;
}

interface GridRowProps {
  row: RowOfPage;
  id: string;
  index: number;
  columns: readonly GridCell[];
  template: string;
  activeColumn: number | null;
  /** The cells of the range in this row; null if it has none. */
  rangeFrom: number | null;
  rangeTo: number | null;
  editing: number | null;
  typed: string | null;
  isSelected: boolean;
  isOpen: boolean;
  handlers: { readonly current: RowHandlers };
}

/** One row of the grid. It is drawn again only when something of it changed, so that scrolling stays light. */
export const GridRow = memo(function GridRow(props: GridRowProps) {
  const { row, index, columns, handlers } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={props.isSelected}
      className={`tables-row${props.isOpen ? " tables-row-open" : ""}`}
      style={{ gridTemplateColumns: props.template, height: rowHeight, top: index * rowHeight }}
    >
      <div
        id={`cell-${index}--1`}
        role="gridcell"
        aria-label={`${texts.grid.select} ${index + 1}`}
        className={`tables-cell tables-mark${props.activeColumn === -1 ? " tables-active" : ""}`}
        onClick={(event) => handlers.current.select(row, index, event.shiftKey)}
      >
        <CheckMark isOn={props.isSelected} />
        <button
          type="button"
          tabIndex={-1}
          className="tables-open-row"
          aria-label={texts.grid.open}
          onClick={(event) => {
            event.stopPropagation();
            handlers.current.onOpen(row);
          }}
        >
          <Icon name="edit" size={14} />
        </button>
      </div>
      {columns.map(({ column, place: cellPlace, left }, place) => {
        const value = row.cells[cellPlace] ?? null;
        const isActive = props.activeColumn === place;
        const isInRange = props.rangeFrom !== null && place >= props.rangeFrom && place <= (props.rangeTo ?? -1);
        if (props.editing === place) {
          return (
            <div key={column.name} id={`cell-${index}-${place}`} role="gridcell" className="tables-cell tables-editing">
              <CellEditor column={column} value={value} typed={props.typed} onFinish={handlers.current.finish} />
            </div>
          );
        }
        return (
          <div
            key={column.name}
            id={`cell-${index}-${place}`}
            role="gridcell"
            aria-colindex={place + 2}
            data-column={column.name}
            aria-selected={isInRange || undefined}
            className={`tables-cell ${lookOf(column, value)}${isActive ? " tables-active" : ""}${
              isInRange ? " tables-in-range" : ""
            }${isAtRight(column) ? " tables-right" : ""}${left === null ? "" : " tables-pinned"}`}
            style={left === null ? undefined : { insetInlineStart: left }}
            // Shift and click would select text, which is then copied in place of the range.
            onMouseDown={(event) => event.shiftKey && event.preventDefault()}
            onClick={(event) => handlers.current.activate({ row: index, column: place }, event.shiftKey)}
            onDoubleClick={() => handlers.current.edit({ row: index, column: place })}
          >
            {textOf(column, value)}
            <Label text={value && ownValue(row.labels, column.name)} />
          </div>
        );
      })}
    </div>
  );
});

/** What a cell shows: the value as text, whatever it contains. It is the text of the cell itself: an element less in each of hundreds of cells. */
function textOf(column: TableColumn, value: TextValue): string {
  if (value === null) return texts.grid.null;
  if (value === "") return "''";
  return column.category === "boolean" ? choiceOf(column, value) : value;
}

/** The class of a cell by its value. */
function lookOf(column: TableColumn, value: TextValue): string {
  if (value === null || value === "") return "tables-null";
  if (column.category === "number") return "number";
  return ["json", "uuid", "array", "bytes", "network"].includes(column.category) ? "code" : "";
}

/** What the row is called that a reference refers to. */
function Label({ text }: { text: string | null | undefined }) {
  return text ? <span className="tables-label">{text}</span> : null;
}
