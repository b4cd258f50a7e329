import { useLayoutEffect, useRef } from "react";
import { rowHeight } from "./CheckMark.tsx";

/** A loaded page: what identifies it, and how many rows it has. */
export interface PageSize {
  id: string;
  size: number;
}

/** Keep the rows in view where they are when pages before them are read or dropped. */
export function useKeptPlace(
  frame: { current: HTMLElement | null },
  pages: readonly PageSize[],
  onMoved: (rows: number) => void,
): void {
  const before = useRef<readonly PageSize[]>([]);
  useLayoutEffect(() => {
    const old = before.current;
    before.current = pages;
    if (!old[0] || !pages[0] || !frame.current) return;
    const count = (list: readonly PageSize[]) => list.reduce((sum, page) => sum + page.size, 0);
    const added = pages.findIndex(({ id }) => id === old[0]!.id);
    const dropped = added < 0 ? old.findIndex(({ id }) => id === pages[0]!.id) : 0;
    const moved = added > 0 ? count(pages.slice(0, added)) : dropped > 0 ? -count(old.slice(0, dropped)) : 0;
    if (moved === 0) return;
    frame.current.scrollTop += moved * rowHeight;
    onMoved(moved);
  }, [pages]);
}
