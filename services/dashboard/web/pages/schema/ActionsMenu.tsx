import { IconButton } from "../../components/Button.tsx";
import { Menu, type MenuEntry } from "../../components/Menu.tsx";
import { useChangeFlow } from "./changeFlow.tsx";
import { schemaTexts as texts } from "./texts.ts";

/** What can be done with an object; nothing for who may not change the schema. */
export function ActionsMenu({ name, entries }: { name: string; entries: readonly MenuEntry[] }) {
  const { mayChange } = useChangeFlow();
  if (!mayChange || entries.length === 0) return null;
  return (
    <Menu
      label={texts.actions(name)}
      button={<IconButton icon="more" size="small" label={texts.actions(name)} />}
      entries={entries}
    />
  );
}
