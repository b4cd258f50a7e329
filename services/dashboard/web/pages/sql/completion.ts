/** Names for completion, from the catalog as it is. */

import { useQuery } from "@tanstack/react-query";
import { run } from "../../api/client.ts";

const mostSchemas = 12;

type Names = { readonly [table: string]: readonly string[] };

/** Return tables with their columns: those of `public` by their name, others as `schema.table`. */
export function useCatalogNames(): Names | undefined {
  return useQuery<Names>({ queryKey: ["catalog.diagram", "names"], queryFn: readNames, staleTime: 30_000 }).data;
}

async function readNames({ signal }: { signal: AbortSignal }): Promise<Names> {
  const schemas = (await run("catalog.schemas", {}, { signal })).filter((schema) => schema.tables > 0);
  const shown = schemas.map((schema) => schema.name).sort((a, b) => Number(b === "public") - Number(a === "public"));
  const names: { [table: string]: string[] } = {};
  for (const schema of shown.slice(0, mostSchemas)) {
    const { tables } = await run("catalog.diagram", { schema }, { signal });
    for (const table of tables) {
      const columns = table.columns.map((column) => column.name);
      const own = table.name.replaceAll(".", "\\.");
      names[schema === "public" ? own : `${schema.replaceAll(".", "\\.")}.${own}`] = columns;
    }
  }
  return names;
}
