import { openStream, run } from "../../api/client.ts";
import { toast } from "../../components/toasts.ts";
import type { DescribedTable, ExportRequestInput, RowOfPage } from "../../generated/operations.ts";
import { type CopyFormat, copyOf } from "./copyAs.ts";
import type { WindowRequest } from "./rowWindow.ts";
import { tablesTexts as texts } from "./texts.ts";

export type FileFormat = NonNullable<ExportRequestInput["format"]>;

/** Save all rows of a view as a file. Throws as `openStream`. */
export async function downloadRows(request: WindowRequest, format: FileFormat): Promise<void> {
  const { labels: _, ...view } = request;
  const response = await openStream("rows.export", { ...view, format });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = `${request.table}.${format}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Put rows into the clipboard with their whole values; those that the page has shortened are read again. Throws as `run`. */
export async function copyRows(table: DescribedTable, rows: readonly RowOfPage[], format: CopyFormat): Promise<void> {
  const whole = [];
  for (const row of rows) {
    if (row.shortened.length === 0) {
      whole.push(row.cells);
      continue;
    }
    const { values } = await run("rows.read", { schema: table.schema, table: table.name, key: row.key });
    whole.push(table.columns.map(({ name }) => values[name] ?? null));
  }
  await navigator.clipboard.writeText(copyOf(format, table, whole));
  toast.done(texts.copy.done(rows.length));
}
