import type { ReactNode } from "react";
import { Button } from "../../components/Button.tsx";
import { Menu } from "../../components/Menu.tsx";
import { formatNumber } from "../../format.ts";
import { type CopyFormat, copyFormats } from "./copyAs.ts";
import { tablesTexts as texts } from "./texts.ts";

/** The foot of the grid: how many rows there are, or what can be done with those that are selected. */
export function RowsFoot(
  { chosen, count, isLoadingMore, hasKey, isPaged, onEdit, onDelete, onCopy, onDeselect, onGo }: {
    chosen: number;
    count: ReactNode;
    isLoadingMore: boolean;
    hasKey: boolean;
    isPaged: boolean;
    onEdit: (() => void) | null;
    onDelete: (() => void) | null;
    onCopy: (format: CopyFormat) => void;
    onDeselect: () => void;
    onGo: (isAtEnd: boolean) => void;
  },
) {
  return (
    <footer className="tables-foot">
      {chosen > 0
        ? (
          <>
            <span role="status">{texts.grid.selected(formatNumber(chosen))}</span>
            {onEdit && <Button size="small" icon="edit" onPress={onEdit}>{texts.bulk.edit(chosen)}</Button>}
            {onDelete && (
              <Button size="small" icon="trash" onPress={onDelete}>
                {texts.delete.action(chosen)}
              </Button>
            )}
            <Menu
              label={texts.copy.label}
              button={<Button size="small" icon="copy">{texts.delete.copy}</Button>}
              entries={copyFormats.map((format) => ({
                id: format,
                label: texts.copy.formats[format] ?? format,
                onAction: () => onCopy(format),
              }))}
            />
            <Button size="small" variant="quiet" onPress={onDeselect}>
              {texts.grid.deselect}
            </Button>
          </>
        )
        : count}
      {isLoadingMore && <span className="soft">{texts.grid.loadingMore}…</span>}
      <span className="tables-foot-end">
        {!hasKey && <span className="soft">{texts.head.noKey}</span>}
        {hasKey && isPaged && (
          <>
            <Button size="small" variant="quiet" onPress={() => onGo(false)}>
              {texts.grid.first}
            </Button>
            <Button size="small" variant="quiet" onPress={() => onGo(true)}>
              {texts.grid.last}
            </Button>
          </>
        )}
      </span>
    </footer>
  );
}
