/** Asks before the administrator leaves a form with unsaved input: by a link, the palette, the browser's back, or reloading. */

import { type BlockerFn, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { useValue } from "../api/hooks.ts";
import { mayLeave } from "../components/question.ts";
import { isChosenNavigation, unsavedForms } from "../components/unsaved.ts";

export function useLeaveGuard(): void {
  const { history } = useRouter();
  const count = useValue(unsavedForms);
  const hasUnsaved = count > 0;
  useEffect(() => {
    if (!hasUnsaved) return;
    const asks: BlockerFn = async ({ action }) => {
      const isOfProgram = action === "PUSH" || action === "REPLACE";
      return isOfProgram && !isChosenNavigation() ? false : !await mayLeave();
    };
    return history.block({ blockerFn: asks, enableBeforeUnload: true });
  }, [history, hasUnsaved]);
}
