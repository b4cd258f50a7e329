import { useOperation } from "../../api/hooks.ts";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Item, Part } from "./relationParts.tsx";
import { schemaTexts } from "./texts.ts";

const texts = schemaTexts.publications;

/** Publications of the database: what they publish, and of which tables. */
export default function Publications() {
  const publications = useOperation("catalog.publications", {});
  return (
    <QueryView
      query={publications}
      isEmpty={(rows) => rows.length === 0}
      empty={<EmptyState icon="radio" title={texts.none} />}
    >
      {(rows) => (
        <Part title={schemaTexts.tabs.publications}>
          {rows.map((publication) => (
            <Item
              key={publication.name}
              name={publication.name}
              code={publication.all_tables ? texts.all : publication.tables.join(", ") || texts.noTables}
              marks={<span className="soft">{publication.operations.join(", ")}</span>}
              comment={null}
              entries={[]}
            />
          ))}
        </Part>
      )}
    </QueryView>
  );
}
