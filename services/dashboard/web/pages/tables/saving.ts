import { useState } from "react";
import { isStopped } from "../../api/errors.ts";

/** Run what saves a form, with its error beside the form. */
export function useSaving(save: () => Promise<void>) {
  const [error, setError] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const start = () => {
    setError(null);
    setPending(true);
    save().catch((reason: unknown) => isStopped(reason) || setError(reason)).finally(() => setPending(false));
  };
  return { start, error, isPending };
}
