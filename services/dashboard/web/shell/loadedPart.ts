/** Parts of the shell that are loaded after the first view: a while after it, or when they are opened. */

import { type ComponentType, useEffect, useState } from "react";
import { toast } from "../components/toasts.ts";

/** Until parts are loaded, unless they are opened before: the page itself comes first. */
const waitMs = 2_000;

/** Return a part once it is loaded. If it cannot be had when it is opened, that is said, and `onFailed` called. */
export function useLoadedPart<P extends ComponentType<never>>(
  load: () => Promise<{ default: P }>,
  isOpen: boolean,
  onFailed: () => void,
): P | null {
  const [part, setPart] = useState<{ Content: P } | null>(null);
  useEffect(() => {
    if (part) return;
    const start = () =>
      load().then(
        (module) => setPart({ Content: module.default }),
        (error) => {
          if (!isOpen) return;
          toast.error(error);
          onFailed();
        },
      );
    if (isOpen) return void start();
    const timer = setTimeout(() => void start(), waitMs);
    return () => clearTimeout(timer);
  }, [isOpen, part]);
  return part?.Content ?? null;
}
