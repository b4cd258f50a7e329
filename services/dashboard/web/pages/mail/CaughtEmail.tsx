import { useSearch } from "../../address.tsx";
import { dashboardUrl } from "../../api/address.ts";
import { useChange, useOperation } from "../../api/hooks.ts";
import { CodeBlock, CopyButton, ForeignHtml, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { Time } from "../../components/Time.tsx";
import type { CaughtEmailBody } from "../../generated/operations.ts";
import { mailTexts as texts } from "./texts.ts";

const mostLinks = 20;

/** One caught email beside the list: as its reader sees it (without scripts), as text, and its HTML. */
export function CaughtEmail({ id, mayDelete, onClose }: { id: string; mayDelete: boolean; onClose: () => void }) {
  const email = useOperation("mail.read_caught", { id });
  const remove = useChange("mail.delete_caught", {
    invalidates: ["mail.caught"],
    doneText: texts.deleted,
    onDone: onClose,
  });
  return (
    <Dialog
      title={email.data?.subject || texts.withoutSubject}
      isOpen
      size="side"
      onClose={onClose}
      footer={mayDelete && (
        <Button
          icon="trash"
          isPending={remove.isPending}
          onPress={() => remove.mutate({ ids: [id] })}
        >
          {texts.delete}
        </Button>
      )}
    >
      <QueryView query={email}>{(data) => <Parts email={data} />}</QueryView>
    </Dialog>
  );
}

function Parts({ email }: { email: CaughtEmailBody }) {
  const [search, changeSearch] = useSearch();
  const { html, text } = email;
  const links = linksOf(html);
  const tabs = [
    {
      id: "html",
      title: texts.tabs.html,
      content: html
        ? <ForeignHtml html={html} title={texts.body(email.subject)} src={`${dashboardUrl}frame`} />
        : <CodeBlock code={text} label={texts.tabs.text} />,
    },
    {
      id: "text",
      title: texts.tabs.text,
      content: text ? <CodeBlock code={text} label={texts.tabs.text} /> : <p className="soft">{texts.noBody}</p>,
    },
    {
      id: "source",
      title: texts.tabs.source,
      content: html ? <CodeBlock code={html} label={texts.tabs.source} /> : <p className="soft">{texts.noBody}</p>,
    },
  ];
  return (
    <>
      <KeyValue
        entries={[
          [texts.from, email.sent_from],
          [texts.to, email.sent_to.join(", ")],
          [texts.sent, <Time key="sent" value={email.sent_at} />],
        ]}
      />
      {links.length > 0 && (
        <section>
          <h3>{texts.links}</h3>
          <ul className="mail-links">
            {links.map((link) => (
              <li key={link} className="mail-link">
                <code>{link}</code> <CopyButton text={link} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <Tabs
        label={email.subject || texts.withoutSubject}
        tabs={tabs}
        selected={tabs.find(({ id }) => id === search["tab"])?.id ?? "html"}
        onSelect={(tab) => changeSearch({ tab: tab === "html" ? null : tab })}
      />
    </>
  );
}

/**
 * Return the addresses that an email links to, as text to copy: the frame that shows it opens none. They are read from the
 * source, because a parser of the browser would apply the policy of this page to the email and report its styles.
 */
function linksOf(html: string): readonly string[] {
  const links = [...html.matchAll(/\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)].map((match) =>
    (match[1] ?? match[2] ?? "").replaceAll("&#34;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&")
  );
  return [...new Set(links.filter((link) => /^https?:/i.test(link)))].slice(0, mostLinks);
}
