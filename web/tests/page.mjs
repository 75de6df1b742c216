// Drives a report page in a real browser, as a person would. Usage: node page.mjs REPORT.html CHROMIUM PLAYWRIGHT_FOLDER FOLDER
// The page is that of tests/report/report_test.cpp: hostile names, two known classes and two new ones.
import assert from 'node:assert/strict';
import { chooseAll, downloadCorrections, findPoint, openBrowser } from './browser.mjs';

const [report, executablePath, playwright, folder] = process.argv.slice(2);
const { browser, page, check, open } = await openBrowser(executablePath, playwright, { viewport: { width: 1200, height: 300 } });
const cards = () => page.locator('.card:visible');

await check('loads with every section', async () => {
  await open(report);
  for (const id of ['summary', 'classes', 'map', 'attention', 'outliers', 'findings', 'confusion', 'training', 'skipped', 'configuration']) {
    assert.equal(await page.locator(`section#${id}`).count(), 1, id);
  }
  assert.equal(await cards().count(), 4);
});
await check('a card says how stable its class is, and classes are sorted by it', async () => {
  const names = () => page.locator('.card .facts:has-text("stable")').allTextContents();
  const shares = async () => (await names()).map((text) => Number(/([0-9]+)% stable/.exec(text)[1]));
  await page.selectOption('#classes select >> nth=1', 'stability');
  assert.deepEqual(await shares(), [50, 30, 90, 70], 'new classes first');
  await page.selectOption('#classes select >> nth=1', 'images');
});
/** Chooses in the map's lists without scrolling to them. */
const choose = (...choices) =>
  page.evaluate((all) => {
    for (const [nth, value] of all) {
      const list = document.querySelectorAll('#map select')[nth];
      list.value = value;
      list.dispatchEvent(new Event('change'));
    }
  }, choices);
