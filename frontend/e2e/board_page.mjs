// The page model of a Board inside a view's frame.
export class BoardFrame {
  constructor(page, frame) {
    this.page = page;
    this.frame = frame;
  }

  lane(title) {
    return this.frame.getByRole("group", { name: title, exact: true });
  }

  card(title) {
    return this.frame.locator(".card").filter({ hasText: title });
  }

  cardIn(lane, title) {
    return this.lane(lane).locator(".card").filter({ hasText: title });
  }

  async add(lane, ...titles) {
    await this.lane(lane).getByRole("button", { name: "Add a card" }).click();
    const field = this.frame.getByRole("textbox", { name: "Title of the new card" });
    for (const title of titles) {
      await field.fill(title);
      await field.press("Enter");
      await this.cardIn(lane, title).waitFor();
    }
    await field.press("Escape");
  }

  /** Drags a card with the mouse into a lane. */
  async drag(title, lane) {
    const from = await this.card(title).boundingBox();
    const to = await this.lane(lane).boundingBox();
    await this.page.mouse.move(from.x + 20, from.y + 12);
    await this.page.mouse.down();
    await this.page.mouse.move(from.x + 40, from.y + 30, { steps: 4 });
    await this.page.mouse.move(to.x + to.width / 2, to.y + 60, { steps: 12 });
    await this.page.mouse.up();
  }
}
