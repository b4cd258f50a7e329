import { useMe } from "../api/hooks.ts";
import { includes, reaches } from "../api/rights.ts";
import type { Me } from "../generated/operations.ts";
import { pages } from "../pages.ts";
import type { PageEntry } from "./page.ts";

/** Return the pages that the administrator can use, in the order of the list. */
export function useListedPages(): readonly PageEntry[] {
  const me = useMe();
  return pages.filter((page) => page.group !== null && includes(me.rights, page.right) && !isClosed(page, me));
}

/** Return whether the administrator's role closes all areas that a page is about. */
export function isClosed({ areas }: PageEntry, me: Me): boolean {
  return areas.length > 0 && !areas.some((area) => reaches(me, area));
}
