/** Lists of buckets and objects: keyset pages that are loaded as the last rows come into view. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { run } from "../../api/client.ts";
import type { FolderPage, ObjectPage, StoredObject } from "../../generated/operations.ts";

const pageRows = 200;

/** A row of a folder: a folder below it, or an object. `name` is whole; that of a folder ends in a slash. */
export interface FolderRow {
  name: string;
  object: StoredObject | null;
}

export const sorts = ["name", "created_at", "updated_at"] as const;
export type ObjectSort = typeof sorts[number];

/** Follow the buckets whose name contains a text. */
export function useBuckets(search: string) {
  return useInfiniteQuery({
    queryKey: ["storage.buckets", { search }, "pages"],
    queryFn: ({ pageParam, signal }) =>
      run("storage.buckets", { search, after: pageParam, limit: pageRows }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

/** Follow a folder, or the objects of the whole bucket whose name contains a text. */
export function useObjects(bucket: string, folder: string, search: string, sort: ObjectSort) {
  return useInfiniteQuery({
    queryKey: [search ? "storage.search" : "storage.objects", { bucket, folder, search, sort }, "pages"],
    queryFn: async ({ pageParam, signal }): Promise<{ rows: FolderRow[]; next: string | null }> => {
      const page = { after: pageParam, limit: pageRows };
      if (search) {
        return rowsOf(await run("storage.search", { bucket, search, prefix: folder, ...page }, { signal }));
      }
      return rowsOf(
        await run("storage.objects", { bucket, folder, sort, is_descending: sort !== "name", ...page }, { signal }),
      );
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

function rowsOf(page: FolderPage | ObjectPage): { rows: FolderRow[]; next: string | null } {
  const objects = "rows" in page ? page.rows : page.objects;
  const folders = "folders" in page ? page.folders : [];
  return {
    rows: [
      ...folders.map((name) => ({ name: name.endsWith("/") ? name : `${name}/`, object: null })),
      ...objects.map((object) => ({ name: object.name, object })),
    ],
    next: page.next,
  };
}

/** Return the last part of a name: `a/b/c.png` -> `c.png`, `a/b/` -> `b`. */
export function baseOf(name: string): string {
  return name.replace(/\/$/, "").split("/").pop() ?? name;
}
