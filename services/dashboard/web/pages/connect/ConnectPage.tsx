import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useChange, useMe, useOperation } from "../../api/hooks.ts";
import { Card, KeyValue, PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Checkbox } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, ErrorNote, Note, QueryView } from "../../components/states.tsx";
import type { ConnectionRequestInput, Right } from "../../generated/operations.ts";
import { rightChoices } from "../settings/Administrators.tsx";
import { connectTexts as texts } from "./texts.ts";
import "./connect.css";

const order = ["reader", "developer", "owner"];

/** The question whether a program is let in by OAuth. The address is the request of the program; the platform checks it again. */
export default function ConnectPage() {
  const [search] = useSearch();
  const request = requestOf(search);
  const me = useMe();
  const [rights, setRights] = useState<Right>("reader");
  const [mayWrite, setMayWrite] = useState(false);
  const [isDone, setDone] = useState(false);
  const shown = useOperation("connections.describe", request, { isEnabled: request.client_id !== "" });
  const options = {
    showsError: true,
    onDone: ({ redirect_to }: { redirect_to: string }) => {
      setDone(true);
      location.assign(redirect_to);
    },
  };
  const allow = useChange("connections.allow", options);
  const deny = useChange("connections.deny", options);
  if (isDone) {
    return (
      <>
        <PageHeader title={texts.title} />
        <EmptyState icon="key" title={texts.done}>{texts.doneText}</EmptyState>
      </>
    );
  }
  if (request.client_id === "") {
    return (
      <>
        <PageHeader title={texts.title} />
        <EmptyState icon="key" title={texts.incomplete} />
      </>
    );
  }
  return (
    <>
      <PageHeader title={texts.title} />
      <QueryView query={shown}>
        {({ client, site, target, is_on_this_machine }) => (
          <Card>
            <div className="connect-form">
              <p>{texts.lead(client)}</p>
              <Note kind="warn">{site === "" ? texts.unproven : texts.provenSite(site)}</Note>
              <KeyValue
                entries={[
                  [texts.client, client],
                  ...(site === "" ? [] : [[texts.site, site] as const]),
                  [texts.target, is_on_this_machine ? `${texts.onThisMachine} (${target})` : target],
                ]}
              />
              <Select
                label={texts.rights}
                choices={rightChoices.filter(({ id }) => order.indexOf(id) <= order.indexOf(me.rights))}
                value={rights}
                onChange={setRights}
              />
              <Checkbox isSelected={mayWrite} onChange={setMayWrite}>{texts.writes}</Checkbox>
              <p className="soft">{texts.writesHint}</p>
              <ErrorNote error={allow.error ?? deny.error} />
              <div className="connect-actions">
                <Button onPress={() => deny.mutate(request)} isPending={deny.isPending}>{texts.deny}</Button>
                <Button
                  variant="primary"
                  isPending={allow.isPending}
                  onPress={() => allow.mutate({ request, rights, may_write: mayWrite })}
                >
                  {texts.allow}
                </Button>
              </div>
            </div>
          </Card>
        )}
      </QueryView>
    </>
  );
}

function requestOf(search: { readonly [name: string]: string }): ConnectionRequestInput {
  const value = (name: string) => search[name] ?? "";
  return {
    client_id: value("client_id"),
    redirect_uri: value("redirect_uri"),
    code_challenge: value("code_challenge"),
    response_type: value("response_type"),
    code_challenge_method: value("code_challenge_method"),
    state: value("state"),
    resource: value("resource"),
  };
}
