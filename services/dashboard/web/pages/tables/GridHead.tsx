import type { MouseEvent, TouchEvent } from "react";
import { Icon } from "../../components/Icon.tsx";
import type { TableColumn } from "../../generated/operations.ts";
import { CheckMark } from "./CheckMark.tsx";
import type { ColumnsView } from "./columnsView.ts";
import type { GridCell } from "./GridRow.tsx";
import { tablesTexts as texts } from "./texts.ts";
import { isAtRight } from "./values.ts";

/** The head of the grid: names and types of the columns. A click sorts; with Shift it adds a sort. */
export function GridHead(
  { columns, model, template, activeColumn, sorts, isAllSelected, isSomeSelected, onSelectAll, onSort }: {
    columns: readonly GridCell[];
    model: ColumnsView["model"];
    template: string;
    activeColumn: number | null;
    sorts: readonly { column: string; isDescending: boolean }[];
    isAllSelected: boolean;
    isSomeSelected: boolean;
    onSelectAll: () => void;
    onSort: (column: TableColumn, index: number, isAdded: boolean) => void;
  },
) {
  return (
    <div className="tables-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
      <div
        id="cell--1--1"
        role="columnheader"
        className={`tables-cell tables-mark${activeColumn === -1 ? " tables-active" : ""}`}
        onClick={onSelectAll}
      >
        <span className="for-readers">{texts.grid.selectAll}</span>
        <CheckMark isOn={isAllSelected} isSome={isSomeSelected} />
      </div>
      {columns.map(({ column, left }, index) => {
        const sort = sorts.find((entry) => entry.column === column.name);
        return (
          <div
            key={column.name}
            id={`cell--1-${index}`}
            role="columnheader"
            aria-colindex={index + 2}
            aria-sort={sort ? (sort.isDescending ? "descending" : "ascending") : "none"}
            className={`tables-cell tables-column${activeColumn === index ? " tables-active" : ""}${
              isAtRight(column) ? " tables-right" : ""
            }${left === null ? "" : " tables-pinned"}`}
            style={left === null ? undefined : { insetInlineStart: left }}
            title={column.comment ?? undefined}
            onClick={(event) => onSort(column, index, event.shiftKey)}
          >
            <span className="cut tables-column-name">{column.name}</span>
            <span className="cut tables-type">{column.type}</span>
            {sort && <Icon name={sort.isDescending ? "arrowDown" : "arrowUp"} size={12} />}
            <ResizeEdge name={column.name} model={model} />
          </div>
        );
      })}
    </div>
  );
}

/** The edge of a column's head: dragging it changes the width, a double click resets it. The dialog of columns needs no mouse. */
function ResizeEdge({ name, model }: { name: string; model: ColumnsView["model"] }) {
  const header = model.getFlatHeaders().find((one) => one.column.id === name);
  if (!header) return null;
  const start = (event: MouseEvent | TouchEvent) => {
    event.stopPropagation();
    header.getResizeHandler()(event);
  };
  return (
    <span
      className="tables-resize"
      aria-hidden="true"
      onMouseDown={start}
      onTouchStart={start}
      onClick={(event) => event.stopPropagation()}
      onDoubleClick={(event) => {
        event.stopPropagation();
        header.column.resetSize();
      }}
    />
  );
}
