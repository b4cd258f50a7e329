import type { Sort } from "../../components/DataTable.tsx";

/** Return rows in the order of a column. */
export function sorted<T>(
  rows: readonly T[],
  { column, isDescending }: Sort,
  valuesOf: { readonly [column: string]: (row: T) => string | number },
): readonly T[] {
  const valueOf = valuesOf[column];
  if (!valueOf) return rows;
  const factor = isDescending ? -1 : 1;
  return [...rows].sort((one, other) => factor * compared(valueOf(one), valueOf(other)));
}

function compared(one: string | number, other: string | number): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other));
}
