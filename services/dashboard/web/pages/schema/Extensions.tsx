import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import type { ExtensionInfo } from "../../generated/operations.ts";
import { useChangeFlow } from "./changeFlow.tsx";
import { schemaTexts } from "./texts.ts";

const texts = schemaTexts.extensions;

/** Extensions of the server: which are installed, and what installs or removes one. */
export default function Extensions() {
  const [search, changeSearch] = useSearch();
  const { show, mayChange } = useChangeFlow();
  const extensions = useOperation("catalog.extensions", {});
  const part = (search["find"] ?? "").trim().toLowerCase();
  const columns: Column<ExtensionInfo>[] = [
    {
      id: "name",
      title: schemaTexts.tables.name,
      width: "minmax(8rem, 14rem)",
      cell: ({ name }) => <code className="cut">{name}</code>,
    },
    {
      id: "version",
      title: texts.version,
      width: "9rem",
      cell: ({ version, available_version: available }) =>
        version === null
          ? <span className="faint">{available}</span>
          : <Badge tone="good">{texts.installed} {version}</Badge>,
    },
    {
      id: "comment",
      title: texts.comment,
      isMinor: true,
      width: "minmax(8rem, 3fr)",
      cell: ({ comment }) => <span className="cut" title={comment ?? ""}>{comment}</span>,
    },
    ...(mayChange
      ? [{
        id: "actions",
        title: "",
        name: schemaTexts.more,
        width: "7rem",
        cell: ({ name, version }: ExtensionInfo) => (
          <Button
            size="small"
            variant="quiet"
            aria-label={version === null ? texts.install(name) : texts.remove(name)}
            onPress={() =>
              version === null
                ? show({
                  title: texts.install(name),
                  name: `install_${name.replace(/\W+/g, "_")}`,
                  changes: [{ change: "create_extension", name }],
                })
                : show({
                  title: texts.remove(name),
                  name: `remove_${name.replace(/\W+/g, "_")}`,
                  changes: [{ change: "drop_extension", name }],
                  typeName: name,
                })}
          >
            {version === null ? texts.install("").trim() : texts.remove("").trim()}
          </Button>
        ),
      }]
      : []),
  ];
  return (
    <Card
      title={schemaTexts.tabs.extensions}
      isFlush
      actions={
        <SearchField
          label={texts.search}
          value={search["find"] ?? ""}
          onChange={(find) => changeSearch({ find })}
        />
      }
    >
      <QueryView query={extensions}>
        {(all) => {
          const rows = all
            .filter(({ name, comment }) => `${name} ${comment ?? ""}`.toLowerCase().includes(part))
            .sort((a, b) => Number(b.version !== null) - Number(a.version !== null) || a.name.localeCompare(b.name));
          return rows.length === 0 ? <EmptyState icon="plug" title={texts.none} /> : (
            <DataTable
              label={schemaTexts.tabs.extensions}
              columns={columns}
              rows={rows}
              keyOf={({ name }) => name}
              height={`${Math.min(rows.length, 18) * 33 + 36}px`}
            />
          );
        }}
      </QueryView>
    </Card>
  );
}
