import { Link, pathOf } from "../../../address.tsx";
import { Button, IconButton } from "../../../components/Button.tsx";
import { useChangeFlow } from "../changeFlow.tsx";
import * as forms from "../forms.ts";
import { schemaTexts } from "../texts.ts";
import type { Box } from "./boxes.ts";

const texts = schemaTexts.diagram;

/** What can be done with the selected table. It stands before the drawing, so that Tab leads from the search to it. */
export function SelectedTable({ schema, box, onClose }: { schema: string; box: Box; onClose: () => void }) {
  const { ask, mayChange } = useChangeFlow();
  const place = { schema, name: box.name };
  return (
    <div className="schema-selected" role="group" aria-label={texts.selected(box.name)}>
      <strong className="cut">{box.name}</strong>
      <Link to={pathOf("schema", "tables", schema, box.name)}>{texts.openTable}</Link>
      {mayChange && box.isTable && (
        <>
          <Button size="small" icon="plus" onPress={() => ask(forms.addColumn(place))}>{texts.addColumn}</Button>
          <Button size="small" icon="key" onPress={() => ask(forms.addForeignKey(place))}>{texts.addForeign}</Button>
        </>
      )}
      <IconButton icon="close" size="small" label={texts.deselect} onPress={onClose} />
    </div>
  );
}
