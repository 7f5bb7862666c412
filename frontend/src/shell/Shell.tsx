import { useEffect, useMemo, useRef } from "react";
import type { Gadget, State } from "../kernel/api.gen";
import { desktop as ownDesktop } from "../kernel/desktop";
import { useConnection, useKernel } from "../kernel/react";
import { GadgetFrame } from "../gadget/GadgetFrame";
import { ConsolePanel } from "../features/console/ConsolePanel";
import { Home } from "../features/home/Home";
import { Notices } from "../features/notices/Notices";
import { Palette } from "../features/palette/Palette";
import { Sidebar } from "../features/sidebar/Sidebar";
import { WorkspaceView } from "../features/workspace/WorkspaceView";
import { CommandButton } from "../ui/button";
import { pick, type Command } from "../ui/command";
import { pressed, types } from "../ui/keys";
import { appCommands, gadgetCommands, paletteCommands, viewCommands, workspaceCommands, type Scene } from "./commands";
import { RemoveDialog } from "./RemoveDialog";
import { usePrefs } from "./prefs";
import { place, type Place, type Route } from "./routing";
import { useActions, useOwnNotices, useTrail, type Doing } from "./use_actions";

const gadgetMenuIds = ["gadget.beside", "gadget.rename", "gadget.restart", "-", "gadget.delete"];

/** The shell around everything: places at the side, one of them in the middle. */
export function Shell({ state }: { state: State }) {
  const kernel = useKernel();
  const online = useConnection().phase === "open";
  const [prefs, setPrefs] = usePrefs();
  const [trail, step] = useTrail(state);
  const { own, tell, forget } = useOwnNotices();
  const doing = useActions(kernel, step, setPrefs, tell);
  const { actions } = doing;
  const desktop = useMemo(ownDesktop, []);
  const at = place(trail.here, state);
  const full = doing.full && !!at?.gadget;
  const scene: Scene = { state, trail, online, full, sidebar: prefs.sidebar, console: prefs.console, desktop };
  const app = appCommands(scene, actions);
  const view = viewCommands(scene, actions);
  const everywhere = [...app, ...view, ...(at?.gadget ? gadgetCommands(scene, actions, at.workspace, at.gadget) : [])];
  useShortcuts(everywhere);
  useArrival(trail.here, at);

  const sidebarShown = prefs.sidebar && !full;
  const byId = (id: string) => app.find((c) => c.id === id)!;
  const rename = (name: string | undefined) => renamed(doing, state, name);
  const lead = prefs.sidebar ? undefined : <CommandButton command={byId("sidebar")} />;

  return (
    <div className="flex h-full">
      <a href="#main" onClick={skip} className="sr-only z-50 rounded-control bg-surface px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2">
        Skip to the content
      </a>
      {sidebarShown && (
        <Sidebar
          key="sidebar"
          person={state.person.name}
          status={online ? "" : "Offline"}
          workspaces={state.workspaces}
          folded={prefs.folded}
          current={trail.here.page === "home" ? {} : trail.here}
          renaming={doing.renaming && doing.renaming.gadget !== at?.gadget?.id ? doing.renaming : undefined}
          search={byId("palette")}
          home={byId("home")}
          hide={byId("sidebar")}
          onOpen={(workspace, gadget) => actions.go({ page: "workspace", workspace, gadget })}
          onFold={(id, fold) => setPrefs({ folded: fold ? [...prefs.folded, id] : prefs.folded.filter((f) => f !== id) })}
          onRenamed={rename}
          gadgetMenu={(w, g) => pick(gadgetCommands(scene, actions, w, g), gadgetMenuIds)}
          workspaceMenu={(w) => workspaceMenu(scene, doing, w)}
        />
      )}
      <main key="main" id="main" tabIndex={-1} className="flex min-w-0 grow flex-col outline-none">
        {!full && <Notices notices={[...own, ...state.notices]} onDismiss={(id) => dismiss(doing, forget, id)} />}
        <div className="min-h-0 grow">
          {at ? (
            <Workspace key={at.workspace.id} at={at} scene={scene} doing={doing} view={view} lead={lead} online={online} onRenamed={rename} height={prefs.consoleHeight} onHeight={(consoleHeight) => setPrefs({ consoleHeight })} />
          ) : (
            <>
              {lead && <div className="absolute top-2 left-2">{lead}</div>}
              <Home blueprints={state.blueprints} workspaces={state.workspaces} making={doing.making} online={online} onMake={actions.create} onOpen={(workspace) => actions.go({ page: "workspace", workspace })} />
            </>
          )}
        </div>
      </main>
      <Palette open={doing.palette} commands={paletteCommands(scene, actions)} onClose={() => doing.setPalette(false)} />
      <RemoveDialog subject={doing.removing} state={state} onClose={() => doing.setRemoving(undefined)} attempt={doing.attempt} />
    </div>
  );
}

