import { useValue } from "../../api/hooks.ts";
import { Badge, Card, type Tone } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { formatBytes } from "../../format.ts";
import { storageTexts } from "./texts.ts";
import { clearEnded, retry, stop, type UploadEntry, uploads } from "./uploads.ts";

const texts = storageTexts.uploads;
const tones: { [state in UploadEntry["state"]]: Tone } = {
  waiting: "neutral",
  running: "accent",
  done: "good",
  failed: "bad",
  stopped: "warn",
};

/** The uploads of this window with their progress; nothing if there are none. */
export function UploadList({ onDone }: { onDone: () => void }) {
  const entries = useValue(uploads);
  if (entries.length === 0) return null;
  return (
    <Card
      title={texts.title}
      isFlush
      actions={<Button size="small" variant="quiet" onPress={clearEnded}>{texts.clear}</Button>}
    >
      <ul className="storage-uploads">
        {entries.map((entry) => <UploadRow key={entry.id} entry={entry} onDone={onDone} />)}
      </ul>
    </Card>
  );
}

function UploadRow({ entry, onDone }: { entry: UploadEntry; onDone: () => void }) {
  const { name, file, sent, state } = entry;
  const path = `${entry.bucket}/${name}`;
  return (
    <li className="storage-upload">
      <div className="cut">
        {path} <span className="hint number">{formatBytes(file.size)}</span>
        {entry.error && <div className="field-error" role="alert">{entry.error}</div>}
      </div>
      <progress
        max={Math.max(1, file.size)}
        value={state === "done" ? Math.max(1, file.size) : sent}
        aria-label={texts.progress(path)}
      />
      <div className="storage-upload-end">
        {state === "running"
          ? <IconButton icon="stop" size="small" label={texts.stop(path)} onPress={() => stop(entry, onDone)} />
          : <Badge tone={tones[state]}>{texts[state]}</Badge>}
        {(state === "failed" || state === "stopped") && (
          <Button
            size="small"
            aria-label={entry.isTaken ? texts.replace(path) : texts.retry(path)}
            onPress={() => retry(entry, entry.isTaken, onDone)}
          >
            {entry.isTaken ? texts.replaceShort : texts.retryShort}
          </Button>
        )}
      </div>
    </li>
  );
}
