/** Which column refers to a table that was chosen. */

import { run } from "../../api/client.ts";
import { splitName } from "../../sqlName.ts";

/** Return the target of a foreign key as a change of the schema has it. */
export function referenceTo(table: string): { target_schema: string; target_table: string } {
  const [schema, name] = splitName(table);
  return { target_schema: schema, target_table: name };
}

/** Return the name and type of a column that refers to a table; null if the table is not there, or its key has not one column. */
export async function readReference(table: string): Promise<{ name: string; type: string } | null> {
  const [schema, name] = splitName(table);
  if (!name) return null;
  try {
    const { columns, constraints } = await run("catalog.relation", { schema, name });
    const key = constraints.find(({ kind }) => kind === "primary key")?.columns ?? [];
    const column = columns.find((one) => one.name === key[0]);
    return column && key.length === 1 ? { name: `${name}_${column.name}`, type: column.type } : null;
  } catch {
    // The name is being typed: there is no table of it yet.
    return null;
  }
}
