/** Addresses inside the dashboard: every view and filter has its own, so that it can be linked to and goes back. */

import { Link as RouterLink, useNavigate, useRouterState } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { noteChosenNavigation } from "./components/unsaved.ts";

/** Values of a view in the address, after `?`: filters, sorts, tabs, the open row. */
export type Search = { readonly [name: string]: string };

/** Return the parts of the path below the page: of `/_/tables/public/posts`, in the page `tables`, `["public", "posts"]`. */
export function useSubpath(): readonly string[] {
  const path = useRouterState({ select: (state) => state.location.pathname });
  return path.split("/").slice(2).filter(Boolean).map(decodePart);
}

/** Return the values after `?`, and what changes some of them; an empty or missing value is removed. */
export function useSearch(): readonly [
  Search,
  (changes: { [name: string]: string | null }, replaces?: boolean) => void,
] {
  const search = useRouterState({ select: (state) => state.location.search as Search });
  const navigate = useNavigate();
  const change = (changes: { [name: string]: string | null }, replaces = true) => {
    const next = Object.entries({ ...search, ...changes }).filter(([, value]) => value !== null && value !== "");
    void navigate({ to: ".", search: Object.fromEntries(next) as never, replace: replaces });
  };
  return [search, change];
}

/** Return what opens a view: `go("tables/public/posts", { sort: "id" })`. */
export function useGo(): (to: string, search?: Search) => void {
  const navigate = useNavigate();
  return (to, search = {}) => void navigate({ to: `/${to}`, search: search as never });
}

/** Return a path from its parts, which may contain any sign: `pathOf("tables", schema, table)`. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map(encodeURIComponent).join("/");
}

/** A link to a view of the dashboard. */
export function Link({ to, search, children, className }: {
  to: string;
  search?: Search;
  children: ReactNode;
  className?: string;
}) {
  return (
    <RouterLink
      to={`/${to}`}
      search={(search ?? {}) as never}
      onClick={noteChosenNavigation}
      {...(className ? { className } : {})}
    >
      {children}
    </RouterLink>
  );
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
