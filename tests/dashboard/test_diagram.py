"""The diagram of a schema: legible with 50 tables, searched, rearranged, and changed by SQL that is shown first."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, FloatRect, Locator, Page, Response, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.large_schema import TABLES, large_schema
from tests.dashboard.test_schema import apply, saved, show_sql, value
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)

DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
_LEAST_LETTERS_PX = 8.9
_MOST_BYTES = 394_000
"""Of scripts that opening the diagram loads: as many as its library had alone, compressed, before."""
_BOXES = """() => [...document.querySelectorAll('.react-flow__node')].map((node) => {
  const { x, y, width, height } = node.getBoundingClientRect();
  return { name: node.dataset.id, x, y, width, height };
})"""
_LETTERS = """() => [...document.querySelectorAll('.schema-box-alone, .schema-box-name, .schema-box-column > .cut')].map((text) => {
  const zoom = text.getBoundingClientRect().height / text.offsetHeight;
  return { text: text.textContent, px: parseFloat(getComputedStyle(text).fontSize) * zoom,
           cut: text.scrollHeight > text.clientHeight + 1 || text.scrollWidth > text.clientWidth + 1 };
})"""


@pytest.fixture(scope="module", autouse=True)
def migrations(server: Platform) -> Path:
    """The schema `shop` of 50 tables, and the folder of migrations."""
    folder = server.data.parent / "supabase" / "migrations"
    folder.mkdir(parents=True)
    server.psql(large_schema("shop"))
    return folder


def table(page: Page, name: str) -> Locator:
    """Return the box of a table."""
    return page.locator(f'.react-flow__node[data-id="{name}"]')


def row(page: Page, name: str, column: str) -> Locator:
    """Return the row of a column."""
    return table(page, name).locator(".schema-box-column").filter(has=page.get_by_text(column, exact=True))


async def open_diagram(window: DashboardWindow, search: str = "") -> Page:
    """Open the diagram of `shop`, without animations, and wait until it is drawn."""
    await window.page.emulate_media(reduced_motion="reduce")
    await window.open(f"schema/diagram/shop{search}")
    await expect(window.page.locator(".react-flow__node")).not_to_have_count(0)
    return window.page


async def rectangle(element: Locator) -> FloatRect:
    """Return where an element is in the window."""
    box = await element.bounding_box()
    assert box is not None
    return box


async def place(page: Page, name: str) -> str:
    """Return where a table stands in the drawing, whatever part of it is in the window."""
    return str(await table(page, name).evaluate("(node) => node.style.transform"))


def overlapping(boxes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the pairs of boxes that cover a part of each other."""
    return [
        (a["name"], b["name"])
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
        if a["x"] < b["x"] + b["width"] and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]
    ]  # fmt: skip


async def check_legible(page: Page) -> None:
    """Fail if boxes overlap, if letters are too small on the screen, or if the name of a table is cut off."""
    assert overlapping(await page.evaluate(_BOXES)) == []
    letters = await page.evaluate(_LETTERS)
    assert [text for text in letters if text["px"] < _LEAST_LETTERS_PX] == []
    assert [text for text in letters if text["cut"] and text["text"] in TABLES] == []


async def test_fifty_tables_are_legible_at_each_level(window: DashboardWindow) -> None:
    for size in (DESK, PHONE):
        await window.page.set_viewport_size(size)  # type: ignore[arg-type]  # Playwright has a type of its own for this mapping
        page = await open_diagram(window)
        await expect(page.locator(".schema-box-alone")).to_have_count(len(TABLES))
        await check_legible(page)
        if size is DESK:
            await window.screenshot("schema-diagram")
        await window.check_accessibility()
        for detail, rows in (("names", 0), ("keys", 2), ("all", 3)):
            page = await open_diagram(window, f"?detail={detail}")
            await expect(table(page, "product_tags").locator(".schema-box-column")).to_have_count(
                rows + (rows > 0)
            )
            await check_legible(page)
            if detail == ("all" if size is DESK else "keys"):
                await window.check_accessibility()
    await window.check_narrow()


