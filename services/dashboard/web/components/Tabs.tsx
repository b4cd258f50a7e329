import type { ReactNode } from "react";
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from "react-aria-components/Tabs";

export interface TabEntry {
  id: string;
  title: ReactNode;
  content: ReactNode;
}

/** Tabs. Keep `selected` in the address (`useSearch`), so that a tab can be linked to. */
export function Tabs(
  { tabs, selected, onSelect, label }: {
    tabs: readonly TabEntry[];
    selected: string;
    onSelect: (id: string) => void;
    label: string;
  },
) {
  return (
    <AriaTabs className="tabs" selectedKey={selected} onSelectionChange={(key) => onSelect(String(key))}>
      <TabList className="tab-list" aria-label={label}>
        {tabs.map((tab) => <Tab key={tab.id} id={tab.id} className="tab">{tab.title}</Tab>)}
      </TabList>
      {tabs.map((tab) => <TabPanel key={tab.id} id={tab.id} className="tab-panel">{tab.content}</TabPanel>)}
    </AriaTabs>
  );
}
