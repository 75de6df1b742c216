// What the tests of the page share: a browser without a GPU, and a list of everything that went wrong in it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Opens Chromium; `problems` holds errors, dialogs that no test expected and requests that left the page. With `profile`, a
 * folder, the browser remembers what it kept there. `answers`: whether to agree, for each dialog that is expected.
 */
export async function openBrowser(executablePath, playwright, { viewport = { width: 1200, height: 900 }, webgl = true, profile = '' } = {}) {
  const { chromium } = await import(pathToFileURL(join(playwright, 'index.mjs')).href);
  const drawing = webgl ? ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'] : ['--disable-3d-apis'];
  const options = { executablePath, args: ['--no-sandbox', ...drawing], viewport, acceptDownloads: true };
  const browser = await (profile ? chromium.launchPersistentContext(profile, options) : chromium.launch(options));
  const page = await browser.newPage(profile ? {} : { viewport, acceptDownloads: true });
  const problems = [];
  const answers = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('dialog', (dialog) => {
    const agree = answers.shift();
    if (agree === undefined) problems.push(`a dialog opened: ${dialog.type()} ${dialog.message()}`);
    return agree ? dialog.accept() : dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) problems.push(`a request left the page: ${request.url()}`);
  });
  const check = async (what, test) => {
    await test();
    assert.deepEqual(problems, [], what);
    assert.deepEqual(answers, [], `${what}: a dialog did not open`);
    console.log(`ok ${what}`);
  };
  const open = async (report) => {
    await page.goto(pathToFileURL(report).href);
    await page.waitForSelector('html[data-ready]', { timeout: 20000 });
  };
  return { browser, page, answers, problems, check, open };
}

/** Moves the pointer over the map until there is an image under it. */
export async function findPoint(page, box, tries = 400) {
  for (let i = 0; i < tries; i++) {
    await page.mouse.move(box.x + box.width * (0.03 + 0.94 * ((i * 37) % 100) / 100), box.y + box.height * (0.03 + 0.94 * ((i * 61) % 97) / 97));
    if (await page.locator('.hover:visible').count() > 0) return true;
  }
  return false;
}

/** Chooses every image of the map with the lasso. */
export async function chooseAll(page) {
  await page.click('text=Whole map');
  await page.waitForTimeout(500);
  const box = await page.locator('#map canvas').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 4, box.y + 4);
  await page.mouse.down();
  for (const [x, y] of [[0.99, 0.01], [0.99, 0.99], [0.01, 0.99], [0.01, 0.02]]) {
    await page.mouse.move(box.x + box.width * x, box.y + box.height * y, { steps: 12 });
  }
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await page.waitForSelector('.chosen .tile', { timeout: 10000 });
}

/** Downloads the corrections and returns their lines. */
export async function downloadCorrections(page) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('button.download', { timeout: 20000 })]);
  const text = await readFile(await download.path(), 'utf8');
  assert.ok(text.endsWith('\r\n'));
  return text.split('\r\n').slice(0, -1);
}
