// A person corrects a run on its page, knowing what the images are.
// Usage: node correct.mjs REPORT.html CHROMIUM PLAYWRIGHT_FOLDER TRUTH.csv CORRECTIONS.csv
// New classes of which half or more is of one kind are named after it and accepted, a smaller one of the same kind is merged
// into the larger, and what does not belong among their typical images is marked as wrong. The corrections are downloaded to CORRECTIONS.csv.
// Prints how many images they label, and on the last line the command of the next round, both as the page says it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { openBrowser } from './browser.mjs';

const [report, executablePath, playwright, truthFile, out] = process.argv.slice(2);
// Paths of the truth and of the run are relative to different folders.
const key = (path) => path.split('/').slice(-2).join('/');
const truths = new Map((await readFile(truthFile, 'utf8')).trim().split(/\r?\n/).slice(1).map((line) => {
  const [path, label] = line.split(',');
  return [key(path), label];
}));

const { browser, page, check, open } = await openBrowser(executablePath, playwright);
await open(report);
await page.selectOption('#classes select >> nth=0', 'new');
const found = await page.locator('.card').evaluateAll((cards) => cards.map((card) => {
  const [, kind, share] = /in truth (.+) \((\d+)%\)/.exec(card.textContent) ?? [null, '', '0'];
  const [, images] = /([\d,]+) images/.exec(card.textContent);
  return { name: card.dataset.class, kind, share: Number(share), images: Number(images.replaceAll(',', '')) };
}));
found.sort((a, b) => b.images - a.images);
const largest = new Map(); // kind -> class
for (const one of found.filter((card) => card.share >= 50)) {
  await check(`${one.name}: ${one.kind}`, async () => {
    await page.click(`.card[data-class="${one.name}"]`);
    if (largest.has(one.kind)) {
      await page.selectOption('dialog select', largest.get(one.kind));
    } else {
      largest.set(one.kind, one.name);
      await page.fill('dialog input[type=text]', one.kind);
      await page.click('dialog button[type=submit]');
    }
    await page.click('dialog button:has-text("Accept as a class")');
    const tiles = page.locator('dialog .tile');
    const paths = await tiles.evaluateAll((all) => all.map((tile) => tile.querySelector('.thumb').title));
    assert.equal(paths.length, one.images);
    // The more typical half, which comes first: what an accepted class takes its labels from.
    for (const [i, path] of paths.slice(0, Math.ceil(paths.length / 2) + 1).entries()) {
      if (truths.get(key(path)) !== one.kind) await tiles.nth(i).click();
    }
    await page.keyboard.press('Escape');
  });
}
const download = page.waitForEvent('download');
await page.click('button.download');
await (await download).saveAs(out);
await page.fill('.next input', out);
console.log(/They label ([\d,]+ images)/.exec(await page.locator('.outcome').textContent())[1].replaceAll(',', ''));
console.log(await page.locator('.command').textContent());
await browser.close();
