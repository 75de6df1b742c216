// Corrections stay until they are discarded, can be taken back, and lead on. Usage: node corrections.mjs REPORT.html CHROMIUM PLAYWRIGHT_FOLDER FOLDER
// REPORT is the page of page.mjs; FOLDER holds the same of another run in "it's-2", and gets the browser's profile.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { chooseAll, downloadCorrections, openBrowser } from './browser.mjs';

const [report, executablePath, playwright, folder] = process.argv.slice(2);
const other = join(folder, "it's-2", 'report.html');
const profile = join(folder, 'profile');
const begin = () => openBrowser(executablePath, playwright, { profile });
let { browser, page, answers, check, open } = await begin();

const card = (name) => page.locator(`.card[data-class="${name}"]`);
const notice = () => page.locator('.said:visible').textContent();
const outcome = () => page.locator('#corrections .outcome').textContent();
const closeDialog = () => page.keyboard.press('Escape');
const reload = async () => {
  await page.reload();
  await page.waitForSelector('html[data-ready]');
};
const rename = async (name, target) => {
  await card(name).click();
  await page.fill('dialog input[type=text]', target);
  await page.keyboard.press('Enter');
  await closeDialog();
};
const mergeInto = async (name, target) => {
  await card(name).click();
  await page.selectOption('dialog select', target);
  await closeDialog();
};
const accept = async (name) => {
  await card(name).click();
  await page.click('dialog button:has-text("Accept as a class")');
  await closeDialog();
};
const discardAll = async () => {
  answers.push(true);
  await page.click('#corrections button:has-text("Discard all")');
};
const importFile = async (...lines) => {
  const file = join(folder, 'import.csv');
  await writeFile(file, lines.join('\r\n'));
  await page.setInputFiles('#corrections input[type=file]', file);
};
const refusal = async () => {
  await page.waitForSelector('#corrections .problem[role=alert]:visible');
  return page.locator('#corrections .problem[role=alert]').textContent();
};
const image = (number) => `images/${String(number).padStart(2, '0')} "quoted" <b>&'.png`;
const inCsv = (path) => `"${path.replaceAll('"', '""')}"`;

