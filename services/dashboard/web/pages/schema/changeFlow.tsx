import { createContext, type ReactNode, useContext, useState } from "react";
import { useMay } from "../../api/hooks.ts";
import { ChangeDialog } from "../../components/ChangeDialog.tsx";
import { ChangeFormDialog } from "./ChangeFormDialog.tsx";
import type { ChangeForm, PendingChange } from "./forms.ts";

interface ChangeFlow {
  /** Ask for what a change needs, then show its SQL. */
  ask: (form: ChangeForm) => void;
  /** Show the SQL of changes; `onDone` follows when they are applied. */
  show: (pending: PendingChange, onDone?: () => void) => void;
  /** Whether the administrator may change the schema at all. */
  mayChange: boolean;
}

const FlowContext = createContext<ChangeFlow>({ ask: () => undefined, show: () => undefined, mayChange: false });

/** Return what starts a change of the schema. */
export function useChangeFlow(): ChangeFlow {
  return useContext(FlowContext);
}

/** Gives its children `useChangeFlow`, and shows the dialogs of the change that was started. */
export function ChangeFlowProvider({ schema, children }: { schema: string; children: ReactNode }) {
  const mayChange = useMay("schema.apply");
  const [form, setForm] = useState<ChangeForm | null>(null);
  const [pending, setPending] = useState<PendingChange & { onDone?: () => void } | null>(null);
  const flow: ChangeFlow = {
    mayChange,
    ask: setForm,
    show: (next, onDone) => setPending({ ...next, ...(onDone ? { onDone } : {}) }),
  };
  return (
    <FlowContext value={flow}>
      {children}
      {form && (
        <ChangeFormDialog
          form={form}
          schema={schema}
          onClose={() => setForm(null)}
          onReady={setPending}
        />
      )}
      {pending && (
        <ChangeDialog
          {...pending}
          isOverForm={form !== null}
          onClose={() => setPending(null)}
          onDone={() => {
            setPending(null);
            setForm(null);
            pending.onDone?.();
          }}
        />
      )}
    </FlowContext>
  );
}