function Workspace({
  at,
  scene,
  doing,
  view,
  lead,
  online,
  onRenamed,
  height,
  onHeight,
}: {
  at: Place;
  scene: Scene;
  doing: Doing;
  view: Command[];
  lead: React.ReactNode;
  online: boolean;
  onRenamed(name: string | undefined): void;
  height: number;
  onHeight(height: number): void;
}) {
  const { workspace, gadget, beside } = at;
  const { actions } = doing;
  const ofGadget = gadget ? gadgetCommands(scene, actions, workspace, gadget) : [];
  const menu = gadget
    ? pick([...ofGadget, ...view, ...workspaceCommands(scene, actions, workspace)], [
        ...["gadget.rename", "gadget.restart", "-", "view.second", "view.console", "view.full", "-"],
        ...adds(scene),
        ...["-", "gadget.delete"],
      ])
    : workspaceMenu(scene, doing, workspace);
  const alone = (id: string) => actions.go({ page: "workspace", workspace: workspace.id, gadget: id });
  const subject = { workspace: workspace.id, gadget: gadget?.id };
  const frame = (shown: Gadget, which: "first" | "second") => (
    <GadgetFrame
      key={`${which} ${shown.id}`}
      workspace={workspace.id}
      gadget={shown}
      restarts={doing.restarts[shown.id] ?? 0}
      onEscape={() => actions.setFull(false)}
      onPalette={actions.showPalette}
      onRestart={() => actions.restart({ workspace: workspace.id, gadget: shown.id })}
      onConsole={() => actions.setConsole(true)}
    />
  );
  return (
    <WorkspaceView
      workspace={workspace}
      gadget={gadget}
      beside={beside}
      full={scene.full}
      renaming={doing.renaming?.workspace === workspace.id && doing.renaming.gadget === gadget?.id}
      onRename={() => online && actions.rename(subject)}
      onRenamed={onRenamed}
      onLeaveFull={() => actions.setFull(false)}
      onCloseFirst={() => beside && alone(beside.id)}
      onCloseSecond={() => gadget && alone(gadget.id)}
      onShowConsole={() => actions.setConsole(true)}
      lead={lead}
      buttons={view}
      menu={menu}
      blueprints={scene.state.blueprints}
      making={doing.making}
      online={online}
      onMake={(blueprint) => actions.create(blueprint, workspace.id)}
      frame={frame}
      console={
        scene.console && gadget ? (
          <ConsolePanel key={gadget.id} workspace={workspace.id} gadget={gadget.id} height={height} onHeight={onHeight} onClose={() => actions.setConsole(false)} />
        ) : undefined
      }
    />
  );
}

function adds(scene: Scene): string[] {
  return scene.state.blueprints.map((b) => `workspace.add.${b.name}`);
}

function workspaceMenu(scene: Scene, doing: Doing, workspace: State["workspaces"][number]): (Command | "-")[] {
  return pick(workspaceCommands(scene, doing.actions, workspace), ["workspace.rename", "-", ...adds(scene), "-", "workspace.delete"]);
}

function renamed(doing: Doing, state: State, title: string | undefined): void {
  const subject = doing.renaming;
  doing.setRenaming(undefined);
  if (!subject || title === undefined) return;
  const { workspace, gadget } = subject;
  const owner = state.workspaces.find((w) => w.id === workspace);
  // A workspace of one gadget that shares its name shows as one thing, so it stays one.
  const twins = owner?.gadgets.length === 1 && owner.gadgets[0]!.title === owner.title;
  void doing.attempt(async (shell) => {
    const only = owner?.gadgets[0]?.id;
    if (twins && only) await shell.renameGadget({ workspace, gadget: only, title });
    else if (gadget) await shell.renameGadget({ workspace, gadget, title });
    if (twins || !gadget) await shell.renameWorkspace({ workspace, title });
  });
}

function dismiss(doing: Doing, forget: (id: string) => void, id: string): void {
  if (id.startsWith("page-")) forget(id);
  else void doing.attempt((shell) => shell.dismissNotice({ id }));
}

/** After a move the title says where one is, and a focus that went with its element begins again at the content. */
function useArrival(here: Route, at: Place | undefined): void {
  const title = at?.gadget?.title ?? at?.workspace.title;
  useEffect(() => {
    document.title = title ? `${title} – Toolshed` : "Toolshed";
  }, [title]);
  const before = useRef(here);
  useEffect(() => {
    if (before.current === here) return;
    before.current = here;
    if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
  }, [here]);
}

function skip(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** Runs a command when its keys are pressed, unless a dialog or a text field should have them. */
function useShortcuts(commands: Command[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  useEffect(() => {
    const down = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      const at = event.target instanceof HTMLElement ? event.target : document.body;
      if (at.closest('[role="dialog"],[role="alertdialog"],[role="menu"]')) return;
      const writes = at.matches("input:not([type=radio]),textarea,[contenteditable]");
      const command = latest.current.find((c) => c.keys && pressed(event, c.keys));
      if (!command?.enabled || (writes && (types(command.keys!) || command.keys === "Escape"))) return;
      event.preventDefault();
      command.run();
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  }, []);
}
