import "./ui/theme.css";
import { FakeKernel } from "./kernel/fake";
import { boardKind, brokenKind, otherKinds } from "./kernel/fake_samples";
import { Session } from "./kernel/session";
import { show } from "./show";

/** The page over a kernel in memory: `npm run dev` and the screenshots. Tests reach the kernel as window.fake. */
const hour = 3_600_000;
const kernel = new FakeKernel([boardKind, ...otherKinds, brokenKind]);
const asked = new URLSearchParams(location.search);

if (!asked.has("empty")) {
  const now = Date.now();
  kernel.make("document", "Letters", undefined, now - 400 * hour);
  const trip = kernel.make("document", "Route", undefined, now - 75 * hour);
  kernel.make("poll", "Which weekend?", trip.workspace);
  kernel.make("sheet", "Costs", trip.workspace);
  kernel.make("notes", "Reading list", undefined, now - 26 * hour);
  kernel.make("board", "Workshop", undefined, now - 2 * hour);
  kernel.change((state) => {
    state.workspaces.find((w) => w.id === trip.workspace)!.title = "Trip to Lisbon";
    // The broken one is there to be opened, not to be offered.
    state.blueprints = state.blueprints.filter((b) => b.name !== "broken").slice(0, asked.has("one") ? 1 : undefined);
  });
} else {
  kernel.change((state) => (state.blueprints = state.blueprints.slice(0, 1)));
}

Object.assign(window, { fake: kernel });
show(new Session(kernel.openPipe).begin());
