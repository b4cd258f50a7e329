import { useOperation } from "../../api/hooks.ts";
import { Badge } from "../../components/basics.tsx";
import type { DescribedTable } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";

/** What clients without a token see, and whether policies decide it. */
export function TableBadges({ table }: { table: DescribedTable }) {
  const isTable = table.kind.endsWith("table") && table.kind !== "foreign table";
  const matrix = useOperation("policies.matrix", { schemas: [table.schema], roles: ["anon"] }, { isEnabled: isTable });
  const cell = matrix.data?.find((row) => row.table === table.name)?.select;
  return (
    <span className="tables-badges">
      {table.kind !== "table" && <Badge>{table.kind}</Badge>}
      {isTable && (table.has_row_security
        ? <Badge icon="lock">{texts.head.rowSecurity}</Badge>
        : <Badge tone="warn" icon="alert">{texts.head.noRowSecurity}</Badge>)}
      {cell?.verdict === "all_rows" && <Badge tone="warn" icon="globe">{texts.head.anonAll}</Badge>}
      {cell?.verdict === "policies" && <Badge tone="accent" icon="globe">{texts.head.anonSome}</Badge>}
      {(cell?.verdict === "no_rows" || cell?.verdict === "no_grant") && <Badge>{texts.head.anonNone}</Badge>}
    </span>
  );
}