await check('the map waits until it is looked at, thumbnails do not', async () => {
  await page.waitForFunction(() => getComputedStyle(document.querySelector('.card .thumb')).backgroundImage.startsWith('url("blob:'));
  assert.equal(await page.locator('.star').count(), 0);
  await choose([0, 'before'], [1, 'confidence']);
  assert.equal(await page.locator('.star').count(), 0);
  await page.setViewportSize({ width: 1200, height: 900 });
});
await check('hostile names are text', async () => {
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.ok((await page.locator('.card .name').allTextContents()).some((name) => name.includes('<img src=x')));
  assert.equal(await page.locator('main img[src="x"]').count(), 0);
});
await check('findings show given and suggested classes, groups and what was left out, all of it as text', async () => {
  const part = (kind) => page.locator(`#findings [data-kind="${kind}"]`);
  assert.equal(await part('label-error').locator('figure').count(), 1);
  assert.match(await part('label-error').textContent(), /owl, looks like <img src=x onerror/);
  assert.match(await part('label-error').locator('a').getAttribute('href'), /^file:\/\/.*%3Cb%3E/);
  await page.waitForFunction(() => getComputedStyle(document.querySelector('#findings .thumb')).backgroundImage.startsWith('url("blob:'));
  assert.equal(await part('near-duplicate').locator('figure').count(), 1);
  assert.equal(await part('near-duplicate').locator('.thumb').count(), 37);
  assert.match(await part('near-duplicate').textContent(), /eagle = labelled as owl/);
  assert.match(await part('near-duplicate').textContent(), /4 more are in findings\.csv/);
  assert.equal(await part('dark').locator('a').count(), 0, 'a path that is no file leads nowhere');
  assert.match(await part('dark').textContent(), /javascript:window/);
  assert.equal(await part('blurred').count(), 0);
  assert.match(await page.locator('#findings').textContent(), /Not looked for: <u>too many<\/u>\./);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
});
await check('the number of classes is drawn and told in words', async () => {
  await page.waitForSelector('.estimate canvas');
  assert.equal(await page.locator('.estimate .chart').getAttribute('aria-label'), 'Score of 3 to 5 classes: 0.200 for 3, 0.520 for 5, and 0.500 for the estimate, 4');
  assert.match(await page.locator('.estimate figcaption').textContent(), /estimate, 4; the band is its interval, 3 to 5\. It is read from these values smoothed/);
  assert.match(await page.locator('.figures').textContent(), /9 s of it to count classes/);
});
await check('how far confidence is to be trusted is told in words', async () => {
  assert.match(await page.locator('.confidence').textContent(), /^Confidence was checked on 50 labelled images.* is 4 points off .* would be 21 as/);
});
await check('settings that were tried are told in words', async () => {
  assert.match(await page.locator('.tuning').textContent(), /lambda_entropy x 2 gets 60\.0%.*it is taken: lambda_entropy 3, borrow 1/);
  assert.match(await page.locator('.figures').textContent(), /5 s of it to try settings/);
});
await check('intervals and the best epoch by the truth are told', async () => {
  assert.match(await page.locator('.chance').textContent(), /^95%: 95\.9 to 98\.8%$/);
  assert.match(await page.locator('.chance').getAttribute('title'), /new 95\.0 to 99\.0%/);
  const rows = await page.locator('.epochs tr').evaluateAll((all) => all.map((row) => [...row.children].map((one) => one.textContent).join('|')));
  assert.deepEqual(rows, ['|epoch|all|known|new', 'last|3|97.5%|98.0%|–', 'best on the unlabelled images|2|98.5%|98.0%|99.0%']);
  assert.match(await page.locator('.epochs').textContent(), /best of 3 evaluated epochs by the truth: an oracle/);
});
await check('search finds classes', async () => {
  await page.fill('input[type=search]', 'owl');
  assert.equal(await cards().count(), 1);
  await page.fill('input[type=search]', 'no such class');
  assert.equal(await cards().count(), 0);
  await page.fill('input[type=search]', '');
  assert.equal(await cards().count(), 4);
});
await check('the map is drawn, zooms, shows what is under the pointer, and lets images be chosen', async () => {
  const canvas = page.locator('#map canvas');
  await canvas.scrollIntoViewIfNeeded();
  // What was chosen before there was a map, and what is chosen while it is drawn, count.
  await page.waitForSelector('#map canvas[data-drawn="before confidence"]', { timeout: 20000 });
  await choose([0, 'after'], [1, 'truth'], [1, 'class']);
  await page.waitForSelector('#map canvas[data-drawn="after class"]', { timeout: 20000 });
  const box = await canvas.boundingBox();
  const star = () => page.locator('.star').first().evaluate((node) => node.style.left);
  assert.ok(await findPoint(page, box), 'no thumbnail under the pointer');
  await page.selectOption('#map select >> nth=1', 'outlier');
  await page.waitForSelector('#map canvas[data-drawn="after outlier"]');
  await page.selectOption('#map select >> nth=0', 'before');
  await page.waitForSelector('#map canvas[data-drawn="before outlier"]');
  await page.selectOption('#map select >> nth=0', 'after');
  await page.waitForSelector('#map canvas[data-drawn="after outlier"]');
  const before = await star();
  await page.mouse.move(box.x + box.width / 3, box.y + box.height / 3);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction((old) => document.querySelector('.star').style.left !== old, before, { timeout: 10000 });
  await chooseAll(page);
});
await check('attention is shown per head, before and after, and told in words', async () => {
  await page.locator('#attention').scrollIntoViewIfNeeded();
  await page.waitForSelector('#attention .strip button');
  assert.equal(await page.locator('#attention .strip button').count(), 3);
  assert.match(await page.locator('#attention h3').textContent(), /<img src=x/);
  await page.locator('#attention .strip button').nth(1).focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#attention .strip button').nth(1).getAttribute('aria-pressed'), 'true');
  assert.match(await page.locator('#attention h3').textContent(), /^new-01 \(new/);
  const labels = await page.locator('#attention .heads canvas').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
  assert.equal(labels.length, 1 + 2 * 2);
  assert.equal(labels[1], 'Head 1 before training looks mostly in the middle; half of its attention lies on 50% of the picture');
  assert.equal(labels[4], 'Head 2 after training looks mostly at the bottom right; half of its attention lies on 6% of the picture');
  const reddest = (nth, x, y) => page.locator('#attention .heads canvas').nth(nth).evaluate((canvas, [x, y]) => {
    const [red, green] = canvas.getContext('2d').getImageData(x, y, 1, 1).data;
    return red - green;
  }, [x, y]);
  assert.ok(await reddest(4, 7, 7) > 100, 'red where the head looks');
  assert.ok(Math.abs(await reddest(4, 0, 0)) < 20, 'grey where it does not');
});
await check('corrections are made and downloaded', async () => {
  await page.click('.card[data-class="new-01"]');
  await page.fill('dialog input[type=text]', 'barn, owl');
  await page.click('dialog button[type=submit]');
  await page.click('dialog button:has-text("Accept as a class")');
  await page.locator('dialog .tile').nth(1).click();
  await page.keyboard.press('Escape');
  await page.click('.card[data-class="new-02"]');
  await page.selectOption('dialog select', 'new-01');
  await page.keyboard.press('Escape');
  const lines = await downloadCorrections(page);
  assert.equal(lines[0], 'action,path,class,target');
  assert.ok(lines.includes('rename,,new-01,"barn, owl"'), lines.join('\n'));
  assert.ok(lines.includes('accept,,new-01,'), lines.join('\n'));
  assert.ok(lines.includes('merge,,new-02,new-01'), lines.join('\n'));
  assert.equal(lines.filter((line) => line.startsWith('wrong,')).length, 1);
  assert.equal(lines.length, 5);
});
await check('everything can be reached by the keyboard', async () => {
  await page.locator('.card').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog[open]');
  await page.fill('dialog input[type=text]', 'a better name');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('dialog[open]').count(), 0);
  // The card says what was changed and has the focus again.
  assert.match(await page.evaluate(() => document.activeElement.textContent), /a better name/);
});
await check('marks on a card go when they are taken back', async () => {
  const card = page.locator('.card[data-class="new-01"]');
  assert.match(await card.textContent(), /accepted/);
  await card.click();
  await page.click('dialog button:has-text("Accepted")');
  await page.keyboard.press('Escape');
  assert.doesNotMatch(await card.textContent(), /accepted/);
});
await check('what cannot be shown says why', async () => {
  await page.addInitScript(() => {
    window.ResizeObserver = function () {
      throw new Error('no <b>observer</b> today');
    };
    window.createImageBitmap = () => Promise.reject(new Error('no pictures today'));
  });
  await open(report);
  await page.locator('#map').scrollIntoViewIfNeeded();
  await page.waitForSelector('#map .note:text("could not be drawn: no <b>observer</b> today")', { timeout: 20000 });
  assert.equal(await page.locator('#map select').count(), 0);
  await page.locator('#attention').scrollIntoViewIfNeeded();
  await page.waitForSelector('#attention .note:text("could not be shown: no pictures today")', { timeout: 20000 });
  assert.equal(await page.locator('section#configuration').count(), 1);
});
await check('a first look says that it was one, and which command trains', async () => {
  await open(`${folder}/first-look/report.html`);
  assert.equal(await page.locator('#summary .lead code').textContent(), "protogcd discover --out '<b>'");
  assert.match(await page.locator('#summary').textContent(), /without training/);
  assert.equal(await page.locator('section#training').count(), 0);
  await open(report);
  assert.equal(await page.locator('#summary .lead').count(), 0);
});
await browser.close();

const plain = await openBrowser(executablePath, playwright, { webgl: false });
await plain.open(report);
await plain.page.locator('#map').scrollIntoViewIfNeeded();
await plain.page.waitForSelector('#map :text("no WebGL")');
assert.equal(await plain.page.locator('section#configuration').count(), 1);
console.log('ok without WebGL the map says so and the rest works');
await plain.browser.close();
