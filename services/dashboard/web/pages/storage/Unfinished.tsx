import { useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes } from "../../format.ts";
import type { UploadInProgress } from "../../generated/operations.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.unfinished;

/** Uploads that have begun and not ended; nothing if there are none. */
export function Unfinished() {
  const { data } = useOperation("storage.uploads", {});
  if (!data || data.rows.length === 0) return null;
  return (
    <Card title={texts.title} isFlush>
      <DataTable label={texts.title} columns={columns} rows={data.rows} keyOf={({ id }) => id} height="auto" />
    </Card>
  );
}

const columns: readonly Column<UploadInProgress>[] = [
  {
    id: "name",
    title: texts.name,
    cell: ({ bucket, name }) => <span className="cut">{bucket}/{name}</span>,
    width: "minmax(8rem, 2fr)",
  },
  { id: "protocol", title: texts.protocol, cell: ({ protocol }) => <Badge>{protocol}</Badge>, width: "7rem" },
  {
    id: "stored",
    title: texts.stored,
    cell: ({ bytes_stored, bytes_announced }) => (
      <span className="number">
        {formatBytes(bytes_stored)}
        {bytes_announced !== null && ` / ${formatBytes(bytes_announced)}`}
      </span>
    ),
    width: "9rem",
  },
  {
    id: "started",
    title: texts.started,
    cell: ({ created_at }) => <Time value={created_at} />,
    width: "8rem",
    isMinor: true,
  },
];
