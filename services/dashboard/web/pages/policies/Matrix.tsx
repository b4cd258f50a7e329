import { useState } from "react";
import { Link, pathOf, useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Badge, PageHeader, Toolbar } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { ChangeDialog } from "../../components/ChangeDialog.tsx";
import { SearchField } from "../../components/Field.tsx";
import { NoSchema, SchemaChooser, useIsUnknownSchema } from "../../components/SchemaChooser.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import type { MatrixCell, MatrixRow } from "../../generated/operations.ts";
import { policyTexts as texts } from "./texts.ts";

const roles = ["anon", "authenticated"];
const commands = ["select", "insert", "update", "delete"] as const;

interface TableRow {
  table: string;
  isSecured: boolean;
  byRole: { readonly [role: string]: MatrixRow };
}

/** Return whether a client reaches rows of a table that no policy guards. */
function isExposed(row: TableRow): boolean {
  return !row.isSecured &&
    Object.values(row.byRole).some((cells) => commands.some((command) => cells[command].verdict === "all_rows"));
}

/** Table x role x command of a schema, with tables that are open to everybody named first. */
export function Matrix() {
  const [search, changeSearch] = useSearch();
  const schema = search["schema"] ?? "public";
  const find = search["find"] ?? "";
  const isUnknown = useIsUnknownSchema(schema);
  const tables = useOperation("policies.list", { schemas: [schema] });
  const matrix = useOperation("policies.matrix", { schemas: [schema], roles }, {
    isEnabled: tables.data !== undefined,
  });
  const [enabled, setEnabled] = useState<string | null>(null);
  const mayChange = useMay("schema.apply");
  return (
    <>
      <PageHeader title={texts.title}>{texts.lead}</PageHeader>
      <div className="policies-bar">
        <Toolbar label={texts.find}>
          <SchemaChooser
            value={schema}
            onChange={(name) => changeSearch({ schema: name === "public" ? null : name })}
          />
          <SearchField label={texts.find} value={find} onChange={(text) => changeSearch({ find: text })} />
        </Toolbar>
      </div>
      <QueryView
        query={matrix}
        isEmpty={(rows) => rows.length === 0}
        empty={isUnknown
          ? <NoSchema name={schema} to="policies" />
          : <EmptyState icon="policy" title={texts.none}>{texts.noneText}</EmptyState>}
      >
        {(cells) => {
          const rows = rowsOf(
            cells,
            new Set((tables.data ?? []).filter((one) => one.has_row_security).map((one) => one.table)),
          );
          const exposed = rows.filter(isExposed);
          const shown = rows.filter((row) => row.table.toLowerCase().includes(find.toLowerCase()));
          return (
            <>
              {exposed.length > 0 && <Note kind="warn">{texts.exposed(exposed.length)}</Note>}
              {shown.length === 0
                ? <EmptyState icon="search" title={texts.noMatch} />
                : (
                  <div className="policies-scroll" tabIndex={0} role="region" aria-label={texts.matrix}>
                    <MatrixTable schema={schema} rows={shown} {...(mayChange ? { onEnable: setEnabled } : {})} />
                  </div>
                )}
            </>
          );
        }}
      </QueryView>
      {enabled !== null && (
        <ChangeDialog
          title={texts.enable}
          name={texts.enableName(enabled)}
          changes={[{ change: "set_row_security", schema, table: enabled, enabled: true }]}
          onClose={() => setEnabled(null)}
        />
      )}
    </>
  );
}

function rowsOf(cells: readonly MatrixRow[], secured: ReadonlySet<string>): TableRow[] {
  const rows = new Map<string, { [role: string]: MatrixRow }>();
  for (const cell of cells) rows.set(cell.table, { ...rows.get(cell.table), [cell.role]: cell });
  const listed = [...rows].map(([table, byRole]) => ({ table, byRole, isSecured: secured.has(table) }));
  return listed.sort((a, b) => Number(isExposed(b)) - Number(isExposed(a)));
}

function MatrixTable({ schema, rows, onEnable }: {
  schema: string;
  rows: readonly TableRow[];
  onEnable?: (table: string) => void;
}) {
  return (
    <table className="policies-matrix">
      <thead>
        <tr>
          <th rowSpan={2} scope="col">{texts.table}</th>
          <th rowSpan={2} scope="col">{texts.security}</th>
          {roles.map((role) => <th key={role} colSpan={4} scope="colgroup" className="policies-role">{role}</th>)}
        </tr>
        <tr>
          {roles.flatMap((role) =>
            commands.map((command) => <th key={`${role} ${command}`} scope="col">{texts[command]}</th>)
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.table}>
            <th scope="row">
              <Link to={pathOf("policies", schema, row.table)}>{row.table}</Link>
            </th>
            <td>
              {row.isSecured ? <Badge tone="good" icon="lock">{texts.on}</Badge> : (
                <span className="policies-off">
                  <Badge tone={isExposed(row) ? "warn" : "neutral"} icon="alert">{texts.off}</Badge>
                  {onEnable && (
                    <Button
                      size="small"
                      aria-label={`${texts.turnOn}: ${row.table}`}
                      onPress={() => onEnable(row.table)}
                    >
                      {texts.turnOn}
                    </Button>
                  )}
                </span>
              )}
            </td>
            {roles.flatMap((role) =>
              commands.map((command) => (
                <td key={`${role} ${command}`}>
                  <Cell cell={row.byRole[role]?.[command]} isSecured={row.isSecured} />
                </td>
              ))
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell({ cell, isSecured }: { cell: MatrixCell | undefined; isSecured: boolean }) {
  if (!cell || cell.verdict === "no_grant") return <span className="faint">{texts.noGrant}</span>;
  if (cell.verdict === "no_rows") return <span className="faint">{texts.noRows}</span>;
  if (cell.verdict === "all_rows") return <Badge tone={isSecured ? "neutral" : "warn"}>{texts.allRows}</Badge>;
  const names = [...cell.permissive, ...cell.restrictive];
  return (
    <span title={names.join("\n")}>
      <Badge tone="accent">{texts.some(names.length)}</Badge>
    </span>
  );
}
