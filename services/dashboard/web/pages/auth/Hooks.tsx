import { Badge, Card } from "../../components/basics.tsx";
import type { SettingsList } from "../../generated/operations.ts";
import { OpenSetting, SettingRows } from "./SettingRows.tsx";
import { authTexts } from "./texts.ts";

const texts = authTexts.hooks;
const prefix = "auth.hook.";

/** What auth calls: each hook with its address and secrets. */
export function Hooks({ data }: { data: SettingsList }) {
  const names = [
    ...new Set(
      data.settings.filter(({ key }) => key.startsWith(prefix)).map(({ key }) =>
        key.slice(prefix.length).split(".")[0]!
      ),
    ),
  ];
  const isOn = (name: string) =>
    data.settings.some(({ key, value }) => key === `${prefix}${name}.enabled` && value === true);
  return (
    <>
      <p className="soft auth-lead">{texts.lead}</p>
      {names.map((name) => (
        <Card
          key={name}
          title={texts.names[name] ?? name}
          actions={isOn(name) && <Badge tone="good">{authTexts.providers.enabled}</Badge>}
          isFlush
        >
          <SettingRows data={data} group={{ id: name, keys: [`${prefix}${name}.`] }} />
        </Card>
      ))}
      <OpenSetting data={data} />
    </>
  );
}