async def test_zoom_chooses_what_is_shown_and_loads_little(window: DashboardWindow) -> None:
    page = window.page
    await page.set_viewport_size(DESK)  # type: ignore[arg-type]  # as above
    await window.open("schema/tables/shop")
    await page.get_by_role("row", name="products table").wait_for()
    loaded: list[Response] = []
    page.on("response", lambda response: loaded.append(response) if response.url.endswith(".js") else None)
    await page.get_by_role("tab", name="Diagram").click()
    drawing = page.get_by_role("application", name="Drawing")
    await expect(page.locator(".schema-box-alone")).to_have_count(len(TABLES))
    sizes = {response.url: len(await response.body()) for response in loaded}
    assert any("DiagramCanvas" in url for url in sizes)
    assert sum(sizes.values()) < _MOST_BYTES
    print(f"the diagram loads {sum(sizes.values())} bytes of scripts")  # a figure for docs/dashboard.md

    await expect(page.get_by_label("Small map of the diagram")).to_have_count(0)
    await drawing.focus()
    before = await rectangle(table(page, "reviews"))
    await page.keyboard.press("ArrowDown")
    assert (await rectangle(table(page, "reviews")))["y"] < before["y"]
    for _ in range(3):
        await page.keyboard.press("+")
    await expect(page.locator(".schema-box.is-large").first).to_be_visible()
    await check_legible(page)
    await page.get_by_role("button", name="Zoom in").click()
    await page.mouse.move(800, 500)
    await page.mouse.wheel(0, -400)
    await expect(page.locator(".schema-box-alone, .is-large")).to_have_count(0)
    await expect(page.get_by_label("Small map of the diagram")).to_be_visible()
    await check_legible(page)
    await drawing.focus()
    await page.keyboard.press("0")
    await expect(page.locator(".schema-box-alone")).to_have_count(len(TABLES))

    await page.get_by_role("button", name="Detail").click()
    await page.get_by_role("option", name="All columns").click()
    await expect(row(page, "orders", "shipping_address_id")).to_have_count(1)
    await expect(page).to_have_url(f"{window.url}/_/schema/diagram/shop?detail=all")


async def test_search_by_keyboard_centres_and_marks(window: DashboardWindow) -> None:
    page = await open_diagram(window, "?detail=names")
    search = page.get_by_role("combobox", name="Find tables and columns")
    await search.focus()
    await page.keyboard.type("nothing of this")
    await expect(page.get_by_text("No table and no column has this name")).to_be_visible()
    await search.fill("tracking")
    await expect(page.get_by_role("option", name="shipments.tracking_number")).to_be_visible()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")

    marked = page.locator(".schema-box-column.is-marked")
    await expect(marked).to_contain_text("tracking_")
    box, frame = await rectangle(marked), await rectangle(page.locator(".react-flow"))
    assert abs(box["x"] + box["width"] / 2 - frame["x"] - frame["width"] / 2) < 10
    assert abs(box["y"] - frame["y"] - frame["height"] / 2) < 40
    await window.check_accessibility()
    await window.screenshot("schema-diagram-found")
    await page.reload()
    await expect(marked).to_be_visible()

    await search.fill("carts")
    await page.keyboard.press("Enter")  # the first match, without an arrow key
    actions = page.get_by_role("group", name="Selected: carts")
    await expect(actions).to_be_visible()
    while not await actions.get_by_role("link", name="Open").evaluate(
        "(link) => link === document.activeElement"
    ):
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", level=2, name="carts").wait_for()


