// Page models: what a test may say about the page, in the words of a person.
// Each takes a playwright Page on which the shell is open.

/** The shell around everything. */
export class ShellPage {
  constructor(page) {
    this.page = page;
    this.sidebar = page.getByRole("complementary", { name: "Sidebar" });
    this.palette = page.getByRole("dialog", { name: "Search" });
    this.question = page.getByRole("alertdialog");
    this.notices = page.getByRole("region", { name: "Notices" });
  }

  /** Waits until the kernel's state is on the screen. */
  async ready() {
    await this.page.locator("main#main").waitFor();
    return this;
  }

  row(title) {
    return this.sidebar.locator("[data-row]").filter({ hasText: title });
  }

  async openRow(title) {
    await this.row(title).first().click();
    return new GadgetPage(this.page);
  }

  async home() {
    await this.sidebar.locator('[data-command="home"]').click();
    return new HomePage(this.page);
  }

  /** Opens the palette, types, and runs the first thing found. */
  async run(words) {
    await this.palette.waitFor({ state: "hidden" }); // one that is closing would take the key
    await this.page.keyboard.press("ControlOrMeta+k");
    const field = this.palette.getByRole("combobox");
    await field.fill(words);
    await this.palette.getByRole("option").first().waitFor();
    await field.press("Enter");
    await this.palette.waitFor({ state: "hidden" });
  }

  /** Chooses from the menu of a row in the sidebar. */
  async rowMenu(title, label) {
    await this.row(title).first().hover();
    await this.sidebar.getByRole("button", { name: `More for ${title}` }).click();
    await this.page.getByRole("menuitem", { name: label }).click();
  }

  /** Answers the open question with the button of this name. */
  async answer(label) {
    await this.question.getByRole("button", { name: label }).click();
    await this.question.waitFor({ state: "hidden" });
  }
}

/** Home: blueprints and recent workspaces. */
export class HomePage {
  constructor(page) {
    this.page = page;
    this.heading = page.getByRole("heading", { level: 1 });
    this.blueprints = page.getByRole("list", { name: "Blueprints" });
    this.recent = page.getByRole("region", { name: "Recent workspaces" });
  }

  card(blueprint) {
    return this.page.locator(`[data-blueprint="${blueprint}"]`);
  }

  /** Makes a gadget from a card and waits for its view. */
  async make(blueprint) {
    await this.card(blueprint).click();
    const gadget = new GadgetPage(this.page);
    await gadget.running();
    return gadget;
  }
}

/** An open gadget, in one view or two. */
export class GadgetPage {
  constructor(page) {
    this.page = page;
    this.title = page.getByRole("main").getByRole("heading", { level: 1 });
    this.console = page.getByRole("region", { name: "Console" });
    this.problem = page.getByRole("main").getByRole("alert");
    this.reconnecting = page.getByText("Reconnecting…");
  }

  /** The document of the first or second view. */
  frame(index = 0) {
    return this.page.locator("main iframe").nth(index).contentFrame();
  }

  /** Waits until that view has drawn itself and takes input. */
  async running(index = 0) {
    await this.page.locator("main iframe:not([inert])").nth(index).waitFor();
  }

  button(id) {
    return this.page.locator(`main header [data-command="${id}"]`);
  }

  async openSecondView() {
    await this.button("view.second").click();
    await this.running(1);
  }

  async showConsole() {
    if (!(await this.console.isVisible())) await this.button("view.console").click();
    await this.console.waitFor();
  }

  consoleLine(text) {
    return this.console.getByRole("log").locator("[data-level]").filter({ hasText: text });
  }

  async menu(label) {
    await this.page.locator("main header").getByRole("button", { name: "More", exact: true }).click();
    await this.page.getByRole("menuitem", { name: label }).click();
  }

  async rename(title) {
    await this.menu("Rename gadget");
    const field = this.page.getByRole("textbox", { name: "New name" });
    await field.fill(title);
    await field.press("Enter");
  }

  /** Full screen by its key; the focus must be in the shell, not in the frame. */
  async fullScreen() {
    await this.page.locator("main#main").focus();
    await this.page.keyboard.press("f");
    await this.page.locator("main header").waitFor({ state: "hidden" });
  }
}
