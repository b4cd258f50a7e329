import { Link, pathOf } from "../../address.tsx";
import { PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Menu } from "../../components/Menu.tsx";
import type { DescribedTable } from "../../generated/operations.ts";
import type { FileFormat } from "./download.ts";
import { historyTexts } from "./history/texts.ts";
import { TableBadges } from "./TableBadges.tsx";
import type { OpenDialog } from "./TableDialogs.tsx";
import { tablesTexts as texts } from "./texts.ts";

export function BackToTables({ schema }: { schema: string }) {
  return <Link to={pathOf("tables", schema)} className="tables-back">{texts.list.back}</Link>;
}

/** The head of a table's page: its name, and what can be done with all of its rows. */
export function TableHead({ table, mayInsert, mayImport, onOpen, onCode, onHistory, onExport }: {
  table: DescribedTable;
  mayInsert: boolean;
  mayImport: boolean;
  onOpen: (dialog: OpenDialog) => void;
  onCode: () => void;
  onHistory: () => void;
  onExport: (format: FileFormat) => void;
}) {
  return (
    <PageHeader
      title={table.name}
      info={
        <>
          <BackToTables schema={table.schema} />
          <TableBadges table={table} />
          <Link to={pathOf("schema", "tables", table.schema, table.name)}>{texts.head.schema}</Link>
        </>
      }
      actions={
        <>
          {mayInsert && (
            <Button variant="primary" icon="plus" onPress={() => onOpen({ kind: "insert" })}>
              {texts.head.insert}
            </Button>
          )}
          {mayImport && <Button icon="upload" onPress={() => onOpen({ kind: "import" })}>{texts.head.import}</Button>}
          <Menu
            label={texts.head.export}
            button={<Button icon="download">{texts.head.export}</Button>}
            entries={(["csv", "json", "ndjson"] as const).map((format) => ({
              id: format,
              label: texts.export.all(format.toUpperCase()),
              onAction: () => onExport(format),
            }))}
          />
          <Button icon="code" onPress={onCode}>{texts.head.code}</Button>
          {table.kind === "table" && table.key.length > 0 && (
            <Button icon="clock" onPress={onHistory}>{historyTexts.open}</Button>
          )}
        </>
      }
    />
  );
}
