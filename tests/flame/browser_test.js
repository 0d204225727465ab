// The pages of culprit flame in a real browser (Debian's Chromium without a screen): they open, search, zoom, go back and
// reset, and hostile names do not run. usage: node browser_test.js; exit status 77 where no browser is.
// Set CULPRIT_SCREENSHOTS to a folder to keep what it looked like.
"use strict";
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const source = process.env.CULPRIT_SOURCE_DIR;
const program = process.env.CULPRIT_PROGRAM;
const browsers = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const modules = path.join(source, ".deps", "browser", "node_modules", "playwright-core");

const STACKS = `worker;main;parse;read_file 300
worker;main;parse;malloc 100
worker;main;train;forward;matmul 400
worker;main;train;backward;matmul 200
</script><img src=x onerror="window.ran=1">;<svg onload=window.ran=1>;"quote' 7
`;

async function look(page, name) {
  if (process.env.CULPRIT_SCREENSHOTS) await page.screenshot({ path: path.join(process.env.CULPRIT_SCREENSHOTS, name + ".png") });
}

// Centre of the frame of that name.
async function frame(page, name, root = "") {
  const box = await page.evaluate(([wanted, within]) => {
    const found = [...document.querySelectorAll(`${within} .f`)].find(g => g.querySelector("title").textContent.startsWith(wanted + ":"));
    if (!found) return null;
    const area = found.querySelector("rect").getBoundingClientRect();
    return { x: area.x + area.width / 2, y: area.y + area.height / 2, width: area.width };
  }, [name, root]);
  assert(box, `no frame ${name}`);
  return box;
}

async function svg(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 500 } });
  const errors = [];
  page.on("pageerror", error => errors.push(String(error)));
  await page.goto("file://" + file);
  const all = await frame(page, "all");
  assert(Math.abs((await frame(page, "train")).width / all.width - 600 / 1007) < 0.01);
  await look(page, "svg");

  await page.keyboard.press("/");
  await page.keyboard.type("matmul");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("matched").textContent !== "");
  assert.match(await page.textContent("#matched"), /matmul: 59\.58 %, 600 samples/);
  assert.strictEqual(await page.locator(".f.match").count(), 2);
  await look(page, "svg-search");

  let at = await frame(page, "parse");
  await page.mouse.move(at.x, at.y);
  assert.match(await page.textContent("#details"), /parse: 400 samples, 39\.72 %/);
  await page.mouse.click(at.x, at.y);
  await page.waitForFunction(() => location.hash.includes("z="));
  assert(Math.abs((await frame(page, "parse")).width - all.width) < 1, "zoomed to the whole width");
  assert.match(page.url(), /s=matmul/);
  await look(page, "svg-zoom");
  // The address alone shows the same.
  const again = await browser.newPage({ viewport: { width: 1200, height: 500 } });
  await again.goto(page.url());
  assert(Math.abs((await frame(again, "parse")).width - all.width) < 1);
  await again.close();

  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("z="));
  assert(Math.abs((await frame(page, "parse")).width / all.width - 400 / 1007) < 0.01, "Back undoes the zoom");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => location.hash === "");
  assert.strictEqual(await page.locator(".f.match").count(), 0);
  assert.strictEqual(await page.evaluate(() => window.ran), undefined, "a name has run");
  assert.deepStrictEqual(errors, []);
  await page.emulateMedia({ colorScheme: "dark" });
  await look(page, "svg-dark");
  await page.close();
}

async function html(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 600 } });
  const errors = [];
  page.on("pageerror", error => errors.push(String(error)));
  await page.goto("file://" + file);
  const all = await frame(page, "all", "#picture");
  await page.fill("#find", "MATMUL|malloc");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("matched").textContent !== "");
  assert.match(await page.textContent("#matched"), /9\.93 %, 100 samples/, "capitals make it exact");
  await page.fill("#find", "matmul");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("matched").textContent.includes("59.58"));

  await page.click("#tab-functions");
  await page.waitForSelector("#functions.shown");
  assert.match(await page.textContent("#body tr:first-child"), /600 samples59\.58 %600 samples59\.58 %matmul/);
  await look(page, "html-functions");
  await page.click("#body tr:first-child");
  await page.waitForSelector("#sandwich.shown");
  const half = await frame(page, "forward", "#callers");
  assert(Math.abs(half.width / (await frame(page, "matmul", "#callers")).width - 400 / 600) < 0.01);
  assert(half.y < (await frame(page, "matmul", "#callers")).y, "callers stand above");
  await look(page, "html-sandwich");
  await page.click("#reset");
  await page.click("#tab-flame");
  await page.waitForSelector("#flame.shown");
  assert(Math.abs((await frame(page, "train", "#picture")).width / all.width - 600 / 1007) < 0.01);
  assert.strictEqual(await page.evaluate(() => window.ran), undefined, "a name has run");
  assert.deepStrictEqual(errors, []);
  await look(page, "html");
  await page.close();
}

async function threads(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 600 } });
  await page.goto("file://" + file);
  await page.selectOption("#thread", "b 12");
  await page.waitForFunction(() => document.getElementById("chosen").textContent !== "");
  assert.match(await page.textContent("#chosen"), /chosen: 30 cycles, 75\.00 %/);
  assert.match(await page.evaluate(() => document.querySelector("#picture .f title").textContent), /all: 30 cycles/);
  await page.close();
}

async function main() {
  const executablePath = browsers.find(file => fs.existsSync(file));
  if (!executablePath || !fs.existsSync(modules)) {
    console.log("SKIPPED: no Chromium or no playwright-core here: ./dev browser");
    process.exit(77);
  }
  const { chromium } = require(modules);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "culprit-browser-"));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const make = (text, name) => {
      const input = path.join(folder, "input");
      fs.writeFileSync(input, text);
      const output = path.join(folder, name);
      execFileSync(program, ["flame", input, "-o", output]);
      return output;
    };
    await svg(browser, make(STACKS, "page.svg"));
    await html(browser, make(STACKS, "page.html"));
    await threads(browser, make("a 10/11 1.0: 10 cycles:\n\tff f (x)\n\nb 10/12 1.1: 30 cycles:\n\tff f (x)\n\n", "threads.html"));
  } finally {
    await browser.close();
    fs.rmSync(folder, { recursive: true });
  }
  console.log("the SVG and the HTML page open, search, zoom, go back and reset");
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
