import type { ReactElement } from "react";
import { Menu as AriaMenu, MenuItem, MenuTrigger } from "react-aria-components/Menu";
import { Popover } from "react-aria-components/Popover";
import { Keyboard } from "react-aria-components/Keyboard";
import { Text } from "react-aria-components/Text";
import { Icon, type IconName } from "./Icon.tsx";

export interface MenuEntry {
  id: string;
  label: string;
  icon?: IconName;
  keys?: string;
  isDanger?: boolean;
  isDisabled?: boolean;
  onAction: () => void;
}

/** A menu that opens at a button: `<Menu button={<IconButton …/>} label="…" entries={[…]} />`. */
export function Menu(
  { button, label, entries }: { button: ReactElement; label: string; entries: readonly MenuEntry[] },
) {
  return (
    <MenuTrigger>
      {button}
      <Popover className="popover" offset={4}>
        <AriaMenu className="choices" aria-label={label}>
          {entries.map((entry) => (
            <MenuItem
              key={entry.id}
              id={entry.id}
              textValue={entry.label}
              className={`choice${entry.isDanger ? " choice-danger" : ""}`}
              isDisabled={entry.isDisabled ?? false}
              onAction={entry.onAction}
            >
              {entry.icon && <Icon name={entry.icon} />}
              <Text slot="label">{entry.label}</Text>
              {entry.keys && <Keyboard className="keys">{entry.keys}</Keyboard>}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}
