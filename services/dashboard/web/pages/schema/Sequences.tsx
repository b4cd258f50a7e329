import { useOperation } from "../../api/hooks.ts";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { formatNumber } from "../../format.ts";
import { useChangeFlow } from "./changeFlow.tsx";
import { comment, rename } from "./forms.ts";
import { Item, Part } from "./relationParts.tsx";
import type { PartProps } from "./SchemaPage.tsx";
import { schemaTexts } from "./texts.ts";

const texts = schemaTexts.sequences;

/** Sequences of a schema, and how far they are. */
export default function Sequences({ schema }: PartProps) {
  const { ask } = useChangeFlow();
  const sequences = useOperation("catalog.sequences", { schemas: [schema] });
  return (
    <QueryView
      query={sequences}
      isEmpty={(rows) => rows.length === 0}
      empty={<EmptyState icon="list" title={texts.none} />}
    >
      {(rows) => (
        <Part title={schemaTexts.tabs.sequences}>
          {rows.map(({ name, type, last_value: last, owned_by: owner, comment: present }) => (
            <Item
              key={name}
              name={name}
              code={type}
              marks={
                <span className="soft">
                  {texts.next}: {last === null ? "–" : formatNumber(last)}
                  {owner && ` · ${texts.owner} ${owner}`}
                </span>
              }
              comment={present}
              entries={[
                {
                  id: "rename",
                  label: schemaTexts.verbs.rename,
                  onAction: () =>
                    ask(rename(name, (to) => ({ change: "rename_object", on: "sequence", schema, name, to }))),
                },
                {
                  id: "comment",
                  label: schemaTexts.verbs.comment,
                  onAction: () =>
                    ask(
                      comment(
                        name,
                        present,
                        (text) => ({ change: "set_comment", on: "sequence", schema, name, comment: text }),
                      ),
                    ),
                },
              ]}
            />
          ))}
        </Part>
      )}
    </QueryView>
  );
}
