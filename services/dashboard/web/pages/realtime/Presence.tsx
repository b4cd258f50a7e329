import { useState } from "react";
import { Card, JsonView } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { ErrorNote } from "../../components/states.tsx";
import type { Joined } from "./channel.ts";
import { realtimeTexts } from "./texts.ts";

const texts = realtimeTexts.presence;

/** Who is present in the channel; the dashboard itself can be. */
export function Presence({ present, onTrack, onUntrack }: {
  present: Joined["present"];
  onTrack: () => Promise<string>;
  onUntrack: () => void;
}) {
  const count = Object.keys(present).length;
  const [error, setError] = useState<Error | null>(null);
  const track = async () => {
    const answer = await onTrack();
    setError(answer === "ok" ? null : new Error(texts.refused(answer)));
  };
  return (
    <Card
      title={texts.title}
      actions={
        <>
          <Button size="small" onPress={() => void track()}>{texts.track}</Button>
          <Button size="small" onPress={onUntrack}>{texts.untrack}</Button>
        </>
      }
    >
      <ErrorNote error={error} />
      <p role="status">{count === 0 ? texts.none : texts.keys(count)}</p>
      {count > 0 && <JsonView value={present} label={texts.title} depth={2} />}
    </Card>
  );
}
