import { useState } from "react";
import { useChange, useMay } from "../../../api/hooks.ts";
import { Button } from "../../../components/Button.tsx";
import { Dialog } from "../../../components/Dialog.tsx";
import { Checkbox, Field } from "../../../components/Field.tsx";
import { ErrorNote } from "../../../components/states.tsx";
import { toast } from "../../../components/toasts.ts";
import type { DescribedTable, HistoryState } from "../../../generated/operations.ts";
import { texts as shellTexts } from "../../../texts.ts";
import { historyTexts as texts } from "./texts.ts";

const firstDays = 30;
const mostDays = 3_650;

/** Switches the history of a table on, changes its days, or switches it off. Nothing for those who may not. */
export function HistorySwitch({ table, days }: {
  table: DescribedTable;
  /** Of the history that is on now; null without one. */
  days: number | null;
}) {
  const [typed, setTyped] = useState(String(days ?? firstDays));
  const [isEnding, setEnding] = useState(false);
  const name = { schema: table.schema, table: table.name };
  const change = useChange("history.change", { invalidates: ["history."], showsError: true });
  const mayChange = useMay("history.change");
  if (!mayChange) return null;
  const wanted = /^\d+$/.test(typed.trim()) ? Number(typed) : 0;
  const isRight = wanted >= 1 && wanted <= mostDays;
  const report = (state: HistoryState, text: string) => state.is_waiting ? toast.info(texts.waiting) : toast.done(text);
  const save = () =>
    change.mutate({ ...name, days: wanted }, {
      onSuccess: (state) => report(state, texts.switchedOn(table.name, wanted)),
    });
  return (
    <div className="tables-history-switch">
      <Field
        label={texts.days}
        value={typed}
        onChange={setTyped}
        inputMode="numeric"
        hint={days === null ? texts.costs : texts.daysHint}
        error={isRight ? undefined : texts.daysWrong}
      />
      <div className="tables-history-actions">
        <Button
          variant={days === null ? "primary" : "plain"}
          isDisabled={!isRight || wanted === days}
          isPending={change.isPending}
          onPress={save}
        >
          {days === null ? texts.switchOn : texts.change}
        </Button>
        {days !== null && <Button onPress={() => setEnding(true)}>{texts.switchOff}</Button>}
      </div>
      {!isEnding && <ErrorNote error={change.error} />}
      {isEnding && (
        <EndDialog
          error={change.error}
          isPending={change.isPending}
          onClose={() => setEnding(false)}
          onEnd={(forgets) =>
            change.mutate({ ...name, days: null, forgets }, {
              onSuccess: (state) => {
                report(state, texts.switchedOff(table.name));
                setEnding(false);
              },
            })}
        />
      )}
    </div>
  );
}

function EndDialog({ onEnd, onClose, error, isPending }: {
  onEnd: (forgets: boolean) => void;
  onClose: () => void;
  error: unknown;
  isPending: boolean;
}) {
  const [forgets, setForgets] = useState(false);
  return (
    <Dialog
      title={texts.offTitle}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => onEnd(forgets)}
      error={error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="danger" isPending={isPending}>{texts.switchOff}</Button>
        </>
      }
    >
      <p>{texts.offText}</p>
      <Checkbox isSelected={forgets} onChange={setForgets}>{texts.forgets}</Checkbox>
    </Dialog>
  );
}
