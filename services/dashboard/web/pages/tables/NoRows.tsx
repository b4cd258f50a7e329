import { Link } from "../../address.tsx";
import { Button } from "../../components/Button.tsx";
import { EmptyState } from "../../components/states.tsx";
import type { ViewAsInput } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";
import { useCallerName } from "./viewState.ts";

/** A grid without rows: why, and the next step. */
export function NoRows({ policies, caller, isFiltered, onWhy, onClear, onInsert }: {
  /** The path of the table's policies. */
  policies: string;
  caller: ViewAsInput | null;
  isFiltered: boolean;
  onWhy: () => void;
  onClear: () => void;
  onInsert: (() => void) | null;
}) {
  const name = useCallerName(caller);
  const title = caller ? texts.grid.emptyAs(name) : isFiltered ? texts.grid.emptyFiltered : texts.grid.empty;
  const action = caller
    ? (
      <>
        <Button onPress={onWhy}>{texts.view.why}</Button>
        <Link to={policies} className="button button-plain">{texts.view.policies}</Link>
      </>
    )
    : isFiltered
    ? <Button onPress={onClear}>{texts.grid.clearFilters}</Button>
    : onInsert && <Button icon="plus" onPress={onInsert}>{texts.head.insert}</Button>;
  return (
    <div className="tables-none">
      <EmptyState icon="table" title={title} action={action} />
    </div>
  );
}
