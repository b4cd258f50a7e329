/** The frame of all pages: the list of pages, the palette, help, the account, and whether the platform answers. */

import { Outlet, useRouterState } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect, useRef, useState } from "react";
import { useMe, useOperation, useValue } from "../api/hooks.ts";
import { isOnline } from "../api/signals.ts";
import { Link } from "../address.tsx";
import { Button, IconButton } from "../components/Button.tsx";
import { Icon } from "../components/Icon.tsx";
import { Loading } from "../components/states.tsx";
import { toast } from "../components/toasts.ts";
import { texts } from "../texts.ts";
import { useLeaveGuard } from "./leaving.ts";
import { useLoadedPart } from "./loadedPart.ts";
import { useListedPages } from "./listedPages.ts";
import type { PageGroup } from "./page.ts";

const retryMs = 3_000;

/** The shell of a signed-in administrator. */
export function Shell() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isNavigationOpen, setNavigationOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const content = useRef<HTMLElement>(null);
  const [typedEarly, setTypedEarly] = useState("");
  const openPalette = () => {
    setTypedEarly("");
    setPaletteOpen(true);
  };
  useShellKeys(openPalette, () => setHelpOpen(true));
  useLeaveGuard();
  useEffect(() => setNavigationOpen(false), [path]);
  const Palette = useLoadedPart(() => import("./Palette.tsx"), isPaletteOpen, () => setPaletteOpen(false));
  const Help = useLoadedPart(() => import("./Help.tsx"), isHelpOpen, () => setHelpOpen(false));
  return (
    <div className={`shell${isNavigationOpen ? " shell-open" : ""}`}>
      <a
        className="skip-link"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          content.current?.focus();
        }}
      >
        {texts.shell.skip}
      </a>
      <header className="top-bar">
        <IconButton
          icon={isNavigationOpen ? "close" : "menu"}
          label={texts.shell.openNavigation}
          onPress={() => setNavigationOpen(!isNavigationOpen)}
        />
        <span className="logo">
          <Icon name="wave" size={20} /> {texts.name}
        </span>
        <IconButton icon="search" label={texts.shell.search} onPress={openPalette} />
      </header>
      <aside className="sidebar" aria-label={texts.name}>
        <Link to="" className="logo sidebar-logo">
          <Icon name="wave" size={20} /> {texts.name}
        </Link>
        <Button variant="plain" icon="search" onPress={openPalette}>
          <span className="search-button">
            {texts.shell.search} <kbd className="keys">Ctrl K</kbd>
          </span>
        </Button>
        <Navigation path={path} />
        <Account onHelp={() => setHelpOpen(true)} />
      </aside>
      <div className="main">
        <Connection />
        <main id="content" ref={content} tabIndex={-1} className="content">
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      {isPaletteOpen && (Palette ? <Palette onClose={() => setPaletteOpen(false)} typed={typedEarly} /> : (
        // Keys that follow Ctrl-K at once would be lost until the palette is loaded.
        <input
          className="for-readers"
          aria-label={texts.shell.search}
          autoFocus
          value={typedEarly}
          onChange={(event) => setTypedEarly(event.target.value)}
        />
      ))}
      {isHelpOpen && Help && <Help onClose={() => setHelpOpen(false)} />}
    </div>
  );
}

function Navigation({ path }: { path: string }) {
  const listed = useListedPages();
  const groups = Object.keys(texts.shell.groups) as Exclude<PageGroup, null>[];
  const current = path.split("/")[1] ?? "";
  return (
    <nav className="navigation" aria-label={texts.shell.navigation}>
      {groups.map((group) => {
        const own = listed.filter((page) => page.group === group);
        if (own.length === 0) return null;
        return (
          <div key={group} className="navigation-group">
            {group && <h2 className="navigation-title">{texts.shell.groups[group]}</h2>}
            <ul>
              {own.map((page) => (
                <li key={page.path}>
                  <Link to={page.path} className={`navigation-link${page.path === current ? " is-current" : ""}`}>
                    <Icon name={page.icon} /> <span className="cut">{page.title}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function Account({ onHelp }: { onHelp: () => void }) {
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const AccountMenu = useLoadedPart(() => import("./AccountMenu.tsx"), isOpen, () => setOpen(false));
  return (
    <div className="account">
      <Button
        variant="quiet"
        icon="user"
        ref={button}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onPress={() => setOpen(true)}
      >
        <span className="account-name">
          <span className="cut">{me.name}</span>
          <span className="faint">{texts.shell.rights[me.rights]}</span>
        </span>
      </Button>
      {isOpen && AccountMenu && <AccountMenu button={button} onClose={() => setOpen(false)} />}
      <IconButton icon="help" label={texts.shell.help} onPress={onHelp} />
    </div>
  );
}

/** Says that the platform does not answer, and tries again until it does. */
function Connection() {
  const online = useValue(isOnline);
  const client = useQueryClient();
  const was = useRef(online);
  useEffect(() => {
    if (online && !was.current) {
      toast.info(texts.states.back);
      void client.invalidateQueries();
    }
    was.current = online;
  }, [online]);
  useOperation("account.me", {}, online ? {} : { refreshEvery: retryMs, staleAfter: 0 });
  return online ? null : (
    <div className="offline" role="status">
      <Icon name="plug" /> {texts.states.offline}
    </div>
  );
}

function useShellKeys(onPalette: () => void, onHelp: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onPalette();
      } else if (event.key === "?" && !isTyping(event)) {
        event.preventDefault();
        onHelp();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** Return whether a key goes into a field or an editor (which may stand in a shadow root), or to a dialog. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest("[role=dialog]") !== null;
}
