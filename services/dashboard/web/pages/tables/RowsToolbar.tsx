import { Toolbar } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { Switch } from "../../components/Field.tsx";
import { Icon } from "../../components/Icon.tsx";
import type { TableColumn } from "../../generated/operations.ts";
import { FilterBar } from "./FilterBar.tsx";
import { tablesTexts as texts } from "./texts.ts";
import { ViewAs } from "./ViewAs.tsx";
import type { useViewState } from "./viewState.ts";

/** What chooses the rows of a table: filters, sorts, the caller, whether they follow changes. */
export function RowsToolbar({ columns, view, hidden, isLive, isReading, onColumns, onViews, onRefresh }: {
  columns: readonly TableColumn[];
  view: ReturnType<typeof useViewState>;
  /** How many columns are not shown. */
  hidden: number;
  isLive: boolean;
  isReading: boolean;
  onColumns: () => void;
  onViews: () => void;
  onRefresh: () => void;
}) {
  return (
    <Toolbar label={texts.filters.label}>
      <FilterBar columns={columns} state={view.state} onFilters={view.setFilters} onSorts={view.setSorts} />
      <Button size="small" variant="quiet" icon="columns" onPress={onColumns}>
        {hidden > 0 ? texts.columns.hidden(hidden) : texts.columns.open}
      </Button>
      <Button size="small" variant="quiet" icon="layers" onPress={onViews}>{texts.views.open}</Button>
      <ViewAs caller={view.state.viewAs} onChange={view.setViewAs} />
      <span className="tables-toolbar-end">
        <Switch isSelected={isLive} onChange={(isOn) => view.changeSearch({ live: isOn ? "on" : null })}>
          {texts.filters.live}
        </Switch>
        <IconButton
          icon="refresh"
          size="small"
          label={texts.head.refresh}
          isPending={isReading}
          onPress={onRefresh}
        />
      </span>
    </Toolbar>
  );
}

/** Says as whom the rows are read. */
export function CallerBanner({ caller, onWhy, onLeave }: {
  caller: string;
  onWhy: () => void;
  onLeave: () => void;
}) {
  return (
    <div className="tables-banner" role="status">
      <Icon name="eye" />
      <span>{texts.view.banner(caller)} {texts.view.bannerHint}</span>
      <Button size="small" onPress={onWhy}>{texts.view.why}</Button>
      <Button size="small" variant="quiet" onPress={onLeave}>{texts.view.leave}</Button>
    </div>
  );
}
