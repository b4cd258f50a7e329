import type { ReactElement, RefObject } from "react";
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
        <Entries label={label} entries={entries} />
      </Popover>
    </MenuTrigger>
  );
}

/** An open menu at a button that is not part of it, for a menu that is loaded when its button is pressed. */
export function OpenMenu(
  { button, label, entries, onClose }: {
    button: RefObject<HTMLElement | null>;
    label: string;
    entries: readonly MenuEntry[];
    onClose: () => void;
  },
) {
  return (
    <Popover
      className="popover"
      offset={4}
      triggerRef={button}
      isOpen
      onOpenChange={(opens) => opens || onClose()}
    >
      <Entries label={label} entries={entries} onClose={onClose} />
    </Popover>
  );
}

function Entries(
  { label, entries, onClose }: { label: string; entries: readonly MenuEntry[]; onClose?: () => void },
) {
  return (
    <AriaMenu
      className="choices"
      aria-label={label}
      {...(onClose && { onClose, autoFocus: "first" as const })}
    >
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
  );
}
