import { useState } from "react";
import { useChange, useMay } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Field } from "../../components/Field.tsx";
import { ErrorNote } from "../../components/states.tsx";
import type { SettingEntry, SettingsList } from "../../generated/operations.ts";
import { SourceBadge } from "../settings/settingValue.tsx";
import { OpenSetting, SettingRows } from "./SettingRows.tsx";
import { authTexts } from "./texts.ts";

const texts = authTexts.redirects;
const listKey = "auth.additional_redirect_urls";
const targets = { id: "target", keys: ["auth.site_url", "auth.redirect_url", "auth.external_url"] };

/** Where links and sign-ins may lead: the site, and a list of further addresses. */
export function Redirects({ data }: { data: SettingsList }) {
  const list = data.settings.find(({ key }) => key === listKey);
  return (
    <>
      <Card title={authTexts.groups["target"]} isFlush>
        <SettingRows data={data} group={targets} />
      </Card>
      {list && <RedirectList key={JSON.stringify(list.value)} entry={list} version={data.version} />}
      <OpenSetting data={data} />
    </>
  );
}

function RedirectList({ entry, version }: { entry: SettingEntry; version: number }) {
  const before = Array.isArray(entry.value) ? entry.value.map(String) : [];
  const [text, setText] = useState(before.join("\n"));
  const mayChangeSettings = useMay("settings.change");
  const options = { invalidates: ["settings."], showsError: true } as const;
  const change = useChange("settings.change", { ...options, doneText: texts.saved });
  const reset = useChange("settings.reset", { ...options, doneText: authTexts.wasReset(listKey) });
  const mayChange = mayChangeSettings && !entry.environment?.is_set;
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  const wrong = lines.find((line) => !/^[a-z][a-z\d+.-]*:/i.test(line) && !line.startsWith("*"));
  const isChanged = lines.join("\n") !== before.join("\n");
  return (
    <Card title={texts.list} actions={<SourceBadge source={entry.source} />}>
      <form
        className="auth-list"
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged && wrong === undefined) change.mutate({ version, values: { [listKey]: lines } });
        }}
      >
        <Field
          label={texts.field}
          value={text}
          onChange={setText}
          lines={Math.max(5, before.length + 2)}
          isCode
          isReadOnly={!mayChange}
          hint={texts.hint}
          error={wrong === undefined ? undefined : texts.needsAddress(wrong)}
        />
        <ErrorNote error={change.error ?? reset.error} />
        {mayChange && (
          <div className="auth-row-source">
            <Button
              type="submit"
              variant="primary"
              isDisabled={!isChanged || wrong !== undefined}
              isPending={change.isPending}
            >
              {texts.save}
            </Button>
            {entry.database?.is_set && (
              <Button
                isPending={reset.isPending}
                onPress={() => reset.mutate({ version, keys: [listKey] })}
              >
                {authTexts.reset}
              </Button>
            )}
            <span className="soft number">{texts.count(lines.length)}</span>
          </div>
        )}
      </form>
    </Card>
  );
}