async def test_moved_tables_keep_their_places_for_the_one_who_moved_them(
    browser: Browser, window: DashboardWindow, server: Platform
) -> None:
    page = await open_diagram(window)
    first = await place(page, "exchange_rates"), await place(page, "coupons")
    await table(page, "exchange_rates").focus()
    await page.keyboard.press("Space")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Shift+ArrowDown")
    await expect(page.get_by_role("button", name="Arrange again")).to_be_visible()
    by_keys = await place(page, "exchange_rates")
    assert by_keys != first[0]
    here, there = await rectangle(table(page, "coupons")), await rectangle(table(page, "brands"))
    await page.mouse.move(here["x"] + 20, here["y"] + 20)
    await page.mouse.down()
    await page.mouse.move(there["x"] + 25, there["y"] + 30, steps=6)
    await page.mouse.up()
    await expect(table(page, "coupons")).not_to_have_attribute("style", first[1])
    by_mouse = await place(page, "coupons")
    assert by_mouse != first[1]
    assert overlapping(await page.evaluate(_BOXES)) == []  # it was dropped on another table

    server.psql(
        "create table shop.gift_cards (id bigint primary key, order_id bigint references shop.orders)"
    )
    await page.reload()
    await expect(table(page, "gift_cards")).to_be_visible()
    assert (await place(page, "exchange_rates"), await place(page, "coupons")) == (by_keys, by_mouse)
    assert overlapping(await page.evaluate(_BOXES)) == []
    async with open_window(browser, server, add_administrator(server, "developer")) as other:
        theirs = await open_diagram(other)
        await expect(theirs.get_by_role("button", name="Arrange again")).to_have_count(0)
    server.psql("drop table shop.gift_cards")
    await page.reload()
    await page.get_by_role("button", name="Arrange again").click()
    await expect(page.get_by_role("button", name="Arrange again")).to_have_count(0)
    assert (await place(page, "exchange_rates"), await place(page, "coupons")) == first


async def test_tables_columns_and_keys_are_added_as_sql_first(
    window: DashboardWindow, server: Platform, migrations: Path
) -> None:
    await window.page.set_viewport_size(DESK)  # type: ignore[arg-type]  # as above
    page = await open_diagram(window)
    await page.get_by_role("button", name="Create table").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).first.fill("gift_cards")
    await dialog.get_by_role("button", name="Review SQL").click()
    await dialog.get_by_role("button", name="Create table").click()
    await expect(page.get_by_role("group", name="Selected: gift_cards")).to_be_visible()
    await expect(row(page, "gift_cards", "created_at")).to_be_visible()

    await page.get_by_role("button", name="Add column").press("Enter")
    await page.get_by_role("dialog").get_by_label("Name", exact=True).fill("order_id")
    kind = page.get_by_role("dialog").get_by_role("combobox", name="Type")
    await kind.fill("bigint")
    await page.keyboard.press("Tab")
    await show_sql(page)
    await apply(page)
    await expect(row(page, "gift_cards", "order_id")).to_be_visible()
    assert "add column" in saved(migrations, "add_order_id_to_gift_cards")

    # By the mouse: from the point of the column to the key of another table that is in the window.
    keys = "select count(*) from pg_constraint where contype = 'f' and conrelid = 'shop.gift_cards'::regclass"
    await row(page, "gift_cards", "order_id").hover()
    start = await rectangle(row(page, "gift_cards", "order_id").locator(".schema-drag"))
    near = await page.evaluate(
        """() => {
          const frame = document.querySelector('.react-flow').getBoundingClientRect();
          const nodes = [...document.querySelectorAll('.react-flow__node:not([data-id=gift_cards])')];
          return nodes.find((node) => {
            const { left, right, top } = node.querySelector('.schema-drop').getBoundingClientRect();
            return left > frame.left + 60 && right < frame.right - 260 && top > frame.top + 60 && top < frame.bottom - 60;
          }).dataset.id;
        }"""
    )
    end = await rectangle(row(page, near, "id"))
    await page.mouse.move(start["x"] + 4, start["y"] + 4)
    await page.mouse.down()
    await page.mouse.move(end["x"] + 90, end["y"] + 40, steps=5)
    await page.mouse.move(end["x"] + 60, end["y"] + 9, steps=5)
    await page.mouse.up()
    form = page.get_by_role("dialog", name="Add a foreign key to gift_cards")
    await expect(form.get_by_text("In this order: order_id")).to_be_visible()
    await form.get_by_role("button", name="When the row there is deleted").click()
    await page.get_by_role("option", name="cascade").click()
    await show_sql(page)
    await expect(page.get_by_role("region", name="SQL of the change")).to_contain_text(
        f'references "shop"."{near}" ("id")'
    )
    assert value(server, keys) == "0"
    await apply(page)
    definition = "select pg_get_constraintdef(oid) from pg_constraint where contype = 'f' and conrelid = 'shop.gift_cards'::regclass"
    assert value(server, definition) == f"FOREIGN KEY (order_id) REFERENCES shop.{near}(id) ON DELETE CASCADE"
    assert "foreign key" in saved(migrations, "foreign_key_gift_cards_order_id").lower()
    await expect(row(page, "gift_cards", "order_id").get_by_text("FK")).to_be_visible()
    await expect(
        page.locator(f'.react-flow__edge[aria-label="gift_cards: order_id refers to {near}"]')
    ).to_have_count(1)

    # By keys alone: the same by a form, to another table.
    await page.get_by_role("button", name="Add foreign key").press("Enter")
    await (
        form.get_by_role("group", name="Columns", exact=True).get_by_role("checkbox", name="order_id").focus()
    )
    await page.keyboard.press("Space")
    await form.get_by_label("Table").first.fill("shop.orders")
    await page.keyboard.press("Tab")
    await show_sql(page)
    await apply(page)
    assert value(server, keys) == "2"


