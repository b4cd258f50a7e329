/** A value that follows another one after a pause, so that not every key that is typed is a request. */

import { useEffect, useState } from "react";

const pauseMs = 250;

/** Return the value as it was when it last did not change for a quarter of a second. */
export function useDelayed<T>(value: T): T {
  const [delayed, setDelayed] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return delayed;
}