await check('corrections are there after a reload, and the page says so', async () => {
  await open(report);
  assert.equal(await page.locator('.said:visible').count(), 0);
  assert.equal(await page.locator('button.download:visible').count(), 0);
  await rename('new-01', 'barn owl');
  await mergeInto('new-02', 'new-01');
  await reload();
  assert.match(await notice(), /^2 corrections from before, kept in this browser\./);
  assert.match(await card('new-01').textContent(), /barn owl/);
  assert.deepEqual(await downloadCorrections(page), ['action,path,class,target', 'rename,,new-01,barn owl', 'merge,,new-02,new-01']);
});
await check('another run in the same browser has its own', async () => {
  await open(other);
  assert.equal(await page.locator('.said:visible').count(), 0);
  assert.doesNotMatch(await card('new-01').textContent(), /barn owl/);
  await rename('new-01', 'heron');
  await open(report);
  assert.match(await card('new-01').textContent(), /barn owl/);
});
await check('they are there when the browser is closed and opened again', async () => {
  await browser.close();
  ({ browser, page, answers, check, open } = await begin());
  await open(report);
  assert.match(await notice(), /^2 corrections from before/);
  assert.match(await card('new-02').textContent(), /merged into barn owl/);
});
await check('another tab of the same run shows what was corrected', async () => {
  const second = await page.context().newPage();
  await second.goto(page.url());
  await second.waitForSelector('html[data-ready]');
  await accept('new-01');
  await second.waitForSelector('.card[data-class="new-01"]:has-text("accepted")');
  await second.close();
});
await check('every name of a class follows when it is renamed', async () => {
  await page.locator('#attention').scrollIntoViewIfNeeded();
  await page.waitForSelector('#attention .strip button');
  await page.locator('#attention .strip button').nth(1).click();
  await rename('new-01', 'owl of barns');
  assert.match(await card('new-02').textContent(), /merged into owl of barns/);
  assert.match(await page.locator('#attention h3').textContent(), /^owl of barns \(new/);
  assert.ok((await page.locator('.confusion thead').textContent()).includes('owl of barns'));
  assert.ok((await page.locator('.confusion td').evaluateAll((all) => all.map((one) => one.title))).includes('new-01 taken for owl of barns: 20'));
  await card('new-02').click();
  assert.ok((await page.locator('dialog select option').allTextContents()).includes('owl of barns'));
  await closeDialog();
  // Labels by the rule of the program: 10 of 20 images are at or above the median.
  assert.equal(await outcome(), '3 corrections. They label 10 images for the next round: 10 as owl of barns.');
});
await check('undo goes back step by step, by button and by Ctrl-Z, also what was there before the page was loaded', async () => {
  await reload();
  await page.click('.at-hand .undo');
  assert.match(await notice(), /Undone: new-01 is called owl of barns\./);
  assert.match(await card('new-02').textContent(), /merged into barn owl/);
  await page.keyboard.press('Control+z');
  assert.doesNotMatch(await card('new-01').textContent(), /accepted/);
  // In a dialog too, which follows; but in a field it undoes what was typed.
  await card('new-02').click();
  assert.equal(await page.locator('dialog select').inputValue(), 'new-01');
  await page.fill('dialog input[type=text]', 'typed');
  await page.keyboard.press('Control+z');
  assert.equal(await page.locator('dialog select').inputValue(), 'new-01');
  await page.locator('dialog .close').focus();
  await page.keyboard.press('Control+z');
  assert.equal(await page.locator('dialog select').inputValue(), '');
  await closeDialog();
  await page.keyboard.press('Control+z');
  assert.equal(await page.locator('button.download:visible').count(), 0);
  await reload();
  assert.equal(await page.locator('.said:visible').count(), 0);
});
await check('classes cannot be merged in a circle', async () => {
  await mergeInto('new-02', 'new-01');
  await card('new-01').click();
  assert.ok(!(await page.locator('dialog select option').evaluateAll((all) => all.map((one) => one.value))).includes('new-02'));
  await closeDialog();
});
await check('discarding all asks first', async () => {
  answers.push(false);
  await page.click('#corrections button:has-text("Discard all")');
  assert.match(await card('new-02').textContent(), /merged into/);
  await discardAll();
  assert.doesNotMatch(await card('new-02').textContent(), /merged into/);
  await reload();
  assert.equal(await page.locator('.said:visible').count(), 0);
});
await check('an image is moved to a class, or to a new name', async () => {
  await rename('new-02', 'tawny owl');
  await card('new-01').click();
  const tiles = page.locator('dialog .tile');
  await page.check('dialog input[value=move]');
  await tiles.nth(0).click();
  assert.ok(await page.locator('dialog .problem').isVisible());
  await page.fill('dialog .clicks input[type=text]', 'tawny owl');
  await tiles.nth(0).click(); // the most typical: 78
  await page.fill('dialog .clicks input[type=text]', '<img src=x onerror="window.hacked=3">');
  await tiles.nth(1).focus();
  await page.keyboard.press('Enter');
  await tiles.nth(2).click();
  await tiles.nth(2).click(); // taken back
  assert.equal(await tiles.nth(0).locator('.word').textContent(), '→ tawny owl');
  assert.match(await page.locator('dialog .note').nth(1).textContent(), /labels the 8 most typical images/);
  await closeDialog();
  assert.deepEqual((await downloadCorrections(page)).slice(2), [
    `move,${inCsv(image(78))},new-01,new-02`,
    `move,${inCsv(image(74))},new-01,"<img src=x onerror=""window.hacked=3"">"`,
  ]);
  assert.match(await card('new-01').textContent(), /images: 2 moved away/);
  assert.match(await card('new-02').textContent(), /images: 1 moved here/);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('main img').count(), 0);
});
await check('what is said of an image replaces what was said before', async () => {
  await card('new-01').click();
  await page.locator('dialog .tile').nth(0).click();
  assert.equal(await page.locator('dialog .tile.wrong').count(), 1);
  await closeDialog();
  const rows = (await downloadCorrections(page)).filter((line) => line.includes(inCsv(image(78))));
  assert.deepEqual(rows, [`wrong,${inCsv(image(78))},new-01,`]);
  await discardAll();
});
await check('images that are chosen on the map are moved, or accepted', async () => {
  await page.locator('#map canvas').scrollIntoViewIfNeeded();
  await page.waitForSelector('#map canvas[data-drawn="after class"]', { timeout: 20000 });
  await chooseAll(page);
  await page.fill('.chosen input', 'owl');
  await page.keyboard.press('Enter');
  assert.match(await page.locator('.chosen [role=status]').textContent(), /^60 images moved to owl; 20 were predicted as it already\.$/);
  const moved = (await downloadCorrections(page)).slice(1);
  assert.equal(moved.length, 60);
  assert.ok(moved.includes(`move,${inCsv(image(2))},new-01,owl`), moved[0]);
  assert.equal(await page.locator('.chosen .tile.move').count(), 60);
  assert.match(await outcome(), /They label 60 images for the next round: 60 as owl\./);
  await page.click('.chosen button:has-text("Accept these")');
  const accepted = (await downloadCorrections(page)).slice(1);
  assert.equal(accepted.length, 80);
  assert.ok(accepted.includes(`accept,${inCsv(image(2))},new-01,`), accepted[0]);
  await page.click('.at-hand .undo'); // one step each
  assert.equal((await downloadCorrections(page)).length, 61);
  await page.click('.at-hand .undo');
  assert.equal(await page.locator('button.download:visible').count(), 0);
});
await check('a file is taken over whole', async () => {
  await rename('new-02', 'mine');
  const rows = ['rename,,new-01,"barn, owl"', 'merge,,new-02,new-01', `wrong,${inCsv(image(2))},new-01,`, `move,${inCsv(image(6))},new-01,heron`, 'accept,,new-01,', `accept,${inCsv(image(3))},new-02,`];
  await importFile('action,path,class,target', ...rows);
  await page.waitForSelector('.said:has-text("6 corrections of import.csv taken over")');
  assert.deepEqual((await downloadCorrections(page)).slice(1), ['rename,,new-02,mine', ...rows]);
  await page.keyboard.press('Control+z');
  assert.deepEqual((await downloadCorrections(page)).slice(1), ['rename,,new-02,mine']);
});
await check('a file may turn a merge around, but not close a circle', async () => {
  await importFile('action,path,class,target', 'merge,,new-01,new-02');
  await page.waitForSelector('.said:has-text("1 correction of")');
  await importFile('action,path,class,target', 'merge,,new-02,new-01');
  assert.equal(await refusal(), "import.csv, line 2: class 'new-02' is merged in a circle. Nothing was taken over.");
  await importFile('action,path,class,target', 'merge,,new-02,new-01', 'merge,,new-01,owl');
  await page.waitForSelector('.said:has-text("2 corrections of")');
  await page.keyboard.press('Control+z');
  await page.keyboard.press('Control+z');
});
await check('a file that does not fit is refused by its line, and changes nothing', async () => {
  const good = 'rename,,new-01,heron';
  const refused = async (line, why) => {
    await importFile('action,path,class,target', good, line);
    assert.equal(await refusal(), `import.csv, line 3: ${why}. Nothing was taken over.`);
  };
  await refused('rename,,new-09,x', "the run has no images of class 'new-09'");
  await refused('wrong,images/99.png,new-01,', "the run has no image 'images/99.png'");
  await refused(`move,${inCsv(image(2))},new-02,owl`, `the run did not find image '${image(2)}' to be of class 'new-02'`);
  await refused(`move,${inCsv(image(2))},new-01, `, 'move needs a target');
  await refused('merge,,new-01,nothing', "the run has no class 'nothing' to merge into");
  await refused('merge,,new-01,new-01', "class 'new-01' is merged in a circle");
  await refused('erase,,new-01,', "action 'erase' is not rename, merge, wrong, accept, move");
  await refused('wrong,,new-01,', "the run has no image ''");
  await refused('rename,,new-01', '3 fields, but the header has 4');
  await refused('rename,,new-01,owl', 'line 2 is about the same class');
  await refused('rename,,"new-01,owl', 'a quoted field is never closed');
  await importFile('action;path;class;target', good);
  assert.match(await refusal(), /^import\.csv, line 1: the columns must be action,path,class,target/);
  assert.deepEqual((await downloadCorrections(page)).slice(1), ['rename,,new-02,mine']);
});
await check('the command of the next round is shown as it has to be typed', async () => {
  const command = () => page.locator('.command').textContent();
  const run = dirname(report);
  await reload();
  assert.equal(await page.locator('.command:visible').count(), 0);
  await downloadCorrections(page);
  assert.equal(await command(), `protogcd discover --config ${run}/config.toml --corrections ~/Downloads/corrections.csv --previous ${run} --out ${run}-2`);
  assert.equal(await page.locator('.next .problem:visible').count(), 0);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.click('.next button:has-text("Copy")');
  await page.waitForSelector('.next button:has-text("Copied")');
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await command());
  await accept('new-01');
  assert.ok(await page.locator('.next .problem').isVisible());
  await open(other);
  await downloadCorrections(page);
  await page.fill('.next input', '~/my files/corrections.csv');
  const quoted = (end) => `'${folder}/it'\\''s-${end}'`;
  assert.equal(await command(), `protogcd discover --config ${quoted('2/config.toml')} --corrections ~/'my files/corrections.csv' --previous ${quoted('2')} --out ${quoted('3')}`);
});
await check('a long name leaves the badge in one line', async () => {
  await open(report);
  const height = (name) => card(name).locator('em').evaluate((badge) => badge.getBoundingClientRect().height);
  await rename('new-01', 'a name that is far too long '.repeat(9));
  assert.equal(await height('new-01'), await height('new-02'));
});
await check('where the browser keeps nothing the page says so and asks before it is left', async () => {
  const warning = () => page.locator('.trouble:visible').textContent();
  const context = page.context();
  for (const [why, deny] of [
    ['access is denied', () => Object.defineProperty(window, 'localStorage', { get() { throw new Error('access is denied'); } })],
    ['no room', () => { Storage.prototype.setItem = () => { throw new Error('no room'); }; }],
  ]) {
    page = await context.newPage();
    const asked = [];
    page.on('dialog', (dialog) => { asked.push(dialog.type()); return dialog.accept(); });
    await page.addInitScript(deny);
    await page.goto(`file://${report}`);
    await page.waitForSelector('html[data-ready]');
    assert.equal(await page.locator('.trouble:visible').count(), why === 'no room' ? 0 : 1);
    await rename('owl', 'an owl');
    assert.match(await warning(), new RegExp(`^This browser does not keep corrections \\(${why}\\)\\. Download them`));
    await reload();
    assert.deepEqual(asked, ['beforeunload'], why);
    await rename('owl', 'an owl');
    await downloadCorrections(page);
    await reload();
    assert.deepEqual(asked, ['beforeunload'], why);
  }
});
await browser.close();
