import { Icon } from "../../components/Icon.tsx";

/** The height of a row in px. */
export const rowHeight = 29;

/** A place in the grid. */
export interface Cell {
  row: number;
  /** The index of the column; -1 is the mark of the row, and row -1 the head. */
  column: number;
}

/** The box that says whether rows are selected; the grid itself takes clicks and keys. */
export function CheckMark({ isOn, isSome }: { isOn: boolean; isSome?: boolean }) {
  return (
    <span className={`checkbox-box${isOn || isSome ? " tables-checked" : ""}`} aria-hidden="true">
      {isOn ? <Icon name="check" size={12} /> : isSome && <Icon name="minus" size={12} />}
    </span>
  );
}
