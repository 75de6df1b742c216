// What to label next, and the likeliest classes of an image. Usage: node queue.mjs REPORT.html CHROMIUM PLAYWRIGHT_FOLDER FOLDER
// REPORT is the page of page.mjs, whose queue holds images 6 (new-01), 40 (a hostile name) and 3 (new-02); FOLDER holds the page of
// an older run in "it's-2".
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { downloadCorrections, findPoint, openBrowser } from './browser.mjs';

const [report, executablePath, playwright, folder] = process.argv.slice(2);
const { browser, page, answers, check, open } = await openBrowser(executablePath, playwright);
const image = (number) => `images/${String(number).padStart(2, '0')} "quoted" <b>&'.png`;
const inCsv = (path) => `"${path.replaceAll('"', '""')}"`;
const why = () => page.locator('#queue .facts').textContent();
const state = () => page.locator('#queue [role=status]').textContent();
const tile = (place) => page.locator('#queue .tile').nth(place);

await check('asks for the first image, with its three likeliest classes', async () => {
  await open(report);
  assert.equal(await page.locator('#queue .tile').count(), 3);
  assert.equal(await why(), '1 of 3: new-01 has no label yet.');
  const choices = await page.locator('#queue .asked .controls').first().locator('button').allTextContents();
  assert.deepEqual(choices.map((text) => text.replace(/\s+/g, ' ').trim().slice(0, 20)), ['1 new-01 90%', '2 new-02 10%', '3 <img src=x onerror']);
  assert.match(choices[2], / below 1%$/);
  assert.equal(await page.locator('#queue .picture').getAttribute('aria-label'), image(6));
  assert.match(await page.locator('#queue .picture').evaluate((box) => getComputedStyle(box).backgroundImage), /^url\("data:image\/jpeg;base64,/);
});
await check('keys answer and skip, and answers are corrections', async () => {
  await page.locator('#queue .asked').focus();
  await page.keyboard.press('1'); // as it was predicted
  assert.match(await why(), /^2 of 3: hardly told from <img src=x/);
  await page.keyboard.press('s');
  assert.equal(await why(), '3 of 3: new-02 has no label yet.');
  await page.keyboard.press('4'); // no such choice
  assert.equal(await why(), '3 of 3: new-02 has no label yet.');
  await page.keyboard.press('3'); // owl
  assert.match(await state(), /^2 of 3 answered, 1 skipped\. Download/);
  assert.equal(await tile(0).locator('.word').textContent(), '✓');
  assert.equal(await tile(1).locator('.word').textContent(), 'skipped');
  assert.equal(await tile(2).locator('.word').textContent(), '→ owl');
  assert.deepEqual((await downloadCorrections(page)).slice(1), [`accept,${inCsv(image(6))},new-01,`, `move,${inCsv(image(3))},new-02,owl`]);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
});
await check('another name can be typed, digits and s in it are no keys', async () => {
  await tile(1).click();
  await page.fill('#queue input', '');
  await page.locator('#queue input').pressSequentially('1 <b>sloth</b>, s');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#queue .asked').evaluate((box) => box === document.activeElement), true);
  assert.equal(await tile(1).locator('.word').textContent(), '→ 1 <b>sloth</b>, s');
  assert.equal(await page.locator('datalist option').last().getAttribute('value'), '1 <b>sloth</b>, s'); // offered from now on
  assert.equal(await state(), '3 of 3 answered. Download the corrections and go on with the next round');
  assert.ok((await downloadCorrections(page)).at(-1).endsWith(',"1 <b>sloth</b>, s"'));
});
await check('undo opens the question again, a reload keeps the answers', async () => {
  await page.keyboard.press('Control+z');
  assert.equal(await tile(1).locator('.word').textContent(), '');
  assert.equal(await state(), '2 of 3 answered.');
  await page.reload();
  await page.waitForSelector('html[data-ready]');
  assert.equal(await state(), '2 of 3 answered.');
  assert.match(await why(), /^2 of 3: /); // the one that is open
});
await check('a class is offered by the name it has now', async () => {
  await page.click('.card[data-class="new-02"]');
  await page.fill('dialog input[type=text]', 'heron');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await tile(2).click();
  assert.match(await page.locator('#queue .asked .controls button').first().textContent(), /^1 heron 90%$/);
  await page.locator('#queue .asked').focus();
  await page.keyboard.press('1');
  assert.ok((await downloadCorrections(page)).includes(`accept,${inCsv(image(3))},new-02,`));
});
await check('the dialog of a class and the map tell the likeliest classes of an image', async () => {
  await page.click('.card[data-class="new-01"]');
  const words = () => page.locator('dialog .likely').textContent();
  assert.ok((await words()).startsWith('new-01 90%, heron 10%, <img src=x'), await words());
  assert.ok((await words()).endsWith(`below 1% for ${image(78)}`), await words());
  await page.locator('dialog .tile').nth(3).hover();
  assert.ok((await words()).endsWith(` for ${image(66)}`), await words());
  await page.locator('dialog .tile').nth(1).focus();
  assert.ok((await words()).endsWith(` for ${image(74)}`), await words());
  await page.keyboard.press('Escape');
  const canvas = page.locator('#map canvas');
  await canvas.scrollIntoViewIfNeeded();
  await page.waitForSelector('#map canvas[data-drawn="after class"]', { timeout: 20000 });
  assert.ok(await findPoint(page, await canvas.boundingBox()), 'no image under the pointer');
  assert.match(await page.locator('.hover').textContent(), / 90%.* 10%.* below 1%$/s);
  assert.equal(await page.locator('main img').count(), 0);
});
await check('an older run has neither, and its page works', async () => {
  await open(join(folder, "it's-2", 'report.html'));
  assert.equal(await page.locator('#queue').count(), 0);
  await page.click('.card[data-class="new-01"]');
  assert.equal(await page.locator('dialog .likely').textContent(), '');
});
assert.deepEqual(answers, []);
await browser.close();
