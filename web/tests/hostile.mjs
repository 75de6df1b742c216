// A page under attack: everything that has a name is called what attacks pages (tests/report/hostile_names.json).
// Usage: node hostile.mjs REPORT.html CHROMIUM PLAYWRIGHT_FOLDER FOLDER; FOLDER/comparison.html compares two such runs.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { chooseAll, downloadCorrections, findPoint, openBrowser } from './browser.mjs';

const [report, executablePath, playwright, folder] = process.argv.slice(2);
const names = JSON.parse(await readFile(new URL('../../tests/report/hostile_names.json', import.meta.url), 'utf8'));
// A server that would answer: what is refused is refused by the page.
const visits = [];
const server = createServer((request, response) => {
  visits.push(request.url);
  response.end();
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const outside = `http://127.0.0.1:${server.address().port}`;
const { browser, page, problems, check, open } = await openBrowser(executablePath, playwright, { profile: join(folder, 'profile') });

const kTags = ('HTML HEAD META TITLE STYLE BODY A HEADER MAIN SCRIPT NOSCRIPT H1 H2 H3 NAV SPAN SECTION P DIV BUTTON SMALL STRONG EM I KBD CODE PRE CANVAS INPUT SELECT OPTION LABEL FORM '
  + 'DATALIST DIALOG FIELDSET LEGEND FIGURE FIGCAPTION TABLE THEAD TBODY TR TH TD DETAILS SUMMARY UL LI DL DT DD').split(' ');
/** Nothing on the page is there because a name says so. */
async function nothingGotIn() {
  const { tags, handlers, links, forms, inHead, hacked } = await page.evaluate(() => {
    const all = [...document.querySelectorAll('*')];
    return {
      tags: [...new Set(all.map((one) => one.tagName))],
      handlers: all.flatMap((one) => [...one.attributes].map(({ name }) => name).filter((name) => /^on|^(src|srcset|srcdoc|formaction|background|ping)$/i.test(name))),
      links: all.filter((one) => one.hasAttribute('href')).map((one) => one.getAttribute('href')),
      forms: all.filter((one) => one.hasAttribute('action')).length,
      inHead: [document.scripts.length, document.querySelectorAll('style').length, document.querySelectorAll('meta').length],
      hacked: window.hacked,
    };
  });
  assert.equal(hacked, undefined);
  assert.deepEqual(tags.filter((tag) => !kTags.includes(tag)), []);
  assert.deepEqual(handlers, []);
  assert.deepEqual(links.filter((link) => !/^(#[a-z]+$|file:\/\/|blob:)/.test(link)), []);
  assert.equal(forms, 0);
  assert.deepEqual([inHead[0], inHead[2]], [2, 4], 'scripts and meta elements');
  assert.ok(inHead[1] <= 2, 'the page\'s style and the map\'s');
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).display), 'block');
}
const texts = (selector) => page.locator(selector).evaluateAll((all) => all.map((one) => one.textContent));
const sorted = (list) => [...list].sort();

await check('every name is shown as it is', async () => {
  await open(report);
  await page.waitForFunction((all) => document.querySelectorAll('.card').length === all, names.length);
  assert.deepEqual(sorted(await texts('.card .name > span')), sorted(names));
  const cards = (await texts('.card')).join('\n');
  for (const name of names) assert.ok(cards.includes(`in truth ${name} (`), `in truth ${name}`);
  const heads = await texts('#confusion tbody th');
  assert.deepEqual(sorted(heads), sorted(names));
  const titles = new Set(await page.locator('.card .thumb').evaluateAll((all) => all.map((one) => one.title)));
  for (const [i, name] of names.entries()) assert.ok([...titles].some((title) => title.includes(`${String(i).padStart(2, '0')} ${name}`)), `a file called ${name}`);
  assert.ok([...titles].some((title) => title.includes('\ufffd')), 'a file whose name is no UTF-8');
  await nothingGotIn();
});
await check('every section holds them as text', async () => {
  for (const section of await page.locator('section').all()) {
    await section.scrollIntoViewIfNeeded();
    await page.waitForTimeout(100);
  }
  await page.waitForSelector('#attention .strip button');
  await page.locator('#map canvas').scrollIntoViewIfNeeded();
  await page.waitForSelector('#map canvas[data-drawn="after class"]', { timeout: 60000 });
  for (const colouring of ['truth', 'confidence', 'outlier', 'class']) {
    await page.selectOption('#map select >> nth=1', colouring);
    await page.waitForSelector(`#map canvas[data-drawn="after ${colouring}"]`, { timeout: 20000 });
  }
  assert.ok(await findPoint(page, await page.locator('#map canvas').boundingBox()), 'a name under the pointer');
  await nothingGotIn();
});
const noFormula = (text) => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const quoted = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const field = (text) => quoted(noFormula(text));
const renamed = (i) => `${names[(i + 5) % names.length]}!`.trim();
await check('all of them are taken from a file, as names of classes and as classes of images', async () => {
  const paths = JSON.parse(await page.locator('#data').textContent()).images.path;
  const rows = names.flatMap((name, i) => [`rename,,${field(name)},${field(renamed(i))}`, `move,${field(paths[i])},${field(name)},${field(`${name}?`)}`]);
  const file = { name: '<img src=x onerror=window.hacked=0>.csv', mimeType: 'text/csv', buffer: Buffer.from(`action,path,class,target\r\n${rows.join('\r\n')}\r\n`) };
  await page.setInputFiles('#corrections input[type=file]', file);
  await page.waitForFunction(([all, name]) => document.querySelector('.said').textContent.startsWith(`${all} corrections of ${name} taken over`), [2 * names.length, file.name]);
  assert.deepEqual(sorted(await texts('.card .name > span')), sorted(names.map((_, i) => renamed(i))));
  await nothingGotIn();
});
await check('classes are renamed and merged, and images moved, by typing them', async () => {
  for (const i of [0, 17, 34, 46, 51]) {
    const wanted = names[(i + 3) % names.length];
    await page.locator('.card').evaluateAll((all, name) => all.find((one) => one.dataset.class === name).click(), names[i]);
    await page.fill('dialog input[aria-label="Name of the class"]', wanted);
    await page.press('dialog input[aria-label="Name of the class"]', 'Enter');
    assert.equal(await page.locator('dialog h2').textContent(), wanted);
    await page.fill('dialog .clicks input[type=text]', `${wanted}?`);
    await page.locator('dialog .tile').last().click();
    await page.selectOption('dialog select', { value: wanted });
    await page.keyboard.press('Escape');
    for (let times = 0; times < 3; times++) await page.click('.at-hand .undo');
  }
  assert.deepEqual(sorted(await texts('.card .name > span')), sorted(names.map((_, i) => renamed(i))));
  await nothingGotIn();
});
await check('what is typed for the next labels and for a lasso is text', async () => {
  await page.locator('#queue input').fill(names[0]);
  await page.click('#queue button:has-text("It is of this class")');
  await page.locator('#map canvas').scrollIntoViewIfNeeded();
  await chooseAll(page);
  await page.fill('.chosen input', names[4]);
  await page.click('.chosen button:has-text("Move them there")');
  assert.ok((await page.locator('.chosen p[role=status]').textContent()).includes(names[4]));
  await page.click('.at-hand .undo');
  await page.fill('input[type=search]', names[5]);
  await page.fill('input[type=search]', '');
  await nothingGotIn();
});
await check('the downloaded file holds them, and a new page knows them again', async () => {
  const lines = await downloadCorrections(page);
  for (const [i, name] of names.entries()) {
    const row = `rename,,${field(name)},${field(renamed(i))}`;
    assert.ok(lines.includes(row), row);
  }
  await open(report);
  await page.waitForFunction((all) => document.querySelectorAll('.card').length === all, names.length);
  assert.deepEqual(sorted(await texts('.card .name > span')), sorted(names.map((_, i) => renamed(i))));
  await nothingGotIn();
});
await check('files are refused in words', async () => {
  for (const name of names.slice(0, 12)) {
    const file = { name: 'a<b>.csv', mimeType: 'text/csv', buffer: Buffer.from(`action,path,class,target\r\naccept,,"no ${name.replaceAll('"', '""')}",\r\n`) };
    await page.setInputFiles('#corrections input[type=file]', file);
    await page.waitForFunction((name) => document.querySelector('#corrections [role=alert]').textContent === `a<b>.csv, line 2: the run has no images of class 'no ${name}'. Nothing was taken over.`, name);
  }
  await nothingGotIn();
});

/** What happens to each attempt of code that runs in the page; the browser says on its console what it refuses. */
async function attempts() {
  const outcome = await page.evaluate(async (outside) => {
    const blocked = [];
    document.addEventListener('securitypolicyviolation', (event) => blocked.push(event.effectiveDirective));
    const refused = (work) => { try { work(); return false; } catch { return true; } };
    const rejected = (promise) => promise.then(() => false, () => true);
    const add = (tag, attributes, text = '') => {
      const element = document.createElement(tag);
      try {
        for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
        element.textContent = text;
      } catch { /* trusted types */ }
      document.body.append(element);
      return element;
    };
    const told = {
      fetch: await rejected(fetch(`${outside}/fetch`)),
      html: refused(() => { document.createElement('div').innerHTML = '<b>'; }),
      write: refused(() => document.write('<b>')),
      socket: refused(() => new WebSocket(outside.replace('http', 'ws'))) || 'later',
      worker: refused(() => new Worker(`${outside}/worker.js`)),
    };
    const image = new Image();
    const failed = new Promise((fails) => { image.onerror = () => fails(true); image.onload = () => fails(false); });
    image.src = `${outside}/image.png`;
    told.image = await failed;
    add('script', {}, 'window.hacked = "inline"');
    add('script', { src: `${outside}/script.js` });
    add('iframe', { src: `${outside}/frame` });
    add('object', { data: `${outside}/object` });
    add('link', { rel: 'stylesheet', href: `${outside}/style.css` });
    add('style', {}, 'body { display: none }');
    add('base', { href: outside });
    add('video', { src: `${outside}/video` });
    add('button', { onclick: 'window.hacked = "handler"' }).click();
    add('a', { href: 'javascript:window.hacked="address"' }).click();
    navigator.sendBeacon(`${outside}/beacon`);
    add('form', { action: `${outside}/form` }).submit();
    await new Promise((later) => setTimeout(later, 700));
    return { ...told, hacked: window.hacked, base: document.baseURI.startsWith('file:'), display: getComputedStyle(document.body).display, blocked: [...new Set(blocked)].sort(), here: location.protocol };
  }, outside);
  assert.deepEqual(problems.filter((text) => !/Content Security Policy|Trusted|content security policy|a request left the page|violates the following/i.test(text)), []);
  problems.length = 0; // each refusal is told on the console, and asking counts as a request of the page
  return outcome;
}
await check('code in the page can neither fetch, send, load nor write elements', async () => {
  const { blocked, ...rest } = await attempts();
  assert.deepEqual(rest, { fetch: true, html: true, write: true, socket: rest.socket, worker: true, image: true, hacked: undefined, base: true, display: 'block', here: 'file:' });
  for (const directive of ['base-uri', 'connect-src', 'form-action', 'frame-src', 'img-src', 'media-src', 'script-src-attr', 'script-src-elem', 'style-src-elem']) {
    assert.ok(blocked.includes(directive), `${directive} of ${blocked}`);
  }
  assert.deepEqual(visits, []);
});
await check('the page of a comparison shows them as text and forbids the same', async () => {
  await page.goto(`file://${folder}/comparison.html`);
  const text = await page.locator('body').textContent();
  for (const name of names) assert.ok(text.includes(name), name);
  assert.equal(await page.title(), `${names[0]} and ${names[4]}`.replace(/\s+/g, ' '));
  assert.ok(await page.locator('i[title]').count() > 10);
  const { tags, handlers } = await page.evaluate(() => {
    const all = [...document.querySelectorAll('*')];
    return { tags: [...new Set(all.map((one) => one.tagName))], handlers: all.flatMap((one) => [...one.attributes].map(({ name }) => name)).filter((name) => !/^(class|lang|title|style|charset|http-equiv|content)$/.test(name)) };
  });
  assert.deepEqual(tags.filter((tag) => !'HTML HEAD META TITLE STYLE BODY H1 H2 H3 P TABLE TBODY TR TH TD SMALL DIV I'.split(' ').includes(tag)), []);
  assert.deepEqual(handlers, []);
  const { fetch, image, hacked } = await attempts();
  assert.deepEqual([fetch, image, hacked], [true, true, undefined]);
  assert.deepEqual(visits, []);
});
await browser.close();
server.close();
