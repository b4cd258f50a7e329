import { IconButton } from "../../components/Button.tsx";
import { type OpenText, titleOf } from "./openTexts.ts";
import { sqlTexts as texts } from "./texts.ts";

/** The open texts side by side; each can be closed. */
export function TextTabs({ open, current, onSelect, onClose, onAdd }: {
  open: readonly OpenText[];
  current: string;
  onSelect: (id: string) => void;
  onClose: (id: string) => void;
  onAdd: () => void;
}) {
  return (
    <nav className="sql-tabs" aria-label={texts.tabs}>
      <ul>
        {open.map((text) => (
          <li key={text.id} className={text.id === current ? "sql-tab sql-tab-current" : "sql-tab"}>
            <button
              type="button"
              aria-current={text.id === current ? "page" : undefined}
              onClick={() => onSelect(text.id)}
            >
              {titleOf(text)}
            </button>
            <IconButton
              icon="close"
              size="small"
              label={texts.closeTab(titleOf(text))}
              onPress={() => onClose(text.id)}
            />
          </li>
        ))}
      </ul>
      <IconButton icon="plus" size="small" label={texts.newTab} onPress={onAdd} />
    </nav>
  );
}
