/** Queries that were run, in the storage of the browser, apart for each administrator. */

import { useState } from "react";
import { useMe } from "../../api/hooks.ts";

export interface PastQuery {
  query: string;
  variables: string;
  /** Milliseconds since 1970. */
  at: number;
}

const most = 50;
const longest = 20_000;

/** Return the queries, newest first, and what adds one (the same again moves to the top) or removes all. */
export function usePastQueries(): {
  past: readonly PastQuery[];
  note: (query: string, variables: string) => void;
  clear: () => void;
} {
  const name = `headwater.graphql.${useMe().administrator_id}`;
  const [past, setPast] = useState(() => read(name));
  const keep = (next: readonly PastQuery[]) => {
    setPast(next);
    try {
      localStorage.setItem(name, JSON.stringify(next));
    } catch {
      // The storage is full or forbidden: the list lasts as long as the page.
    }
  };
  return {
    past,
    note: (query, variables) => {
      if (query.length + variables.length > longest) return;
      const others = past.filter((other) => other.query !== query || other.variables !== variables);
      keep([{ query, variables, at: Date.now() }, ...others].slice(0, most));
    },
    clear: () => keep([]),
  };
}

function read(name: string): readonly PastQuery[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(name) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isPastQuery) : [];
  } catch {
    return [];
  }
}

function isPastQuery(value: unknown): value is PastQuery {
  const { query, variables, at } = (value ?? {}) as PastQuery;
  return typeof query === "string" && typeof variables === "string" && typeof at === "number";
}
