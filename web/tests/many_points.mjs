// A page of 100,000 images and 200 classes in a real browser, which must not freeze. Usage: node many_points.mjs REPORT.html CHROMIUM PLAYWRIGHT_FOLDER FOLDER
// The page is REPORT with other images in it: ten clusters of points on a circle; it is written into FOLDER.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPoint, openBrowser } from './browser.mjs';

const [report, executablePath, playwright, folder] = process.argv.slice(2);
const kPoints = 100000;
const kClasses = 200;

const text = await readFile(report, 'utf8');
const start = text.indexOf('>', text.indexOf('<script id="data"')) + 1;
const end = text.indexOf('</script>', start);
const data = JSON.parse(text.slice(start, end));
const column = (value) => Array.from({ length: kPoints }, (_, i) => value(i));
const places = (radius) => {
  const list = [];
  for (let i = 0; i < kPoints; i++) {
    const angle = (2 * Math.PI * (i % 10)) / 10;
    list.push(radius * Math.cos(angle) + Math.sin(i * 12.9898) * 9, radius * Math.sin(angle) + Math.cos(i * 78.233) * 9);
  }
  return list;
};
data.classes = Array.from({ length: kClasses }, (_, k) => ({ ...data.classes[k % 4], name: `class ${k}`, nearest: [] }));
data.confusion = null;
data.attention = null;
data.queue = [];
data.likely = { count: 3, class: Array.from({ length: 3 * kPoints }, (_, i) => i % kClasses), probability: Array.from({ length: 3 * kPoints }, (_, i) => [0.7, 0.2, 0.1][i % 3]) };
data.images = {
  path: column((i) => `made-up/${i}.jpg`),
  class: column((i) => i % data.classes.length),
  confidence: column((i) => (i % 100) / 100),
  typicality: column((i) => (i % 1000) / 1000),
  outlier_score: column((i) => (i * 7919) % kPoints),
  is_outlier: column((i) => i % 20 === 0),
  truth: column((i) => i % data.truths.length),
  thumbnail: column((i) => i % 80),
};
data.map = { rows: column((i) => i), before: places(20), after: places(60), prototypes: places(60).slice(0, 2 * kClasses) };
const many = join(folder, 'many.html');
await writeFile(many, text.slice(0, start) + JSON.stringify(data).replaceAll('<', '\\u003c') + text.slice(end));

const { browser, page, check, open } = await openBrowser(executablePath, playwright);
await page.addInitScript(() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
  }).observe({ type: 'longtask', buffered: true });
});
let begin = Date.now();
/** How long that took, and for how long at most the page answered nobody meanwhile: what is held is ten times what an idle machine takes. */
const tell = async (what, most) => {
  await page.waitForTimeout(100);
  const longest = await page.evaluate(() => {
    const { longest } = window;
    window.longest = 0;
    return longest;
  });
  console.log(`${what}: ${((Date.now() - begin - 100) / 1000).toFixed(1)} s, longest task ${Math.round(longest)} ms`);
  assert.ok(longest < most, `${what}: the page was busy for ${Math.round(longest)} ms`);
  begin = Date.now();
};
await check('opens with 100,000 images', () => open(many));
await tell('open', 5000);
await check('shows every class in the end', () => page.waitForFunction((all) => document.querySelectorAll('.card').length === all, kClasses, { timeout: 20000 }));
await tell('all cards', 2000);
await check('scrolls', async () => {
  await page.mouse.move(600, 450);
  for (let step = 0; step < 20; step++) {
    await page.mouse.wheel(0, 300);
    await page.waitForTimeout(50);
  }
});
await tell('scrolled through cards', 2000);
await check('finds and sorts classes', async () => {
  await page.locator('input[type=search]').pressSequentially('class 19');
  await page.waitForFunction(() => document.querySelectorAll('.card').length === 11);
  await page.fill('input[type=search]', '');
  await page.selectOption('#classes select >> nth=1', 'name');
  await page.waitForFunction((all) => document.querySelectorAll('.card').length === all, kClasses, { timeout: 20000 });
});
await tell('searched and sorted', 2000);
await check('draws them', async () => {
  await page.locator('#map canvas').scrollIntoViewIfNeeded();
  await page.waitForSelector('#map canvas[data-drawn="after class"]', { timeout: 60000 });
  const pixels = await page.locator('#map canvas').evaluate(async (canvas) => {
    const copy = document.createElement('canvas');
    [copy.width, copy.height] = [canvas.width, canvas.height];
    await new Promise((frame) => requestAnimationFrame(frame));
    copy.getContext('2d').drawImage(canvas, 0, 0);
    const { data } = copy.getContext('2d').getImageData(0, 0, copy.width, copy.height);
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return colours.size;
  });
  assert.ok(pixels > 3, `${pixels} colours on the canvas`);
});
await tell('map drawn', 10000);
const box = await page.locator('#map canvas').boundingBox();
await check('shows what is under the pointer', async () => assert.ok(await findPoint(page, box, 100)));
await tell('hovered', 2000);
await check('zooms', async () => {
  const star = () => page.locator('.star').first().evaluate((node) => node.style.left);
  const before = await star();
  await page.mouse.wheel(0, -400);
  await page.waitForFunction((old) => document.querySelector('.star').style.left !== old, before, { timeout: 10000 });
});
await tell('zoomed', 2000);
await check('changes its colours', async () => {
  await page.selectOption('#map select >> nth=1', 'outlier');
  await page.waitForSelector('#map canvas[data-drawn="after outlier"]', { timeout: 20000 });
});
await tell('coloured', 2000);
await check('a class of 500 images is opened, and one of them corrected', async () => {
  await page.locator('.card').first().click();
  await page.locator('dialog .tile').nth(3).click();
  await page.keyboard.press('Escape');
});
await tell('corrected', 2000);
await browser.close();
