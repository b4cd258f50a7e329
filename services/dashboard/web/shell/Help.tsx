import { useValue } from "../api/hooks.ts";
import { CodeWords } from "../components/CodeWords.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { pageCommands } from "./commands.ts";
import { helpTexts } from "./helpTexts.ts";

const everywhere: readonly (readonly [string, string])[] = [
  ["Ctrl K", helpTexts.palette],
  ["?", helpTexts.keys],
  ["Esc", helpTexts.dialogs],
  ["↑ ↓ Home End", helpTexts.rows],
  ["Enter", helpTexts.open],
  ["Ctrl Enter", helpTexts.run],
];

/** The list of keys: those that work everywhere, and those of the page. */
export default function Help({ onClose }: { onClose: () => void }) {
  const here = useValue(pageCommands).filter((command) => command.keys);
  return (
    <Dialog title={helpTexts.title} isOpen onClose={onClose} size="small">
      <KeyList title={helpTexts.everywhere} keys={everywhere} />
      {here.length > 0 && (
        <KeyList title={helpTexts.here} keys={here.map((command) => [command.keys!, command.label])} />
      )}
      <p className="soft">
        <CodeWords text={helpTexts.docs} />
      </p>
    </Dialog>
  );
}

function KeyList({ title, keys }: { title: string; keys: readonly (readonly [string, string])[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl className="key-list">
        {keys.map(([key, label]) => (
          <div key={key}>
            <dt>
              <kbd className="keys">{key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