async def test_who_may_not_change_the_schema_sees_no_edit_controls(
    browser: Browser, server: Platform, owner: Administrator
) -> None:
    owner.run("roles.save", name="looks", areas={"catalog": "read", "schema": "read"}, tables=[])
    limited = add_administrator(server, "developer")
    [found] = [one for one in owner.run("administrators.list") if one["email"] == limited.email]
    owner.run("administrators.change", id=found["id"], rights="developer", role="looks")
    for administrator in (add_administrator(server, "reader"), limited):
        async with open_window(browser, server, administrator) as window:
            page = await open_diagram(window, "?table=orders")
            actions = page.get_by_role("group", name="Selected: orders")
            await expect(actions.get_by_role("link", name="Open")).to_be_visible()
            await expect(row(page, "orders", "coupon_id")).to_be_visible()

            await expect(page.get_by_role("button", name="Create table")).to_have_count(0)
            await expect(actions.get_by_role("button", name="Add")).to_have_count(0)
            await expect(page.locator(".schema-drag, .schema-drop")).to_have_count(0)


async def test_an_empty_schema_begins_with_a_table_and_shows_where_keys_lead(
    window: DashboardWindow, server: Platform
) -> None:
    server.psql("create schema bare")
    page = window.page
    await window.open("schema/diagram/bare")
    await page.get_by_role("heading", name="This schema has no tables").wait_for()
    await window.check_accessibility()
    await page.get_by_role("button", name="Create table").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).first.fill("notes")
    await dialog.get_by_role("button", name="owner", exact=False).click()
    await dialog.get_by_role("button", name="Review SQL").click()
    await dialog.get_by_role("button", name="Create table").click()

    await expect(row(page, "notes", "user_id").get_by_text("→ auth.users")).to_be_visible()
    await expect(page.get_by_role("group", name="notes, 3 columns, refers to auth.users")).to_be_visible()


async def test_the_diagram_and_its_list(window: DashboardWindow) -> None:
    page = await open_diagram(window)
    await page.get_by_role("region", name="Tables of shop and their foreign keys").wait_for()
    await table(page, "tags").focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", level=2, name="tags").wait_for()

    await window.open("schema/diagram/shop?as=list")
    await expect(page.get_by_text("tag_id refers to shop.tags")).to_be_visible()
    await window.check_accessibility()
