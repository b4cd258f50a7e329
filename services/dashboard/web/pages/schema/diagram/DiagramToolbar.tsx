import { type RefObject, useState } from "react";
import { Toolbar } from "../../../components/basics.tsx";
import { Button } from "../../../components/Button.tsx";
import { Select } from "../../../components/Select.tsx";
import { CreateTable } from "../../tables/CreateTable.tsx";
import { useChangeFlow } from "../changeFlow.tsx";
import { schemaTexts } from "../texts.ts";
import { type Box, type Detail, levels } from "./boxes.ts";
import { DiagramSearch } from "./DiagramSearch.tsx";

const texts = schemaTexts.diagram;
export const details: readonly Detail[] = ["auto", ...levels];

/** Search, level of detail, and what concerns no single table. */
export function DiagramToolbar({ schema, boxes, detail, input, onFind, onDetail, onArrange }: {
  schema: string;
  boxes: readonly Box[];
  detail: Detail;
  /** The field of the search. */
  input: RefObject<HTMLInputElement | null>;
  onFind: (table: string, column: string | null) => void;
  onDetail: (detail: Detail) => void;
  /** Forgets where tables were moved; null if none was. */
  onArrange: (() => void) | null;
}) {
  const { mayChange } = useChangeFlow();
  const [isCreating, setCreating] = useState(false);
  return (
    <Toolbar label={texts.tools}>
      <DiagramSearch boxes={boxes} input={input} onFind={onFind} />
      <Select
        label={texts.detail}
        hidesLabel
        choices={details.map((id) => ({ id, label: texts.details[id] }))}
        value={detail}
        onChange={onDetail}
      />
      {onArrange && <Button icon="restore" onPress={onArrange}>{texts.arrange}</Button>}
      {mayChange && <Button icon="plus" onPress={() => setCreating(true)}>{schemaTexts.tables.create}</Button>}
      {isCreating && (
        <CreateTable
          schema={schema}
          onClose={() => setCreating(false)}
          onCreated={(table) => onFind(table, null)}
        />
      )}
    </Toolbar>
  );
}
