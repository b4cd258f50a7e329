import { useValue } from "../api/hooks.ts";
import { CodeWords } from "../components/CodeWords.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { texts } from "../texts.ts";
import { pageCommands } from "./commands.ts";

const everywhere: readonly (readonly [string, string])[] = [
  ["Ctrl K", texts.help.palette],
  ["?", texts.help.keys],
  ["Esc", texts.help.dialogs],
  ["↑ ↓ Home End", texts.help.rows],
  ["Enter", texts.help.open],
  ["Ctrl Enter", texts.help.run],
];

/** The list of keys: those that work everywhere, and those of the page. */
export function Help({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const here = useValue(pageCommands).filter((command) => command.keys);
  return (
    <Dialog title={texts.help.title} isOpen={isOpen} onClose={onClose} size="small">
      <KeyList title={texts.help.everywhere} keys={everywhere} />
      {here.length > 0 && (
        <KeyList title={texts.help.here} keys={here.map((command) => [command.keys!, command.label])} />
      )}
      <p className="soft">
        <CodeWords text={texts.help.docs} />
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
