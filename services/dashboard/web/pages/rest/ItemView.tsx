import { useSearch } from "../../address.tsx";
import { gatewayUrl } from "../../api/address.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Select } from "../../components/Select.tsx";
import type { ClientAddresses } from "../../generated/operations.ts";
import type { RestColumn, RestItem } from "./openapi.ts";
import { codeOf, examplesOf, type Spelling } from "./requests.ts";
import { restTexts as texts } from "./texts.ts";
import { TryIt } from "./TryIt.tsx";

const spellings = (Object.keys(texts.spellings) as Spelling[]).map((id) => ({ id, label: texts.spellings[id] }));

/** A table or a function: its columns, requests to copy, and a form to try it. */
export function ItemView({ item, schema, addresses }: { item: RestItem; schema: string; addresses: ClientAddresses }) {
  const [search, changeSearch] = useSearch();
  const spelling = spellings.find(({ id }) => id === search["code"])?.id ?? "curl";
  const columns = item.kind === "table" ? item.columns : item.arguments;
  const examples = examplesOf(item, schema);
  return (
    <div className="rest-parts">
      {item.comment && <p className="rest-comment">{item.comment}</p>}
      <TryIt item={item} schema={schema} publishableKey={addresses.publishable_key} />
      <Card title={item.kind === "table" ? texts.columns : texts.arguments} isFlush>
        {columns.length === 0 ? <p className="soft rest-none">{texts.noArguments}</p> : (
          <DataTable
            label={item.kind === "table" ? texts.columns : texts.arguments}
            columns={columnsOfColumns}
            rows={columns}
            keyOf={({ name }) => name}
            height={`${Math.min(columns.length, 12) * 33 + 36}px`}
          />
        )}
      </Card>
      <Card
        title={texts.requests}
        actions={
          <Select
            label={texts.spelling}
            hidesLabel
            size="small"
            choices={spellings}
            value={spelling}
            onChange={(code) => changeSearch({ code: code === "curl" ? null : code })}
          />
        }
      >
        <div className="rest-examples">
          {examples.map((example) => (
            <section key={example.id}>
              <h3>{texts.examples[example.id]}</h3>
              <CodeBlock
                label={`${texts.spellings[spelling]}: ${texts.examples[example.id]}`}
                code={codeOf(example, spelling, gatewayUrl, addresses.publishable_key)}
              />
            </section>
          ))}
        </div>
      </Card>
    </div>
  );
}

const columnsOfColumns: readonly Column<RestColumn>[] = [
  { id: "name", title: texts.column.name, cell: ({ name }) => <code className="cut">{name}</code> },
  { id: "type", title: texts.column.type, cell: ({ type }) => <code className="cut">{type}</code> },
  {
    id: "notes",
    title: texts.column.notes,
    name: "Notes",
    width: "minmax(10rem, 2fr)",
    isMinor: true,
    cell: (column) => (
      <span className="rest-notes">
        {column.isKey && <Badge icon="key">{texts.column.key}</Badge>}
        {column.isRequired && !column.isKey && <Badge>{texts.column.required}</Badge>}
        {column.reference && <Badge tone="accent">{texts.column.reference(column.reference)}</Badge>}
        {column.preset !== null && <span className="soft cut">{texts.column.preset(column.preset)}</span>}
        {column.comment && <span className="soft cut">{column.comment}</span>}
      </span>
    ),
  },
];
