import { useMe } from "../api/hooks.ts";
import { pages } from "../pages.ts";
import type { PageEntry } from "./page.ts";

const order = ["reader", "developer", "owner"] as const;

/** Return the pages that the administrator can use, in the order of the list. */
export function useListedPages(): readonly PageEntry[] {
  const me = useMe();
  return pages.filter((page) => page.group !== null && order.indexOf(page.right) <= order.indexOf(me.rights));
}
