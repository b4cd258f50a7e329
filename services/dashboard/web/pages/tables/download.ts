import { openStream } from "../../api/client.ts";
import type { ExportRequestInput } from "../../generated/operations.ts";
import type { WindowRequest } from "./rowWindow.ts";

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
