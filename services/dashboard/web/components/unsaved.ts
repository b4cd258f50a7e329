/** Forms whose input nobody saved: leaving them asks first. */

import { useEffect } from "react";
import { Value } from "../api/signals.ts";

/** How many forms have unsaved input. */
export const unsavedForms = new Value(0);

/** Have the shell ask before the administrator leaves, while a form has unsaved input. */
export function useUnsaved(isDirty: boolean): void {
  useEffect(() => {
    if (!isDirty) return;
    unsavedForms.set(unsavedForms.get() + 1);
    return () => unsavedForms.set(unsavedForms.get() - 1);
  }, [isDirty]);
}

let isChosen = false;

/** Note that the administrator chose the navigation that follows: a link, the palette, a key. One that follows a saved form does not ask. */
export function noteChosenNavigation(): void {
  isChosen = true;
  setTimeout(() => isChosen = false); // the router navigates in this turn, or not at all
}

/** Return whether the navigation that begins was chosen by the administrator. */
export function isChosenNavigation(): boolean {
  return isChosen;
}
