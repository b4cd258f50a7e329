/** Values that survive a reload: kept in the browser, apart for each administrator, the same in all of its tabs. */

import { useCallback, useEffect, useRef, useState } from "react";
import { useMe } from "../api/hooks.ts";

/** Return a kept value, and what changes it. A value of null is forgotten. */
export function useKept<T>(name: string, empty: () => T): readonly [T, (change: (value: T) => T) => void] {
  const key = `headwater:${name}:${useMe().administrator_id}`;
  const [value, setValue] = useState<T>(() => read(localStorageText(key), empty));
  const latest = useRef(value);
  // Stored at once, not in an effect: what is chosen last may close the view that chose it.
  const change = useCallback((next: (value: T) => T) => {
    latest.current = next(latest.current);
    store(key, latest.current);
    setValue(latest.current);
  }, [key]);
  useEffect(() => {
    // Another tab changed it: without this, the next change here would write the older value over that one.
    const onStorage = (event: StorageEvent) => {
      if (event.key !== key) return;
      latest.current = read(event.newValue, empty);
      setValue(latest.current);
    };
    addEventListener("storage", onStorage);
    return () => removeEventListener("storage", onStorage);
  }, [key]);
  return [value, change];
}

function store(key: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The storage is full or refused: the value stays until the page is left.
  }
}

function localStorageText(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function read<T>(stored: string | null, empty: () => T): T {
  try {
    return stored === null ? empty() : JSON.parse(stored) as T;
  } catch {
    return empty();
  }
}
