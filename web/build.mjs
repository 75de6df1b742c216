// Bundles the page into one HTML file: scripts and styles inside, nothing to fetch. Usage: node build.mjs OUT.html
import { build } from 'esbuild';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'report.html');
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
const page = template.replace('/*STYLE*/', () => text('.css')).replace('/*SCRIPT*/', () => script);
await writeFile(out, page);
