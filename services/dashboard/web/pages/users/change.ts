import { useChange } from "../../api/hooks.ts";
import type { Arguments, OperationName } from "../../api/client.ts";
import { useListUpdates } from "./list.ts";

/** Return what changes one user; the row of the list and the detail are renewed afterwards. */
export function useUserChange<N extends OperationName>(
  name: N,
  id: string,
  options: { doneText?: string; showsError?: boolean; onDone?: (args: Arguments<N>) => void } = {},
) {
  const { renew } = useListUpdates();
  return useChange(name, {
    ...(options.doneText === undefined ? {} : { doneText: options.doneText }),
    showsError: options.showsError ?? false,
    onDone: (_, args) => {
      void renew(id);
      options.onDone?.(args);
    },
  });
}
