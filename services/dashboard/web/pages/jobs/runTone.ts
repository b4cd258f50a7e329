/** Return how the status of a run is marked. */
export function toneOf(status: string | null): "good" | "bad" | "neutral" {
  return status === "succeeded" ? "good" : status === "failed" ? "bad" : "neutral";
}
