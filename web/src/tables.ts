import type { Corrections } from './corrections';
import type { Report } from './data';
import { count, h, pages, section } from './dom';
import type { Thumbnails } from './thumbnails';
import { imageButton } from './tiles';

/** Words of the program as a sentence of the page. */
function sentence(words: string): string {
  return words ? `${words[0]!.toUpperCase()}${words.slice(1)}.` : '';
}

export function outliers(report: Report, corrections: Corrections, thumbnails: Thumbnails, open: (image: number) => void): HTMLElement | null {
  const flagged = report.images.is_outlier.flatMap((is, i) => (is ? [i] : []));
  if (flagged.length === 0) return null;
  const score = report.images.outlier_score;
  flagged.sort((a, b) => score[b]! - score[a]!);
  const refreshes: (() => void)[] = [];
  corrections.onChange(() => refreshes.forEach((refresh) => refresh()));
  const button = (image: number) => {
    const { element, refresh } = imageButton(image, thumbnails, corrections, () => open(image));
    refreshes.push(refresh);
    return element;
  };
  return section(
    'outliers',
    'Images to look at',
    `${sentence(report.summary.outliers_in_words)} The farthest come first. Some are outliers, others are hard or hidden.`,
    pages(flagged, 60, button),
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

export function confusion(report: Report, corrections: Corrections): HTMLElement | null {
  const table = report.confusion;
  if (!table) return null;
  const heads = table.clusters.map(() => h('span', {}));
  const cells = table.counts.map((counts, i) => {
    const total = counts.reduce((a, b) => a + b, 0) || 1;
    return counts.map((value, j) => {
      const cell = h('td', { class: i === j ? 'right' : value > 0 ? 'wrong' : '' }, value || '');
      if (value > 0) cell.style.setProperty('--share', String(value / total));
      return cell;
    });
  });
  const refresh = () =>
    table.clusters.forEach((k, j) => {
      const name = corrections.nameOf(k);
      if (name === heads[j]!.textContent) return;
      heads[j]!.textContent = name;
      cells.forEach((row, i) => (row[j]!.title = `${table.classes[i]} taken for ${name}: ${table.counts[i]![j]}`));
    });
  corrections.onChange(refresh);
  refresh();
  const head = h('tr', {}, h('th', { scope: 'col' }, 'truth'), ...heads.map((one) => h('th', { scope: 'col' }, one)));
  const rows = table.classes.map((name, i) => h('tr', {}, h('th', { scope: 'row' }, name), ...cells[i]!));
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
