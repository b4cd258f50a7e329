import { useState } from "react";

/** Run a step of signing in: whether it runs, and the error that it ended with. */
export function useAttempt() {
  const [state, setState] = useState<{ isRunning: boolean; error: unknown }>({ isRunning: false, error: null });
  const run = async (step: () => Promise<void>) => {
    setState({ isRunning: true, error: null });
    try {
      await step();
      setState({ isRunning: false, error: null });
    } catch (error) {
      setState({ isRunning: false, error });
    }
  };
  return { ...state, run };
}
