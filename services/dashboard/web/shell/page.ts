/** What a page registers in `pages.ts`. */

import type { ComponentType } from "react";
import type { Area } from "../api/rights.ts";
import type { IconName } from "../components/Icon.tsx";
import type { Right } from "../generated/operations.ts";
import { texts } from "../texts.ts";

/** A group of the list of pages, "" for those above all groups; null: the page is not in the list. */
export type PageGroup = keyof typeof texts.shell.groups | null;

export interface PageEntry {
  /** The first part of the path: `tables` is at `/_/tables` and below. "" is the first page. */
  path: string;
  title: string;
  icon: IconName;
  group: PageGroup;
  load: () => Promise<{ default: ComponentType }>;
  /** Areas of operations of which the page needs one: a role that closes all of them closes the page. None: it is never closed. */
  areas: readonly Area[];
  /** The right without which the page is not in the list; its operations check rights anyway. */
  right: Right;
}

/** Register a page; its module exports the component as default and is loaded when the page is opened. */
export function page(
  path: keyof typeof texts.shell.pages,
  icon: IconName,
  group: PageGroup,
  load: PageEntry["load"],
  areas: readonly Area[] = [],
  right: Right = "reader",
): PageEntry {
  return { path, title: texts.shell.pages[path], icon, group, load, areas, right };
}
