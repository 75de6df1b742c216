// What the tests of the page share: a browser without a GPU, and a list of everything that went wrong in it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Opens Chromium; `problems` holds errors, dialogs and requests that left the page. */
export async function openBrowser(executablePath, playwright, { viewport = { width: 1200, height: 900 }, webgl = true } = {}) {
  const { chromium } = await import(pathToFileURL(join(playwright, 'index.mjs')).href);
  const drawing = webgl ? ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'] : ['--disable-3d-apis'];
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...drawing] });
  const page = await browser.newPage({ viewport, acceptDownloads: true });
  const problems = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('dialog', (dialog) => problems.push(`a dialog opened: ${dialog.message()}`));
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) problems.push(`a request left the page: ${request.url()}`);
  });
  const check = async (what, test) => {
    await test();
    assert.deepEqual(problems, [], what);
    console.log(`ok ${what}`);
  };
  const open = async (report) => {
    await page.goto(pathToFileURL(report).href);
    await page.waitForSelector('html[data-ready]', { timeout: 20000 });
  };
  return { browser, page, problems, check, open };
}

/** Moves the pointer over the map until there is an image under it. */
export async function findPoint(page, box, tries = 400) {
  for (let i = 0; i < tries; i++) {
    await page.mouse.move(box.x + box.width * (0.03 + 0.94 * ((i * 37) % 100) / 100), box.y + box.height * (0.03 + 0.94 * ((i * 61) % 97) / 97));
    if (await page.locator('.hover:visible').count() > 0) return true;
  }
  return false;
}
