import { Icon } from "../../components/Icon.tsx";
import type { TableColumn } from "../../generated/operations.ts";
import { CheckMark } from "./CheckMark.tsx";
import { tablesTexts as texts } from "./texts.ts";
import { isAtRight } from "./values.ts";

/** The head of the grid: names and types of the columns. A click sorts; with Shift it adds a sort. */
export function GridHead(
  { columns, template, activeColumn, sorts, isAllSelected, isSomeSelected, onSelectAll, onSort }: {
    columns: readonly TableColumn[];
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
      {columns.map((column, index) => {
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
            }`}
            title={column.comment ?? undefined}
            onClick={(event) => onSort(column, index, event.shiftKey)}
          >
            <span className="cut tables-column-name">{column.name}</span>
            <span className="cut tables-type">{column.type}</span>
            {sort && <Icon name={sort.isDescending ? "arrowDown" : "arrowUp"} size={12} />}
          </div>
        );
      })}
    </div>
  );
}
