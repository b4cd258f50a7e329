import { useState } from "react";
import { Button, IconButton } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { texts as shellTexts } from "../../texts.ts";
import type { ColumnsView } from "./columnsView.ts";
import { tablesTexts as texts } from "./texts.ts";

/** Chooses which columns are shown, in which order, and which stay at the left. */
export default function ColumnsDialog({ view, onClose }: { view: ColumnsView; onClose: () => void }) {
  const { model } = view;
  const leaves = [...model.getLeftLeafColumns(), ...model.getCenterLeafColumns()];
  const move = (from: number, to: number) => {
    const names = leaves.map(({ id }) => id);
    names.splice(to, 0, ...names.splice(from, 1));
    const isPinned = new Set(model.getLeftLeafColumns().map(({ id }) => id));
    model.setColumnOrder(names);
    model.setColumnPinning({ left: names.filter((name) => isPinned.has(name)) });
  };
  const pinned = model.getLeftLeafColumns().length;
  return (
    <Dialog
      title={texts.columns.title}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button
            icon="restore"
            onPress={() => {
              view.reset();
              onClose();
            }}
          >
            {texts.columns.reset}
          </Button>
          <Button variant="primary" onPress={onClose}>{shellTexts.actions.close}</Button>
        </>
      }
    >
      <p className="soft">{texts.columns.text}</p>
      <ul className="tables-columns">
        {leaves.map((leaf, index) => (
          <li key={leaf.id}>
            <Checkbox
              isSelected={leaf.getIsVisible()}
              // A grid without columns has nothing to be looked at, nor to be opened.
              isDisabled={leaf.getIsVisible() && view.columns.length === 1}
              onChange={(isOn) => leaf.toggleVisibility(isOn)}
            >
              {leaf.id}
            </Checkbox>
            <span className="tables-columns-actions">
              <WidthField
                label={texts.columns.width(leaf.id)}
                width={leaf.getSize()}
                onChange={(width) => model.setColumnSizing((sizes) => ({ ...sizes, [leaf.id]: width }))}
              />
              <Checkbox
                label={texts.columns.pin(leaf.id)}
                isSelected={leaf.getIsPinned() === "left"}
                onChange={(isOn) => leaf.pin(isOn ? "left" : false)}
              >
                {texts.columns.pinned}
              </Checkbox>
              <IconButton
                icon="arrowUp"
                size="small"
                label={texts.columns.up(leaf.id)}
                isDisabled={index === 0 || index === pinned}
                onPress={() => move(index, index - 1)}
              />
              <IconButton
                icon="arrowDown"
                size="small"
                label={texts.columns.down(leaf.id)}
                isDisabled={index === leaves.length - 1 || index === pinned - 1}
                onPress={() => move(index, index + 1)}
              />
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** The typed width, which need not be one yet: what is typed stays until the dialog is closed. */
function WidthField({ label, width, onChange }: { label: string; width: number; onChange: (width: number) => void }) {
  const [typed, setTyped] = useState(String(width));
  return (
    <Field
      label={label}
      hidesLabel
      inputMode="numeric"
      value={typed}
      onChange={(text) => {
        setTyped(text);
        if (Number(text) > 0) onChange(Number(text));
      }}
    />
  );
}
