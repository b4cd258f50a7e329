import { IconButton } from "../../components/Button.tsx";
import type { Column } from "../../components/DataTable.tsx";
import { Icon } from "../../components/Icon.tsx";
import { Menu } from "../../components/Menu.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes } from "../../format.ts";
import type { FolderRow } from "./lists.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.objects;

interface ObjectActions {
  folder: string;
  mayChange: boolean;
  onMove: (name: string, isCopy: boolean) => void;
  onDelete: (name: string) => void;
}

/** Return the columns of a folder, with a menu in each row for those who may change it. */
export function useObjectColumns({ folder, mayChange, onMove, onDelete }: ObjectActions): readonly Column<FolderRow>[] {
  const name: Column<FolderRow> = {
    id: "name",
    title: texts.name,
    cell: (row) => (
      <span className="storage-name">
        <Icon name={row.object ? "file" : "folder"} />
        <span className="cut">{row.name.slice(folder.length)}</span>
      </span>
    ),
    width: "minmax(9rem, 3fr)",
  };
  const menu: Column<FolderRow> = {
    id: "menu",
    title: "",
    name: texts.rename,
    cell: (row) => (
      <Menu
        label={row.name}
        button={<IconButton icon="more" size="small" label={texts.actions(row.name)} />}
        entries={[
          { id: "move", label: texts.rename, icon: "edit", onAction: () => onMove(row.name, false) },
          ...(row.object
            ? [{ id: "copy", label: texts.copy, icon: "copy" as const, onAction: () => onMove(row.name, true) }]
            : []),
          { id: "delete", label: texts.delete, icon: "trash", isDanger: true, onAction: () => onDelete(row.name) },
        ]}
      />
    ),
    width: "3rem",
  };
  return mayChange ? [name, ...columns, menu] : [name, ...columns];
}

const columns: readonly Column<FolderRow>[] = [
  {
    id: "size",
    title: texts.size,
    cell: ({ object }) => <span className="number">{object?.bytes == null ? "" : formatBytes(object.bytes)}</span>,
    width: "6rem",
    align: "end",
  },
  {
    id: "type",
    title: texts.type,
    cell: ({ object }) => <span className="cut soft">{object ? object.mime_type : texts.folder}</span>,
    width: "minmax(8rem, 1fr)",
    isMinor: true,
  },
  {
    id: "updated",
    title: texts.updated,
    cell: ({ object }) => object && <Time value={object.updated_at} />,
    width: "8rem",
    isMinor: true,
  },
];
