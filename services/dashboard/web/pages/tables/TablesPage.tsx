/** Tables: the rows of any table or view, to read and to change, as an administrator or as a caller sees them. */

import { useState } from "react";
import { useSubpath } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { NoSchema, useIsUnknownSchema } from "../../components/SchemaChooser.tsx";
import { EmptyState } from "../../components/states.tsx";
import { CreateTable } from "./CreateTable.tsx";
import { TableList } from "./TableList.tsx";
import { TableView } from "./TableView.tsx";
import { tablesTexts as texts } from "./texts.ts";
import "./tables.css";

export default function TablesPage() {
  const [schema = "public", table] = useSubpath();
  const [isCreating, setCreating] = useState(false);
  const mayCreate = useMay("schema.apply");
  const tables = useOperation("catalog.tables", { schema });
  const isUnknown = useIsUnknownSchema(schema);
  const create = mayCreate && !isUnknown && (
    <Button
      icon="plus"
      variant={tables.data?.length === 0 ? "primary" : "plain"}
      onPress={() => setCreating(true)}
    >
      {texts.head.createTable}
    </Button>
  );
  return (
    <div className={`fill tables${table === undefined ? "" : " tables-open"}`}>
      <TableList schema={schema} table={table} onCreate={mayCreate && !isUnknown ? () => setCreating(true) : null} />
      <div className="tables-main">
        {table === undefined
          ? (
            <>
              <PageHeader title={texts.title} actions={tables.data?.length === 0 ? null : create} />
              {isUnknown
                ? <NoSchema name={schema} to="tables" />
                : tables.data?.length === 0
                ? (
                  <EmptyState icon="table" title={texts.list.empty} action={create}>
                    {mayCreate && texts.list.emptyHint}
                  </EmptyState>
                )
                : tables.data && <EmptyState icon="table" title={texts.list.choose}>{texts.list.chooseHint}
                </EmptyState>}
            </>
          )
          : <TableView key={`${schema}.${table}`} schema={schema} name={table} />}
      </div>
      {isCreating && <CreateTable schema={schema} onClose={() => setCreating(false)} />}
    </div>
  );
}
