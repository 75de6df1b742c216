// Bundles the page into one HTML file: scripts and styles inside, nothing to fetch; and the licences of the packages whose code
// is in it. Usage: node build.mjs OUT.html LICENCES.txt
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'report.html');
const licencesOut = process.argv[3] ?? join(here, 'report-page-licences.txt');
const bundle = await build({
  entryPoints: [join(here, 'src/main.ts')],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  write: false,
  outdir: here,
  loader: { '.css': 'css' },
  legalComments: 'inline',
});
const text = (end) => bundle.outputFiles.find((file) => file.path.endsWith(end)).text;
// Inside <script>, `</script` would end it early wherever it stands.
const script = text('.js').replaceAll('</script', '<\\/script');
const template = await readFile(join(here, 'src/page.html'), 'utf8');
const style = text('.css');
// The policy names what may run and style by its digest: nothing that finds its way into the page is among it. The empty style
// element is the map library's, which fills it rule by rule.
const digest = (code) => `sha256-${createHash('sha256').update(code).digest('base64')}`;
const parts = { '/*SCRIPT-HASH*/': digest(script), '/*STYLE-HASH*/': digest(style), '/*EMPTY-HASH*/': digest(''), '/*STYLE*/': style, '/*SCRIPT*/': script };
let page = template;
for (const [mark, part] of Object.entries(parts)) {
  if (page.split(mark).length !== 2) throw new Error(`page.html has to hold ${mark} once`);
  page = page.replace(mark, () => part);
}
await writeFile(out, page);

// All but the tools of development: what is bundled may itself hold bundled code of what it depends on.
const lock = JSON.parse(await readFile(join(here, 'package-lock.json'), 'utf8'));
const packages = Object.entries(lock.packages)
  .filter(([place, facts]) => place.startsWith('node_modules/') && !facts.dev)
  .map(([place]) => place.slice('node_modules/'.length));
let licences = 'The report page holds code of these packages, or of some of them.\n';
for (const name of packages.sort()) {
  const folder = join(here, 'node_modules', name);
  const facts = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? await readFile(join(folder, file), 'utf8') : `Licence: ${facts.license}\n`;
  licences += `\n${'='.repeat(80)}\n${name} ${facts.version} (${facts.license})\n\n${text}`;
}
await writeFile(licencesOut, licences);
