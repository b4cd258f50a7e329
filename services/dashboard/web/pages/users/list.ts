/** The list of users: keyset pages that are loaded as the last rows come into view, and renewed one row at a time. */

import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { run } from "../../api/client.ts";
import type { ProjectUserPage, ProjectUserQueryInput } from "../../generated/operations.ts";

const pageRows = 100;
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const listName = "users.search";
/** Tells answers by pages from those of a single search in the cache. */
const pagesMark = "pages";
const isList = ({ queryKey }: { queryKey: readonly unknown[] }) =>
  queryKey[0] === listName && queryKey[2] === pagesMark;

export const states = ["any", "confirmed", "unconfirmed", "banned", "anonymous", "sso", "deleted"] as const;
export type UserState = typeof states[number];
export const orders = ["newest", "oldest", "recent"] as const;
export type UserOrder = typeof orders[number];

/** Return the arguments of a search: a text that is an id is one, every other text is part of an address or a name. */
export function queryOf(text: string, state: UserState, order: UserOrder): ProjectUserQueryInput {
  const searched = text.trim();
  return {
    ...(idPattern.test(searched) ? { id: searched } : { contains: searched }),
    state,
    sort: order === "recent" ? "last_sign_in_at" : "created_at",
    is_ascending: order === "oldest",
    limit: pageRows,
  };
}

/** Follow the pages of a search. Many pages may be loaded, so they are not asked for again when the window is focused. */
export function useUserPages(query: ProjectUserQueryInput) {
  return useInfiniteQuery({
    queryKey: [listName, query, pagesMark],
    queryFn: ({ pageParam, signal }) => run(listName, { ...query, cursor: pageParam }, { signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    staleTime: Infinity,
    gcTime: 60_000,
    refetchOnWindowFocus: false,
  });
}

/** Return what brings the list up to date: `renew` for one changed user, `restart` after one was added. */
export function useListUpdates() {
  const client = useQueryClient();
  const renew = async (id: string) => {
    await client.invalidateQueries({ queryKey: ["users.read"] });
    const rows = (await run(listName, { id })).rows;
    client.setQueriesData<InfiniteData<ProjectUserPage>>({ predicate: isList }, (data) =>
      data && {
        ...data,
        pages: data.pages.map((page) => ({
          ...page,
          rows: page.rows.flatMap((row) => row.id === id ? rows : [row]),
        })),
      });
  };
  const restart = () => client.resetQueries({ predicate: isList });
  return { renew, restart };
}
