import type { Report } from './data';
import { count, h, pages, section } from './dom';
import type { Thumbnails } from './thumbnails';

export function outliers(report: Report, thumbnails: Thumbnails, open: (image: number) => void): HTMLElement | null {
  const flagged = report.images.is_outlier.flatMap((is, i) => (is ? [i] : []));
  if (flagged.length === 0) return null;
  const score = report.images.outlier_score;
  flagged.sort((a, b) => score[b]! - score[a]!);
  return section(
    'outliers',
    'Images to look at',
    `${count(flagged.length)} images fit no class well, the farthest first. Some are outliers, others are hard or hidden.`,
    pages(flagged, 60, (image) => h('button', { class: 'tile', type: 'button', role: 'listitem', click: () => open(image) }, thumbnails.tile(image))),
  );
}

export function skipped(report: Report): HTMLElement | null {
  if (report.skipped.length === 0) return null;
  const rows = report.skipped.slice(0, 500).map((one) => h('tr', {}, h('td', {}, one.path), h('td', {}, one.reason)));
  return section(
    'skipped',
    'Skipped files',
    `${count(report.skipped.length)} files could not be read and were left out.`,
    h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', {}, 'file'), h('th', {}, 'why'))), h('tbody', {}, ...rows))),
  );
}

export function confusion(report: Report): HTMLElement | null {
  const table = report.confusion;
  if (!table) return null;
  const head = h('tr', {}, h('th', { scope: 'col' }, 'truth'), ...table.clusters.map((c) => h('th', { scope: 'col' }, h('span', {}, report.classes[c]?.name ?? ''))));
  const rows = table.classes.map((name, i) => {
    const counts = table.counts[i]!;
    const total = counts.reduce((a, b) => a + b, 0) || 1;
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, name),
      ...counts.map((value, j) => {
        const cell = h('td', { title: `${name} taken for ${report.classes[table.clusters[j]!]?.name ?? ''}: ${value}` }, value || '');
        const share = value / total;
        if (value > 0) cell.style.setProperty('--share', String(share));
        cell.className = i === j ? 'right' : value > 0 ? 'wrong' : '';
        return cell;
      }),
    );
  });
  return section(
    'confusion',
    'Who is taken for whom',
    'A row for each true class, a column for the class that stands for it: what is right is on the diagonal.',
    h('div', { class: 'scroll' }, h('table', { class: 'confusion' }, h('thead', {}, head), h('tbody', {}, ...rows))),
  );
}

export function configuration(report: Report): HTMLElement {
  return section(
    'configuration',
    'Configuration',
    `Saved in the run's folder as config.toml. The same run again: protogcd discover --config config.toml --out NEW (${report.version}).`,
    h('details', {}, h('summary', {}, 'Show it'), h('pre', {}, report.config)),
  );
}
